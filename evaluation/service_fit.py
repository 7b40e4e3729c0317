"""Fits when a message is a question about the service: `python -m evaluation.service_fit`.

On messages of natural conversations: those that ask about it, each with the subject that answers it, and all that ask or tell of
anything else (`evaluation/data/service/for_weights`). The encoder has not learnt of what kind they are, and the lines of
`config/service` that are among them are left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from engine import (
    Guide,
    GuideTexts,
    KnowledgeBase,
    Message,
    MessageKinds,
    Role,
    Service,
    Stakes,
    TextEncoder,
    load_elsewhere,
)
from evaluation.kind_heads import SOCIAL_SUBJECTS, WEIGHTS
from evaluation.natural_messages import read_messages
from evaluation.section_fusion import logistic

ROOT = Path(__file__).parents[1]
DATA = ROOT / "evaluation" / "data" / "service"
SCALE = np.array([10.0, 10.0, 10.0, 1.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 1.0])
"""Likenesses are small numbers; the penalty on weights must not see that."""
BUTTONS = 2
"""So many of the questions that are asked back stand among others."""
NAMES = (
    *("best", "lead", "ahead", "kind", "nearest", "nearest_ahead", "pieces"),
    *("kin", "meant", "kin_ahead", "meant_ahead", "short"),
)


def without(service: Service, texts: Collection[str]) -> Service:
    """The service as if these lines had not been written."""
    languages = {
        language: replace(
            one,
            lines={subject: tuple(line for line in lines if line not in texts) for subject, lines in one.lines.items()},
        )
        for language, one in service.languages.items()
    }
    return replace(service, languages=languages)


def main() -> None:
    """Fit, and print what different thresholds do."""
    encoder = TextEncoder.load(ROOT / "config" / "encoder")
    kinds = MessageKinds.load(WEIGHTS, encoder)
    known = Service.load(ROOT / "config" / "service", kinds, encoder)
    guide = Guide(
        knowledge=KnowledgeBase.load(ROOT / "knowledge_base" / "schizophrenia"),
        kinds=kinds,
        service=known,
        texts=GuideTexts.load_all(ROOT / "config" / "guide"),
        stakes=Stakes.load(ROOT / "config" / "stakes.yaml"),
        encoder=encoder,
        elsewhere=load_elsewhere(ROOT / "config" / "elsewhere"),
    )
    for path in sorted((DATA / "kept_back").glob("*.jsonl")):
        kept_back: Counter[str] = Counter()
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            earlier = _as_messages(row["before"])
            kept_back[_outcome(known, guide, row["text"], earlier, row["lang"], row["subject"])] += 1
        print(f"kept back, {path.stem}, with the weights that are there:", dict(kept_back))
    asked = list(read_messages("*.jsonl", folder=DATA / "for_weights"))
    service = without(known, {" ".join(one.text.split()) for one in asked if one.said["subject"]})
    rows, right, got = [], [], []
    for one in asked:
        earlier = _as_messages(one.earlier)
        language, subject = one.conversation.lang, one.said["subject"]
        likeness = partial(guide.likeness, language=language)
        best, evidence = service.evidence(one.text, earlier, language, likeness(one.text))
        rows.append([evidence[name] for name in NAMES])
        right.append(bool(subject) and best == subject)
        got.append(_outcome(service, guide, one.text, earlier, language, subject))
    values, came = np.array(rows), np.array(right)
    of_service = np.array([bool(one.said["subject"]) for one in asked])
    model = logistic(values * SCALE, came)
    model[1:] *= SCALE
    print("WEIGHTS", {name: round(float(value), 2) for name, value in zip(("base", *NAMES), model, strict=True)})
    print("nearest subject is right", round(float(came[of_service].mean()), 3), "of", int(of_service.sum()))
    chances = 1 / (1 + np.exp(-(model[0] + values @ model[1:])))
    for least in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7):
        told = chances >= least
        shares = (float((told & came)[of_service].mean()), float((told & ~came)[of_service].mean()))
        print(
            least,
            "answered truly, with another subject, others answered",
            np.round(shares, 3),
            np.round(float(told[~of_service].mean()), 4),
        )
    print("with the weights that are there, sentence by sentence, too:", dict(Counter(got)))


def _as_messages(texts: Iterable[str]) -> tuple[Message, ...]:
    return tuple(Message(role=Role.USER, content=text) for text in texts)


def _outcome(service: Service, guide: Guide, text: str, earlier: Sequence[Message], language: str, subject: str) -> str:
    """What becomes of a message that asks for a subject, or for none."""
    likeness = partial(guide.likeness, language=language)
    said = service.subject(text, earlier, language, likeness)
    offered = () if said else service.asked_back(text, earlier, language, likeness, most=BUTTONS)
    right = subject in {one.section for one in offered}
    asked_back = "asked back rightly" if right else "asked back" if offered else ""
    if not subject:
        return "others: " + ("thanked" if said in SOCIAL_SUBJECTS else "answered" if said else asked_back or "left")
    return "answered truly" if said == subject else "with another subject" if said else asked_back or "not answered"


if __name__ == "__main__":
    main()
