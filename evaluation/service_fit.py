"""Fits when a message is a question about the service: `python -m evaluation.service_fit`.

On the questions of two of the authors whose lines are in `config/service`, each with that author's left out, and on natural
messages in five languages, all read by a state of the encoder that has not seen them.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np

from engine import Guide, GuideTexts, KnowledgeBase, MessageKinds, Service, Stakes, TextEncoder
from evaluation.kind_heads import WEIGHTS, messages
from evaluation.section_fusion import logistic

ROOT = Path(__file__).parents[1]
SCALE = np.array([10.0, 10.0, 10.0, 1.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 1.0])
"""Likenesses are small numbers; the penalty on weights must not see that."""
FITTED_BY = ("author_6", "author_7")
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
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--encoder", type=Path, default=ROOT / "config" / "encoder")
    given.add_argument("--authors", required=True, help="whose natural messages the encoder has not seen, with commas")
    told = given.parse_args()
    encoder, authors = TextEncoder.load(told.encoder), set(told.authors.split(","))
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
    rows, right, wanted = [], [], []
    for author in FITTED_BY:
        path = ROOT / "evaluation" / "data" / "service" / f"{author}.jsonl"
        asked = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        service = without(known, {" ".join(row["text"].split()) for row in asked})
        for row in asked:
            subject, evidence = service.evidence(row["text"], (), row["lang"], guide.likeness(row["text"], row["lang"]))
            rows.append([evidence[name] for name in NAMES])
            right.append(subject == row["subject"] and subject != "other")
            wanted.append(row["subject"])
    natural: list[tuple[str, str]] = []
    for file in sorted((ROOT / "evaluation" / "data" / "lay_questions").glob("*_c.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            text = json.loads(line)["question"]
            subject, evidence = service.evidence(text, (), "en", guide.likeness(text, "en"))
            rows.append([evidence[name] for name in NAMES])
            right.append(False)
            wanted.append("")
            natural.append((text, subject))
    for one in messages():
        if one.kind not in {"asks", "tells"} or one.author not in authors:
            continue
        subject, evidence = service.evidence(one.text, one.before, one.lang, guide.likeness(one.text, one.lang))
        rows.append([evidence[name] for name in NAMES])
        right.append(False)
        wanted.append("")
        natural.append((one.text, subject))
    values, came = np.array(rows), np.array(right)
    model = logistic(values * SCALE, came)
    model[1:] *= SCALE
    print("WEIGHTS", {name: round(float(value), 2) for name, value in zip(("base", *NAMES), model, strict=True)})
    chances = 1 / (1 + np.exp(-(model[0] + values @ model[1:])))
    of_service = np.array([bool(one) for one in wanted])
    for least in (0.4, 0.5, 0.6, 0.7, 0.8):
        told = chances >= least
        near = ~of_service & (np.arange(len(of_service)) < len(of_service) - len(natural))
        far = np.arange(len(of_service)) >= len(of_service) - len(natural)
        print(
            least,
            "answered truly",
            round(float((told & came)[of_service].mean()), 3),
            "with another subject",
            round(float((told & ~came)[of_service].mean()), 3),
            "near misses answered",
            round(float(told[near].mean()), 3),
            "natural messages answered",
            round(float(told[far].mean()), 4),
            len(natural),
        )
    start = len(of_service) - len(natural)
    worst = sorted(range(start, len(of_service)), key=lambda at: -chances[at])[:25]
    for at in worst:
        print(round(float(chances[at]), 2), natural[at - start])
    print(
        Counter(
            one for one, there, known in zip(wanted, chances >= 0.6, came, strict=True) if one and not (there and known)
        )
    )


if __name__ == "__main__":
    main()
