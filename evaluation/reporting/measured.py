"""What other commands printed as JSON, as far as a report needs it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class _Form(BaseModel):
    """The part of a document that a report needs."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class MeasuredShare(_Form):
    """A share of cases with its 95 % interval."""

    cases: int
    share: float | None
    low: float | None
    high: float | None


class MeasuredJudge(_Form):
    """How often a judge or team was right; teams have no times of their own."""

    cases: int
    sensitivity: MeasuredShare
    specificity: MeasuredShare
    verdicts: int = 0
    tokens: dict[str, float] = Field(default_factory=dict)
    seconds: dict[str, float | None] = Field(default_factory=dict)


class MeasuredSubject(_Form):
    """The judges of one configuration or recording."""

    cases: int
    to_flag: int
    to_accept: int
    repeat: int
    judges: dict[str, MeasuredJudge]
    teams: dict[str, MeasuredJudge]
    unanswered: int = 0


class Calibration(_Form):
    """What `eval calibrate --json` printed."""

    subjects: dict[str, MeasuredSubject] = Field(min_length=1)


class SharedCriticism(_Form):
    """How far raters share the filter's criticism."""

    rated: int
    majority_agreed: int
    all_agreed: int
    disputed: list[str]
