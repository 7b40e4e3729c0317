"""Somebody who looks at the counts again and again while people get the crisis referral."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

from adapters.storage.counts import UrgentCounts
from adapters.storage.saved_counts import ReferralCounts
from adapters.weeks import today, week_of
from bots.web import web
from tests.web import TOKEN, Browser, chats_in, read, serving

DANGER = "I want to kill myself tonight"
ANY_REQUEST = ("cafi_web_requests_total", "cafi_web_requests_created", "cafi_web_request_seconds")
"""What steps with every request, whatever is asked for."""
ANY_VISIT = ("Running for", "Pages, median · 95 %", "Chats in memory", "answered")


class Watcher:
    """Reads /metrics and the operator's page."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser

    async def sees(self) -> dict[str, str]:
        """Every figure that is there, by its name."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        lines = (await self.browser.client.get("/metrics", headers=headers)).text.splitlines()
        found = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        page = (await self.browser.client.get("/operator", headers=headers)).text
        rows = re.findall(r"<tr>(.*?)</tr>", page, re.S)
        return found | {
            read(row.partition("</th>")[0]).strip(): read(row.partition("</th>")[2]).strip() for row in rows
        }

    @staticmethod
    def requests(seen: dict[str, str]) -> float:
        """How many requests were counted."""
        return sum(float(seen[one]) for one in seen if one.startswith("cafi_web_requests_total"))


def steps(before: dict[str, str], after: dict[str, str]) -> set[str]:
    """The figures that have changed, but for those of which every request or visit is one."""
    names = {one for one in before | after if before.get(one) != after.get(one)}
    return {one for one in names if not one.startswith(ANY_REQUEST) and one not in ANY_VISIT}


async def test_nobody_sees_a_referral_by_watching_the_counts(tmp_path: Path) -> None:
    """Six people get the referral: nothing steps but requests, by as many as for somebody who chooses a language."""
    chats = chats_in(tmp_path, page={"operator_token": TOKEN}, sessions={"messages_a_minute": 1000})
    async with chats.application.closing:
        await chats.begin()
        async with serving(web(chats)) as bot, Browser(bot.address) as operator, Browser(bot.address) as reader:
            watcher = Watcher(operator)
            await reader.begin()
            await reader.ask("what are the voices?")
            first = await watcher.sees()
            await reader.post("/look", language="en", country="", back="/chat")
            seen = await watcher.sees()
            harmless = watcher.requests(seen) - watcher.requests(first)
            for _ in range(6):
                async with Browser(bot.address) as somebody:
                    await somebody.begin()
                    before = await watcher.sees()
                    await somebody.ask(DANGER)
                    assert "entry referral" in somebody.main
                    await chats.count()
                    after = await watcher.sees()
                    assert steps(before, after) == set()
                    assert watcher.requests(after) - watcher.requests(before) == harmless
                    seen = after
            assert "cafi_answers_total" in " ".join(seen) and not any("cafi_referrals{" in one for one in seen)


async def test_referrals_of_weeks_that_have_ended_are_those_on_disk(tmp_path: Path) -> None:
    """What earlier processes have counted in an earlier week is told, rounded down to fives; the running week is not."""
    chats = chats_in(tmp_path, page={"operator_token": TOKEN})
    earlier = today() - timedelta(days=14)
    async with chats.application.closing:
        await chats.begin()
        for day, count in ((earlier, 3), (earlier, 4), (today(), 9)):
            counts = UrgentCounts(today=lambda day=day: day)  # type: ignore[misc]
            for _ in range(count):
                counts.add("web")
            await ReferralCounts(database=chats.database).save(counts)
        async with serving(web(chats)) as bot, Browser(bot.address) as operator:
            seen = await Watcher(operator).sees()
            told = {name: value for name, value in seen.items() if "cafi_referrals{" in name}
            assert told == {f'cafi_referrals{{platform="web",week="{week_of(earlier)}"}}': "5.0"}
            assert seen[f"{week_of(earlier)}, web"] == "at least 5"
