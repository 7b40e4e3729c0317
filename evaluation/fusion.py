"""Fits what `engine/retrieval/fusion.py` weighs evidence with: `python -m evaluation.fusion --set KB=FILE ...`.

Every set is a knowledge base folder and a file of labelled questions (as `eval retrieval` reads them), or the word
`held`: then each fifth of the knowledge base's own questions is hidden in turn and searched with. Prints
cross-validated figures and the weights, to be copied by hand. Rows of two-part questions are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine import EVIDENCE_NAMES, KnowledgeBase, Search, Synonyms, load_vectors, scan_knowledge
from evaluation.retrieval import LabelledQuestion, read_questions

Floats = NDArray[np.float64]

GATE = tuple(name for name in EVIDENCE_NAMES if name != "bm25")
ORDER = tuple(name for name in EVIDENCE_NAMES if name not in {"stands_out", "like_elsewhere"})
FOLDS = 5
HELD_WEIGHT = 1.0
"""What a hidden question counts beside one of a file, to which the synonyms were fitted."""
RIDGE = 0.3
STEPS, RATE = 1500, 0.05


@dataclass(frozen=True, kw_only=True)
class SearchedQuestion:
    """One searched question: a row of evidence and whether it is right for each source that was weighed."""

    name: str
    rows: Floats
    right: NDArray[np.bool_]
    answerable: bool
    weight: float = 1.0


def cases(
    search: Search, questions: Iterable[LabelledQuestion], name: str, weight: float = 1.0
) -> Iterator[SearchedQuestion]:
    """What the search weighs for each question."""
    for one in questions:
        found = search.explain(one.question).parts[-1:] if one.kind != "two_part" else ()
        for part in found:
            if part.components:
                rows = np.array([[getattr(each.evidence, key) for key in EVIDENCE_NAMES] for each in part.components])
                right = np.array([each.source in one.relevant for each in part.components])
                yield SearchedQuestion(name=name, rows=rows, right=right, answerable=bool(one.relevant), weight=weight)


def hidden(base: KnowledgeBase, fold: int) -> tuple[KnowledgeBase, list[LabelledQuestion]]:
    """A knowledge base without a fifth of its questions, and those."""
    kept, asked = {}, []
    for name, source in base.sources.items():
        chosen = [text for place, text in enumerate(source.questions) if place % FOLDS == fold]
        asked += [LabelledQuestion(id=f"{name}-{text}", question=text, relevant=(name,)) for text in chosen]
        kept[name] = replace(source, questions=tuple(text for text in source.questions if text not in chosen))
    return replace(base, sources=kept), asked


def read_set(given: str, build: Callable[[KnowledgeBase], Search]) -> list[SearchedQuestion]:
    """The cases of one `KB=FILE` or `KB=held`."""
    folder, _, what = given.partition("=")
    base, _ = scan_knowledge(Path(folder))
    if base is None:
        raise SystemExit(f"No knowledge base in {folder}.")
    if what != "held":
        name = f"{base.folder.name}/{Path(what).stem}"
        return list(cases(build(base), read_questions(Path(what)), name))
    found: list[SearchedQuestion] = []
    for fold in range(FOLDS):
        rest, asked = hidden(base, fold)
        name = f"{base.folder.name}/held"
        found += cases(build(rest), asked, name, HELD_WEIGHT)
    return found


def columns(rows: Floats, names: Sequence[str]) -> Floats:
    """The columns of some kinds of evidence."""
    return rows[:, [EVIDENCE_NAMES.index(name) for name in names]]


def fit_gate(train: Sequence[SearchedQuestion]) -> tuple[float, Floats]:
    """Logistic regression of "something fits" on the best evidence of each kind, both outcomes weighing the same."""
    rows = np.array([[1.0, *columns(one.rows, GATE).max(axis=0)] for one in train])
    outcome = np.array([float(one.answerable) for one in train])
    weight = np.array([one.weight for one in train])
    weight = (
        np.where(outcome > 0, weight / weight[outcome > 0].sum(), weight / weight[outcome == 0].sum()) * len(train) / 2
    )
    found = np.zeros(rows.shape[1])
    ridge = RIDGE * np.diag([0.0, *np.ones(len(GATE))])
    for _ in range(30):
        likely = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (weight * (outcome - likely)) - ridge @ found
        found = found + np.linalg.solve((rows.T * (weight * likely * (1 - likely))) @ rows + ridge, slope)
    return float(found[0]), found[1:]


def fit_order(train: Sequence[SearchedQuestion]) -> Floats:
    """Weights under which the right sources of a question get most of a softmax over all that were weighed."""
    used = [one for one in train if one.right.any()]
    widest = max(len(one.rows) for one in used)
    rows, out = np.zeros((len(used), widest, len(ORDER))), np.full((len(used), widest), -1e9)
    right = np.zeros((len(used), widest), dtype=bool)
    for place, one in enumerate(used):
        rows[place, : len(one.rows)], out[place, : len(one.rows)] = columns(one.rows, ORDER), 0.0
        right[place, : len(one.rows)] = one.right
    weight = np.array([one.weight for one in used])[:, None]
    found, moved, squared = np.zeros(len(ORDER)), np.zeros(len(ORDER)), np.zeros(len(ORDER))
    for step in range(1, STEPS + 1):
        share = _softmax(rows @ found + out)
        wanted = _softmax(np.where(right, rows @ found, -1e9))
        slope = np.einsum("qs,qsn->n", weight * (share - wanted), rows) / weight.sum() + 0.002 * found
        moved, squared = 0.9 * moved + 0.1 * slope, 0.999 * squared + 0.001 * slope**2
        found = found - RATE * (moved / (1 - 0.9**step)) / (np.sqrt(squared / (1 - 0.999**step)) + 1e-8)
    return found


def _softmax(values: Floats) -> Floats:
    raised = np.exp(values - values.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def judged(
    test: Sequence[SearchedQuestion], base: float, gate: Floats, order: Floats
) -> list[tuple[str, bool, float, int]]:
    """Of each case its set, whether it is answerable, how likely something fits, and the place of the right source."""
    found = []
    for one in test:
        likely = 1 / (1 + np.exp(-base - columns(one.rows, GATE).max(axis=0) @ gate))
        ranked = np.argsort(-(columns(one.rows, ORDER) @ order), kind="stable")
        places = np.flatnonzero(one.right[ranked])
        found.append((one.name, one.answerable, float(likely), int(places[0]) if len(places) else 99))
    return found


def report(found: Sequence[tuple[str, bool, float, int]]) -> None:
    """Print, a set and a threshold, how many questions are answered rightly or declined."""
    for name in dict.fromkeys(one[0] for one in found):
        asked = [one for one in found if one[0] == name and one[1]]
        other = [one for one in found if one[0] == name and not one[1]]
        if asked:
            ranks = [f"top {top}: {np.mean([one[3] < top for one in asked]):.3f}" for top in (1, 3, 5)]
            print(f"{name}: {len(asked)} answerable, order alone {', '.join(ranks)}")
        for threshold in (0.25, 0.3, 0.35, 0.4, 0.5):
            kept = np.mean([one[3] < 3 and one[2] >= threshold for one in asked]) if asked else 0.0
            let_in = np.mean([one[2] >= threshold for one in asked]) if asked else 0.0
            declined = np.mean([one[2] < threshold for one in other]) if other else 0.0
            print(f"  {threshold}: let in {let_in:.3f}, right in 3 {kept:.3f}; declined {declined:.3f} of {len(other)}")


def main() -> None:
    """Fit, cross-validate and print."""
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("--set", dest="sets", action="append", required=True, metavar="KB=FILE")
    read.add_argument("--vectors", type=Path)
    given = read.parse_args()
    config = Path(__file__).parents[1] / "config"
    vectors = load_vectors(given.vectors or config / "vectors" / "en.npz", config / "vectors" / "en_elsewhere.txt")
    synonyms = Synonyms.load(config / "synonyms" / "en.yaml")
    everything = [
        one for text in given.sets for one in read_set(text, partial(Search.build, synonyms=synonyms, vectors=vectors))
    ]
    drawn = np.random.default_rng(1).permutation(len(everything)) % FOLDS
    found = []
    for fold in range(FOLDS):
        train = [one for one, of in zip(everything, drawn, strict=True) if of != fold]
        test = [one for one, of in zip(everything, drawn, strict=True) if of == fold]
        found += judged(test, *fit_gate(train), fit_order(train))
    report(found)
    base, gate = fit_gate(everything)
    print(f"FITS_BASE = {base:.2f}")
    print("FITS =", {name: round(float(value), 2) for name, value in zip(GATE, gate, strict=True)})
    print("BETTER =", {name: round(float(v), 2) for name, v in zip(ORDER, fit_order(everything), strict=True)})


if __name__ == "__main__":
    main()
