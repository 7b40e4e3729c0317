"""When somebody is asked, and what: rarely, never near a crisis, with no memory of the person but the day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from sqlalchemy import Connection, delete, func, select

from adapters.feedback.questions import Policy, Question
from adapters.storage.database import Database
from adapters.storage.identity import ChatIdentity
from adapters.storage.pseudonyms import Naming
from adapters.storage.tables import asked, events
from adapters.storage.upsert import upsert
from engine import UrgencyLevel


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """The end of one turn, as far as asking is concerned.

    `answers`: answers shown since the person was last asked, or at all; `since_referral`: turns since a crisis
    referral, None without one; `asked_day` and `today`: days since 1970; `open_question`: one stands unanswered.
    """

    answers: int
    since_referral: int | None
    urgency: UrgencyLevel
    asked_day: int | None
    today: int
    open_question: bool = False


def may_ask(policy: Policy, moment: Moment) -> bool:
    """Whether a question may follow this turn. A day in the future (a clock set back) counts as today."""
    return (
        moment.urgency is UrgencyLevel.NONE
        and moment.answers >= policy.after_answers
        and (moment.since_referral is None or moment.since_referral > policy.not_after_referral_turns)
        and (moment.asked_day is None or moment.today - moment.asked_day >= policy.every_days)
        and not (moment.open_question and policy.one_question_at_a_time)
    )


def next_question(questions: Sequence[Question], answered: Mapping[str, int], random: Random) -> Question:
    """The question with the fewest answers so far, by chance among equals: whom it is asked plays no part."""
    fewest = min(answered.get(one.id, 0) for one in questions)
    return random.choice([one for one in questions if answered.get(one.id, 0) == fewest])


@dataclass(frozen=True, kw_only=True)
class AskedDays:
    """The table `asked`: on which day a pseudonym was last asked, and nothing else."""

    database: Database
    naming: Naming

    async def day(self, identity: ChatIdentity) -> int | None:
        """When somebody was last asked, in days since 1970; None where that is not known; raises StorageError."""
        names = (await self.naming.of(identity)).names("asked")
        latest = select(func.max(asked.c.day)).where(asked.c.person.in_(names))
        found: int | None = await self.database.run(lambda connection: connection.execute(latest).scalar())
        return found

    async def mark(self, identity: ChatIdentity, day: int) -> None:
        """Note that somebody is asked on this day; raises StorageError."""
        names = (await self.naming.of(identity)).names("asked")
        await self.database.run(lambda connection: _mark(connection, names, day))

    async def sweep(self, day: int, every_days: int) -> int:
        """Erase marks that no longer keep anybody from being asked; how many; raises StorageError."""
        old = delete(asked).where(asked.c.day <= day - every_days)
        return await self.database.run(lambda connection: connection.execute(old).rowcount)


async def answered_in(database: Database, week: str) -> dict[str, int]:
    """How many answers each question has in one ISO 8601 week; raises StorageError."""
    query = select(events.c.question, func.sum(events.c["count"])).where(events.c.week == week)

    def work(connection: Connection) -> dict[str, int]:
        return {question: int(count) for question, count in connection.execute(query.group_by(events.c.question))}

    return await database.run(work)


def _mark(connection: Connection, names: Sequence[bytes], day: int) -> None:
    present, *former = names
    connection.execute(delete(asked).where(asked.c.person.in_(former)))
    connection.execute(upsert(connection.dialect.name, asked, {"person": present, "day": day}))
