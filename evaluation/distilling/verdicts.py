"""What one judge of a team says of many replies: a teacher's word, live or from a recording, or a student's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from engine.judges.protocol import Judge
from engine.models.ledger import Ledger
from engine.models.protocol import ChatModel, Completion, Prompt
from engine.types import Decision, Verdict
from engine.types import Tier as ModelTier
from evaluation.calibration.scenarios import LabelledReply
from evaluation.calibration.trials import Subject, Tier, Trial, ask_all
from evaluation.judges import Judging


async def said_by(
    judge: str,
    tier: Tier,
    rows: Sequence[LabelledReply],
    judging: Judging,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Trial]:
    """The verdicts of one judge by scenario; scenarios on which it gave no readable verdict are left out."""
    alone = {judge: (judging.team.preliminary if tier == "preliminary" else judging.team.chief)[judge]}
    silent = _Only(alone)
    team = replace(judging.team, preliminary=silent, chief=silent)
    subject = Subject(name=judge, judging=replace(judging, team=team), tiers=tier)
    trials = await ask_all(rows, subject, progress=progress)
    return {one.scenario: one for one in trials if one.judge == judge and not one.failed and one.stage == tier}


def with_judge(judging: Judging, judge: Judge) -> Judging:
    """The same with another preliminary judge of its question."""
    team = judging.team
    return replace(judging, team=replace(team, preliminary={**team.preliminary, judge.name: judge}))


class _Only(dict[str, Judge]):
    """The judges that are asked; every other question is accepted unread, so that nothing is spent on it."""

    def __missing__(self, name: str) -> Judge:
        return _Unread(name)


@dataclass(frozen=True)
class _Unread:
    name: str

    async def judge(self, case: object, ledger: Ledger) -> Verdict:
        return Verdict(decision=Decision.ACCEPT, judge=self.name, tier=ModelTier.SMALL)


@dataclass(kw_only=True)
class NotingModel:
    """A model that notes what was asked and answered, for a fine-tuning file."""

    model: ChatModel
    noted: list[tuple[Prompt, Completion]] = field(default_factory=list)

    async def complete(self, prompt: Prompt, ledger: Ledger) -> Completion:
        """Ask, and note the answer."""
        completion = await self.model.complete(prompt, ledger)
        self.noted.append((prompt, completion))
        return completion


def flags_of(trials: Iterable[Trial]) -> dict[str, bool]:
    """Whether each scenario was flagged."""
    return {one.scenario: one.flags for one in trials}
