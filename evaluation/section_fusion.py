"""Fits how the search of sections weighs its evidence: `python -m evaluation.section_fusion`.

Learnt from natural messages that readers gave sections to, of authors whom the encoder has not seen: a state of it that was
taught `--without` them (`evaluation.encoder_lessons`) reads them here, or the weights would trust it too much. It writes
`engine/retrieval/section_weights.py` and prints what the weights reach on messages they were not fitted to, and how far the
stated chances can be believed (a reliability table).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from engine import SECTION_EVIDENCE as EVIDENCE
from engine import SECTION_READINGS as READ
from engine import (
    SECTION_WEIGHTS,
    KnowledgeBase,
    ScopeReading,
    SectionSearch,
    TextEncoder,
    about_another,
    load_elsewhere,
)
from engine import section_confidence as confidence_of
from evaluation.natural_messages import DATA, ON_SECTIONS, conversations, read_messages
from evaluation.section_figures import reliability

ROOT = Path(__file__).parents[1]
WEIGHTS = ROOT / "engine" / "retrieval" / "section_weights.py"
FOLDS = 5
CONFIDENCE = ("share", *READ)
SCALE = 10.0
"""Likenesses are small numbers; the penalty on weights must not see that."""
Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class AskedMessage:
    """A message, those before it, and the places of the sections that answer it, well and in part."""

    text: str
    earlier: tuple[str, ...]
    right: frozenset[int]
    near: frozenset[int]
    author: str
    asks: bool = True
    lang: str = "en"


def base(encoder: TextEncoder | None = None) -> SectionSearch:
    """The search over the sections of the first knowledge base."""
    knowledge = KnowledgeBase.load(ROOT / "knowledge_base" / "schizophrenia")
    return SectionSearch(
        knowledge=knowledge,
        questions=knowledge.lay_questions,
        encoder=encoder,
        elsewhere=other_subjects("en"),
        learnt=None if encoder is None else ScopeReading.of_base(knowledge.folder, encoder),
    )


def other_subjects(language: str) -> Sequence[str]:
    """The lines about other subjects in a language."""
    return load_elsewhere(ROOT / "config" / "elsewhere").get(language, ())


def places_in(search: SectionSearch) -> dict[str, int]:
    """The place of each section, by the name that files of readings give it."""
    return {f"{source.id}#{section.id}": at for at, (source, section) in enumerate(search.sections)}


def natural(search: SectionSearch) -> Iterator[AskedMessage]:
    """The labelled natural messages; the texts are those of the authors of the urgency data."""
    places = places_in(search)
    for one in read_messages(*ON_SECTIONS):
        if not one.urgent:
            right = frozenset(places[name] for name in one.said["right"] if name in places)
            yield AskedMessage(
                one.text,
                one.earlier,
                right,
                right | {places[name] for name in one.said["near"] if name in places},
                one.conversation.author,
                one.said["kind"] == "ask",
                one.conversation.lang,
            )


def kept_out(search: SectionSearch) -> Iterator[AskedMessage]:
    """The lay questions of the author who is not in the base."""
    places = places_in(search)
    for line in (DATA / "lay_questions" / "schizophrenia_c.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["section"] in places:
            right = frozenset({places[row["section"]]})
            yield AskedMessage(row["question"], (), right, right, row["id"])


def rows_of(search: SectionSearch, messages: Iterable[AskedMessage]) -> Floats:
    """The evidence of each message: messages, sections, kinds of evidence."""
    return np.stack(
        [
            search.rows(one.text, earlier=one.earlier, another=about_another(" ".join((*one.earlier[-1:], one.text))))
            for one in messages
        ]
    ).astype(np.float64)


def fitted(rows: Floats, wanted: Floats) -> Floats:
    """Weights under which the wanted sections have the largest share (softmax over sections)."""

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = rows @ weights
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        shares /= shares.sum(axis=1, keepdims=True)
        among = shares * wanted
        held = among.sum(axis=1, keepdims=True)
        value = -float(np.log(held[:, 0] + 1e-12).mean()) + 1e-4 * float(weights @ weights)
        slope = np.einsum("ms,msk->mk", shares - among / (held + 1e-12), rows)
        return value, slope.mean(axis=0) + 2e-4 * weights

    found = minimize(loss, np.zeros(rows.shape[2]), jac=True, method="L-BFGS-B")
    return np.asarray(found.x)


def logistic(values: Floats, wanted: NDArray[Any], costs: Floats | None = None) -> Floats:
    """A logistic regression; the constant comes first. `costs`: what each row weighs, all alike where None."""
    weights_of = np.ones(len(values)) if costs is None else costs
    filled = np.hstack((np.ones((len(values), 1)), values))
    signs = np.where(wanted, 1.0, -1.0)

    def loss(weights: Floats) -> tuple[float, Floats]:
        margins = signs * (filled @ weights)
        slope = -signs * weights_of / (1 + np.exp(np.clip(margins, -50, 50)))
        penalty = 1e-3 * weights
        penalty[0] = 0.0
        return float((weights_of * np.logaddexp(0, -margins)).mean() + 0.5 * penalty @ weights), filled.T @ slope / len(
            filled
        ) + penalty

    return np.asarray(minimize(loss, np.zeros(filled.shape[1]), jac=True, method="L-BFGS-B").x)


def stated_chances(
    values: Floats, wanted: NDArray[Any], folds: NDArray[np.int64], costs: Floats | None = None
) -> Floats:
    """The chance of each row by a logistic regression over the rows of all other folds."""
    chances = np.zeros(len(values))
    for fold in sorted(set(folds.tolist())):
        rest, here = folds != fold, folds == fold
        model = logistic(values[rest], wanted[rest], None if costs is None else costs[rest])
        chances[here] = 1 / (1 + np.exp(-(model[0] + values[here] @ model[1:])))
    return chances


def _indicator(messages: Sequence[AskedMessage], size: int) -> Floats:
    wanted = np.zeros((len(messages), size))
    for at, one in enumerate(messages):
        wanted[at, list(one.right)] = 1.0
    return wanted


def _hits(scores: Floats, messages: Sequence[AskedMessage]) -> Mapping[str, float]:
    order = np.argsort(-scores, axis=1, kind="stable")

    def share(among: Sequence[frozenset[int]], top: int) -> float:
        return round(
            float(np.mean([bool(one & set(row[:top].tolist())) for one, row in zip(among, order, strict=True)])), 3
        )

    right, near = [one.right for one in messages], [one.near for one in messages]
    return {
        "right_at_1": share(right, 1),
        "right_at_4": share(right, 4),
        "near_at_1": share(near, 1),
        "near_at_4": share(near, 4),
    }


def _confidence(rows: Floats, scores: Floats) -> Floats:
    found = []
    for row, score in zip(rows, scores, strict=True):
        shares = np.exp(score - score.max())
        evidence = confidence_of(row, shares / shares.sum(), int(np.argmax(score)))
        found.append([evidence[name] * (1.0 if name == "share" else SCALE) for name in CONFIDENCE])
    return np.array(found)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Messages with their evidence (message, section, kind) and what each is to weigh."""

    messages: list[AskedMessage]
    rows: Floats

    @property
    def has(self) -> NDArray[np.bool_]:
        """Which messages have a section that answers them."""
        return np.array([bool(one.right) for one in self.messages])

    @property
    def folds(self) -> NDArray[np.int64]:
        """The fold of each message; those of one author are in one."""
        return np.array([fold_of(one.author) for one in self.messages])

    def weights(self, fold: int | None = None) -> Floats:
        """How evidence orders sections, without one fold."""
        size = self.rows.shape[1]
        kept = self.has & (self.folds != fold) if fold is not None else self.has
        return fitted(self.rows[kept], _indicator(self.messages, size)[kept])


def report(sample: Sample) -> dict[str, dict[str, float]]:
    """Fit, cross-validate by author, print; the weights of the three models by name."""
    messages, rows, has, folds = sample.messages, sample.rows, sample.has, sample.folds
    scores, confidence = np.zeros(rows.shape[:2]), np.zeros((len(messages), len(CONFIDENCE)))
    for fold in sorted(set(folds.tolist())):
        chosen = folds == fold
        scores[chosen] = rows[chosen] @ sample.weights(fold)
        confidence[chosen] = _confidence(rows[chosen], scores[chosen])
    order = np.argsort(-scores, axis=1, kind="stable")
    first = np.array([order[at, 0] in one.near for at, one in enumerate(messages)])
    some = np.array([bool(one.near & set(order[at, :4].tolist())) for at, one in enumerate(messages)])
    stated = {}
    for name, came in (("right", first), ("near", some)):
        stated[name] = stated_chances(confidence, came, folds)
    final = sample.weights()
    found = {"better": {name: round(float(value), 2) for name, value in zip(EVIDENCE, final, strict=True)}}
    for key, came in (("right", first), ("near", some)):
        model = logistic(confidence, came)
        model[2:] *= SCALE
        found[key] = {one: round(float(value), 2) for one, value in zip(("base", *CONFIDENCE), model, strict=True)}
        print(key, "reliability", json.dumps(reliability(stated[key].tolist(), came.tolist())))
    print(
        "messages that have a section",
        int(has.sum()),
        _hits(scores[has], [one for one, it in zip(messages, has, strict=True) if it]),
    )
    for least in (0.5, 0.55, 0.6, 0.65, 0.7, 0.75):
        sure = stated["right"] >= least
        print(
            f"  sure at {least}: {sure.mean():.3f} of messages,",
            f"of these right {first[sure].mean() if sure.any() else 0:.3f}",
        )
    for least in (0.2, 0.3, 0.38, 0.45):
        away = stated["near"] < least
        print(
            f"  nothing near below {least}: {away.mean():.3f}, of these had a section",
            f"{some[away].mean() if away.any() else 0:.3f}; of those without one {away[~has].mean():.3f}",
        )
    return found


def in_other_languages(searches: Mapping[str, SectionSearch], part: str) -> Iterator[AskedMessage]:
    """The labelled messages in other languages: `fitted` are learnt from, `kept_out` only measured."""
    for line in (DATA / "questions_other_languages.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["part"] == part:
            sections = searches[row["lang"]].sections
            places = {f"{source.id}#{section.id}": at for at, (source, section) in enumerate(sections)}
            right = frozenset(places[one] for one in row["sections"] if one in places)
            yield AskedMessage(row["question"], (), right, right, row["id"], lang=row["lang"])


def in_language(search: SectionSearch, language: str) -> SectionSearch:
    """The same sections in another language."""
    edition = search.knowledge.edition(language)
    return replace(search, knowledge=edition, questions=edition.lay_questions, elsewhere=other_subjects(language))


def fold_of(author: str) -> int:
    """The fold of all that an author wrote."""
    return sum(map(ord, author)) % FOLDS


def unread(search: SectionSearch, fold: int) -> SectionSearch:
    """A search that holds no line which an author of this fold wrote in a conversation."""
    gone = {
        " ".join(text.split())
        for one in conversations().values()
        if fold_of(one.author) == fold
        for text in one.messages
    }
    kept = {
        key: replace(one, typed="\n".join(line for line in one.lines if line not in gone).encode())
        for key, one in search.questions.sections.items()
    }
    return replace(search, questions=replace(search.questions, sections=kept))


def sample_of(searches: Mapping[str, SectionSearch], messages: Sequence[AskedMessage]) -> Sample:
    """What to learn from, each message read by the search in its language, without lines of its author."""
    rows = np.zeros((len(messages), len(next(iter(searches.values())).sections), len(EVIDENCE)))
    for language in sorted({one.lang for one in messages}):
        for fold in range(FOLDS):
            search = unread(searches[language], fold)
            for at, one in enumerate(messages):
                if one.lang == language and fold_of(one.author) == fold:
                    rows[at] = rows_of(search, [one])[0]
    return Sample(messages=list(messages), rows=rows)


def write(weights: Mapping[str, Mapping[str, float]]) -> None:
    """Write the module of the weights anew; models that are not among `weights` stay as they are."""
    text = WEIGHTS.read_text(encoding="utf-8")
    rows = ["WEIGHTS = SectionWeights("]
    for model in (one.name for one in fields(SECTION_WEIGHTS)):
        told = weights.get(model, getattr(SECTION_WEIGHTS, model))
        rows += [f"    {model}={{", *(f'        "{one}": {value},' for one, value in told.items()), "    },"]
    WEIGHTS.write_text(text[: text.index("WEIGHTS = ")] + "\n".join([*rows, ")"]) + "\n", encoding="utf-8")


def main() -> None:
    """Fit the model, print what it reaches and write it."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--encoder", type=Path, default=ROOT / "config" / "encoder")
    asked.add_argument("--authors", required=True, help="whom the encoder has not seen, with commas")
    given = asked.parse_args()
    authors = set(given.authors.split(","))
    search = base(TextEncoder.load(given.encoder))
    searches = {one: in_language(search, one) for one in search.knowledge.languages}
    messages = [one for one in natural(search) if one.asks and one.author in authors]
    weights = report(sample_of(searches, messages))
    write(weights)


if __name__ == "__main__":
    main()
