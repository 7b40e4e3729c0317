"""Fits when a message is a question about the service: `python -m evaluation.service_fit`.

On messages of natural conversations: those that ask about it, each with the subject that answers it, and all that ask or tell of
anything else (`evaluation/data/service/for_weights`). The encoder has not learnt of what kind they are, and the lines of
`config/service` that are among them are left out.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from engine import Guide, GuideTexts, KnowledgeBase, Message, MessageKinds, Role, Service, Stakes, TextEncoder
from evaluation.kind_heads import WEIGHTS
from evaluation.natural_messages import conversations
from evaluation.section_fusion import logistic

ROOT = Path(__file__).parents[1]
DATA = ROOT / "evaluation" / "data" / "service" / "for_weights"
SCALE = np.array([10.0, 10.0, 10.0, 1.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 1.0])
"""Likenesses are small numbers; the penalty on weights must not see that."""
NAMES = (
    *("best", "lead", "ahead", "kind", "nearest", "nearest_ahead", "pieces"),
    *("kin", "meant", "kin_ahead", "meant_ahead", "short"),
)


@dataclass(frozen=True, kw_only=True)
class ServiceMessage:
    """A message with those before it, and the `subject` that answers it, empty where it is about something else."""

    text: str
    before: tuple[Message, ...]
    lang: str
    subject: str


def natural() -> Iterator[ServiceMessage]:
    """The messages of natural conversations."""
    among = conversations()
    for path in sorted(DATA.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            name, _, at = row["id"].rpartition(".")
            said = among[name]
            before = tuple(Message(role=Role.USER, content=one) for one in said.messages[: int(at)])
            yield ServiceMessage(text=said.messages[int(at)], before=before, lang=said.lang, subject=row["subject"])


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
    )
    asked = list(natural())
    service = without(known, {" ".join(one.text.split()) for one in asked if one.subject})
    rows, right = [], []
    for one in asked:
        subject, evidence = service.evidence(one.text, one.before, one.lang, guide.likeness(one.text, one.lang))
        rows.append([evidence[name] for name in NAMES])
        right.append(bool(one.subject) and subject == one.subject)
    values, came = np.array(rows), np.array(right)
    of_service = np.array([bool(one.subject) for one in asked])
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


if __name__ == "__main__":
    main()
