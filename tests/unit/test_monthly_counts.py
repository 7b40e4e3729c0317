"""What is counted by month: saved, held back, told in blocks that give nothing away."""

from __future__ import annotations

from collections import Counter
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.storage.counts import MonthlyCounts, UrgentCounts
from adapters.storage.database import Database
from adapters.storage.saved_counts import ReferralCounts, read_months
from adapters.storage.schema_version import migrate
from bots.monthly_report import MonthlyReport
from engine.exceptions import StorageError
from engine.types import Kind


async def test_referrals_are_kept_by_month_and_kind_and_told_when_the_month_has_ended(tmp_path: Path) -> None:
    """Two processes' counts add up; a database that takes nothing loses nothing; the running month and the day after its end
    are told nobody, and no row holds more than month, subject, kind and number."""
    url = f"sqlite:///{tmp_path}/cafi.db"
    database = Database(url)
    one = UrgentCounts(today=lambda: date(2026, 11, 30), monthly=MonthlyCounts(today=lambda: date(2026, 11, 30)))
    for _ in range(5):
        one.add("web", Kind.DYING)
    with pytest.raises(StorageError):
        await ReferralCounts(database=database).save(one)
    migrate(database)
    two = UrgentCounts(monthly=MonthlyCounts(today=lambda: date(2026, 11, 1)))
    two.add("telegram", Kind.MEDICAL)
    for counts in (one, two, two):
        await ReferralCounts(database=database).save(counts)
    await database.aclose()
    told = read_months(url, "referral", 2026, date(2026, 12, 2))
    assert told["2026-11"] == {"dying": 5, "medical": 1} and len(told) == 11 and not told["2026-10"]
    assert "2026-11" not in read_months(url, "referral", 2026, date(2026, 12, 1))
    assert not any(read_months(url, "notice", 2026, date(2026, 12, 2)).values())


YEARS = st.lists(st.dictionaries(st.sampled_from(list(Kind)), st.integers(0, 12), max_size=6), min_size=1, max_size=12)


@settings(deadline=None, max_examples=150)
@given(YEARS)
def test_no_report_and_no_difference_of_two_tells_a_small_count(year: list[dict[Kind, int]]) -> None:
    """Of any year: no number from one to four is told, blocks of a later report begin with those of an earlier one, and what
    is told and held back is all there is."""
    months = {f"2026-{at:02}": Counter({str(kind): n for kind, n in one.items()}) for at, one in enumerate(year, 1)}
    reports = [
        MonthlyReport.of("referral", 2026, dict(list(months.items())[:so_far])) for so_far in range(len(months) + 1)
    ]
    for earlier, later in pairwise(reports):
        assert later.blocks[: len(earlier.blocks)] == earlier.blocks
    for report in reports:
        assert all(one["count"] == 0 or one["count"] >= 5 for one in report.records())
        assert sum(one["count"] for one in report.records()) == report.total
    last = reports[-1]
    left = sum(sum(months[month].values()) for month in last.held_back)
    assert last.total + left == sum(sum(one.values()) for one in months.values()) and (left < 5)


def test_the_report_is_lines_csv_json_and_a_page(tmp_path: Path) -> None:
    """Three in January and four in February are told together; two in March wait and are named as fewer than five; a page
    fetches nothing and holds the same rows."""
    months = {"2026-01": Counter(dying=3), "2026-02": Counter(medical=4), "2026-03": Counter(fear=2)}
    report = MonthlyReport.of("referral", 2026, months)
    assert report.as_csv().splitlines() == [
        "year,first_month,last_month,about,count",
        "2026,2026-01,2026-02,dying + others + voices + fear + medical,7",
    ]
    assert any("2026-03" in line and "fewer than 5" in line for line in report.lines())
    page = report.as_html()
    assert "<td>7</td>" in page and "http" not in page and "src=" not in page
    assert report.as_document()["total"] == 7
