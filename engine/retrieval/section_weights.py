"""How the search over sections weighs its evidence; written by `python -m evaluation.section_fusion`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SectionWeights:
    """`better` orders sections; `right`, `near` and `scope` say how likely the first one answers, one of the first four does,
    and a message is about anything here. Weights of logistic models by the name of what is weighed; `base` is the constant."""

    better: Mapping[str, float]
    right: Mapping[str, float]
    near: Mapping[str, float]
    scope: Mapping[str, float]


WEIGHTS = SectionWeights(
    better={
        "words": 4.62,
        "pieces": 4.98,
        "nearest": 7.37,
        "covered": 1.9,
        "kin": 4.0,
        "meant": 0.98,
        "words_before": 1.82,
        "pieces_before": 6.12,
        "nearest_before": 4.2,
        "covered_before": 3.18,
        "kin_before": 1.08,
        "meant_before": 3.97,
        "fits": 0.86,
        "not_theirs": 0.98,
        "thread_source": 2.43,
        "thread": 0.23,
    },
    right={
        "base": -3.35,
        "share": 2.89,
        "words": 0.76,
        "pieces": 1.23,
        "nearest": 2.56,
        "covered": -0.34,
        "kin": 1.1,
        "meant": 1.38,
    },
    near={
        "base": -3.1,
        "share": 1.92,
        "words": 0.65,
        "pieces": 2.14,
        "nearest": 4.31,
        "covered": 0.16,
        "kin": 1.31,
        "meant": 1.95,
    },
    scope={
        "base": -2.28,
        "away_nearest": -16.34,
        "away_kin": -7.18,
        "away_pieces": 2.43,
        "away_meant": -10.89,
        "here": 0.58,
    },
)
