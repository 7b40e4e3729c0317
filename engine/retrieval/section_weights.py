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
        "words": 3.46,
        "pieces": 5.33,
        "nearest": 7.55,
        "covered": 2.31,
        "kin": 4.27,
        "meant": 2.68,
        "words_before": 0.41,
        "pieces_before": 4.78,
        "nearest_before": 4.43,
        "covered_before": 2.97,
        "kin_before": 2.48,
        "meant_before": 3.29,
        "fits": 0.88,
        "not_theirs": 0.78,
        "thread_source": 3.04,
        "thread": 0.29,
    },
    right={
        "base": -3.29,
        "share": 3.18,
        "words": 0.42,
        "pieces": 0.72,
        "nearest": 1.33,
        "covered": -0.28,
        "kin": 1.97,
        "meant": 0.81,
    },
    near={
        "base": -3.1,
        "share": 2.02,
        "words": 0.01,
        "pieces": 0.99,
        "nearest": 4.54,
        "covered": 0.55,
        "kin": 3.36,
        "meant": 0.29,
    },
    scope={
        "base": -1.63,
        "away_nearest": -15.48,
        "away_kin": -10.34,
        "away_pieces": 1.86,
        "away_meant": -9.9,
        "here": 0.41,
    },
)
