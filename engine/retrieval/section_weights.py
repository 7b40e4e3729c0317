"""How the search over sections weighs its evidence; written by `python -m evaluation.section_fusion`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SectionWeights:
    """`better` orders sections; `right`, `near` and `scope` say how likely the first one answers, one of the first four does,
    and a message is about anything here, by lines and (`scope_learnt`) by what was learnt of a base, too. Weights of logistic
    models by the name of what is weighed; `base` is the constant."""

    better: Mapping[str, float]
    right: Mapping[str, float]
    near: Mapping[str, float]
    scope: Mapping[str, float]
    scope_learnt: Mapping[str, float]


WEIGHTS = SectionWeights(
    better={
        "words": 3.29,
        "pieces": 4.54,
        "nearest": 6.87,
        "covered": 2.06,
        "kin": 3.89,
        "meant": 3.31,
        "words_before": 0.77,
        "pieces_before": 5.12,
        "nearest_before": 4.27,
        "covered_before": 3.05,
        "kin_before": 2.12,
        "meant_before": 3.53,
        "fits": 0.89,
        "not_theirs": 0.91,
        "thread_source": 2.69,
        "thread": 0.27,
    },
    right={
        "base": -3.34,
        "share": 3.17,
        "words": 2.27,
        "pieces": 0.55,
        "nearest": 0.86,
        "covered": -0.09,
        "kin": 1.76,
        "meant": 0.63,
    },
    near={
        "base": -2.94,
        "share": 1.77,
        "words": 1.09,
        "pieces": 1.52,
        "nearest": 4.04,
        "covered": 0.78,
        "kin": 2.83,
        "meant": 0.36,
    },
    scope={
        "base": 1.4,
        "away_nearest": -13.44,
        "away_kin": -5.7,
        "away_pieces": 0.56,
        "away_meant": -11.9,
        "here": -0.36,
    },
    scope_learnt={
        "base": 1.37,
        "away_nearest": -10.73,
        "away_kin": 3.93,
        "away_pieces": -2.73,
        "away_meant": -11.91,
        "here": -0.03,
        "learnt": 0.74,
    },
)
