"""One fault, so many rounds: a burst of messages, the fault in its midst, and what came of it."""

from __future__ import annotations

import asyncio
import random
import re
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from chaos.cluster import cluster
from chaos.crowd import FIRST, Crowd
from chaos.deployment import Deployment, deployed
from chaos.fault import Fault
from chaos.tally import Tally, tally

CALL_MS = 150.0
PATIENCE_SECONDS = 90.0
"""After which a message that was not answered counts as lost."""
LATE_SECONDS = 1.5
"""After the last answer: who would show something twice does it by then."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Burst:
    """What is written in a round: so many people, messages of each, messages a second altogether."""

    people: int = 24
    each: int = 3
    rate: float = 15.0

    @property
    def seconds(self) -> float:
        """How long they write."""
        return self.people * self.each / self.rate


@dataclass(frozen=True, kw_only=True, slots=True)
class Recovery:
    """Seconds from the blow, or the trouble's end: to the first answer, and to the last one that was due by then."""

    first: float
    last: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What came of one fault. `skipped`: why it was not tried. `restarts`: of processes, by the supervisor."""

    fault: Fault
    rounds: int = 0
    tally: Tally | None = None
    recoveries: Sequence[Recovery] = ()
    restarts: int = 0
    skipped: str = ""
    folder: str = ""

    @property
    def doubled_at_most(self) -> int:
        """One a kill."""
        return self.rounds * self.fault.kills

    @property
    def lawful(self) -> bool:
        """Nothing lost, unjudged or out of order; doubled at most one a kill."""
        found = self.tally
        if found is None:
            return True
        return not (found.lost or found.unjudged or found.out_of_order) and found.doubled <= self.doubled_at_most

    @property
    def slowest(self) -> float:
        """Of all rounds: of what the fault is held to."""
        return max(((one.first if self.fault.back else one.last) for one in self.recoveries), default=0.0)

    @property
    def middle(self) -> float:
        """The same at the median."""
        return median([(one.first if self.fault.back else one.last) for one in self.recoveries] or [0.0])


async def tried(fault: Fault, rounds: int, seed: int, say: Callable[[str], None] = lambda words: None) -> Outcome:
    """Try a fault. Logs of a broken law stay in a folder that the outcome names."""
    if reason := fault.missing():
        return Outcome(fault=fault, skipped=reason)
    folder = Path(tempfile.mkdtemp(prefix=f"cafi-{fault.name}-"))
    with cluster(own_disk=fault.own_disk) as servers:
        async with deployed(
            folder,
            servers,
            webhook=fault.webhook,
            environment=fault.environment,
            preload=fault.preload(folder),
        ) as deployment:
            crowd = await gathered(deployment, Burst())
            outcome = await outlived(deployment, crowd, fault, rounds, random.Random(seed), say=say)
    if outcome.lawful:
        shutil.rmtree(folder, ignore_errors=True)
        return outcome
    return replace(outcome, folder=str(folder))


async def gathered(deployment: Deployment, burst: Burst) -> Crowd:
    """People who have agreed."""
    deployment.model.reset(base_ms=CALL_MS, per_token_ms=0.0)
    crowd = Crowd(telegram=deployment.telegram)
    await crowd.agree(burst.people)
    return crowd


async def outlived(
    deployment: Deployment,
    crowd: Crowd,
    fault: Fault,
    rounds: int,
    dice: random.Random,
    *,
    burst: Burst = Burst(),
    say: Callable[[str], None] = lambda words: None,
) -> Outcome:
    """The rounds of a fault on a deployment that runs; what this crowd has written before counts along."""
    await deployment.balance(**fault.balance)
    recoveries = []
    for at in range(rounds):
        recoveries.append(await _round(deployment, crowd, fault, dice, burst))
        say(
            f"{fault.name} {at + 1}/{rounds}: first answer {recoveries[-1].first:.1f} s, last due {recoveries[-1].last:.1f} s"
        )
        await deployment.ready()
    await asyncio.sleep(LATE_SECONDS)
    accepted = {int(number): count for number, count in deployment.model.ask("GET", "/accepted").items()}
    order = _order(await deployment.telegram.taken()) if fault.balance.get("shuffled") else None
    counts = tally(crowd.said, crowd.shown(), accepted, order)
    return Outcome(fault=fault, rounds=rounds, tally=counts, recoveries=recoveries, restarts=deployment.restarts)


async def _round(deployment: Deployment, crowd: Crowd, fault: Fault, dice: random.Random, burst: Burst) -> Recovery:
    """A burst with the fault in its midst, until everything is answered, or never."""
    earlier = len(crowd.said)
    async with asyncio.TaskGroup() as beside:
        beside.create_task(crowd.write(burst.each, burst.rate, dice))
        await asyncio.sleep(dice.uniform(0.2, 0.6) * burst.seconds)
        over = await fault.strike(deployment, dice)
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end and not (_answered(crowd) and deployment.waiting() == 0):
        await asyncio.sleep(0.1)
    return _recovery(crowd, earlier, over)


def _answered(crowd: Crowd) -> bool:
    return tally(crowd.said, crowd.shown(), {}).lost == 0


def _recovery(crowd: Crowd, earlier: int, over: float) -> Recovery:
    """`earlier`: how many questions belong to rounds before; `over`: when the trouble was over, or the blow fell."""
    answers = [one for one in crowd.shown() if one.answers and one.at > over]
    numbered = {one.number: one.at for one in reversed(answers) if one.number is not None}
    due = [number for number, one in crowd.said.items() if number >= FIRST + earlier and one.at <= over]
    first = min((one.at for one in answers), default=over)
    last = max((numbered[number] for number in due if number in numbered), default=over)
    return Recovery(first=first - over, last=last - over)


def _order(taken: Sequence[tuple[int, str]]) -> Mapping[int, Sequence[int]]:
    """The questions of each chat in the order in which they were taken."""
    found: dict[int, list[int]] = defaultdict(list)
    for chat, text in taken:
        if number := re.search(r"\((\d+)\)$", text):
            found[chat].append(int(number[1]))
    return found
