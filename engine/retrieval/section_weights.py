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


WITH_VECTORS = SectionWeights(
    better={
        "words": 3.48,
        "kin": 5.79,
        "pieces": 3.44,
        "nearest": 7.85,
        "covered": 2.04,
        "words_before": 2.7,
        "kin_before": 1.93,
        "pieces_before": 2.53,
        "nearest_before": 7.63,
        "covered_before": 4.3,
        "fits": 1.1,
        "not_theirs": 0.85,
        "thread_source": 1.72,
        "thread": 0.39,
    },
    right={
        "base": -3.18,
        "share": 3.17,
        "words": 8.78,
        "kin": 2.5,
        "pieces": -0.37,
        "nearest": -4.78,
        "covered": -0.11,
    },
    near={
        "base": -2.11,
        "share": 2.53,
        "words": 7.92,
        "kin": 1.83,
        "pieces": 0.75,
        "nearest": -2.75,
        "covered": -0.04,
    },
    scope={
        "base": -3.08,
        "away": -16.46,
        "away_kin": -5.12,
        "away_pieces": -1.21,
        "here": 2.38,
    },
)

BY_WORDS = SectionWeights(
    better={
        "words": 8.03,
        "kin": 0.0,
        "pieces": 9.77,
        "nearest": 5.94,
        "covered": 2.79,
        "words_before": 4.38,
        "kin_before": 0.0,
        "pieces_before": 7.2,
        "nearest_before": 3.7,
        "covered_before": 4.94,
        "fits": 1.09,
        "not_theirs": 1.08,
        "thread_source": 1.67,
        "thread": 0.35,
    },
    right={
        "base": -2.52,
        "share": 3.19,
        "words": 6.45,
        "kin": 0.0,
        "pieces": 0.45,
        "nearest": -2.23,
        "covered": 0.17,
    },
    near={
        "base": -1.94,
        "share": 2.63,
        "words": 6.89,
        "kin": 0.0,
        "pieces": 2.3,
        "nearest": -2.33,
        "covered": 0.32,
    },
    scope={
        "base": -2.66,
        "away": -14.58,
        "away_kin": 0.0,
        "away_pieces": -7.77,
        "here": 3.02,
    },
)
