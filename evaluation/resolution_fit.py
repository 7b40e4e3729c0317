"""Learn what people say after danger was told when it is being dealt with, and write `config/urgency/resolution.*`.

    python -m evaluation.resolution_fit            # learns, chooses thresholds by other authors, writes, measures two more
    python -m evaluation.resolution_fit --measure  # only the authors who are kept back, with the weights that are there

Each row is a message that told of danger, the one that followed the referral, and a label: `settled`, `open` (also where it is
in doubt) or `unsaid`. Most of the open ones were written to look like settled ones. The encoder has learnt from the same authors
(`evaluation.encoder_lessons`), so that the thresholds are chosen by others.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine import RESOLVED, Message, ResolutionClassifier, Role, TextEncoder
from evaluation.meaning_lessons import MeaningLessons, Row, author, by_author_and_language, prepared, rows_in
from evaluation.urgency import read_messages
from evaluation.urgency_training import DATA, ROOT, labelled, threshold_for

LEARNT, FOR_THRESHOLDS, KEPT_BACK = (
    DATA / "resolved",
    DATA / "resolved_for_thresholds",
    DATA / "resolved_kept_back",
)
WEIGHTS = ROOT / "config" / "urgency" / "resolution"
ANSWERED_WRONGLY = 0.12  # of open ones by authors not seen, most of them written to mislead: sets the threshold
PENALTY = 1e-5
EVERY, ONE_IN = 220, 22
"""Of all lay questions, and of first messages without danger, that are learnt from as saying nothing of it."""
SORRY, AFTER = (
    ("sorry", "tut mir leid", "entschuldigung", "perdón", "lo siento", "désolé", "pardon", "beklager", "unnskyld"),
    12,
)
"""Words that begin what says that it was a misunderstanding, and say nothing of it alone; after so many dangers each."""


def main() -> None:
    """Learn, choose the thresholds, write, measure; or only measure."""
    encoder = prepared(__doc__, train)
    found = measured(ResolutionClassifier.load(WEIGHTS, encoder), rows_in(KEPT_BACK))
    for name, some in by_author_and_language(
        [(author(row["id"]), row["lang"], row["label"], taken) for row, taken in found]
    ):
        print(name, counted(some))


def before(row: Row) -> tuple[Message, ...]:
    """The message that told of danger."""
    return (Message(role=Role.USER, content=row["first"]),)


def measured(layer: ResolutionClassifier, rows: list[Row]) -> list[tuple[Row, bool]]:
    """Each row, and whether it is taken for settled."""
    return [(row, layer.resolved(row["next"], before(row))) for row in rows]


def counted(found: list[tuple[str, bool]]) -> dict[str, str]:
    """How many of each label are taken for settled."""
    labels = sorted({label for label, _ in found})
    groups = {label: [taken for one, taken in found if one == label] for label in labels}
    return {label: f"{sum(taken)} of {len(taken)}" for label, taken in groups.items()}


def ordinary(firsts: list[str]) -> Iterator[Row]:
    """What people ask and tell without any danger, as if it had followed one: it says nothing of it."""
    asked = [
        (path.stem, line.removeprefix("- "))
        for path in sorted((ROOT / "knowledge_base").glob("*/questions/*/*.md"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("- ")
    ][::EVERY]
    told = [
        (one.author, one.message.message)
        for path in sorted((DATA / "authors").glob("*.jsonl"))
        for one in labelled(read_messages(path))
        if not one.wanted["urgent"] and not one.message.earlier
    ][::ONE_IN]
    for number, (name, text) in enumerate((*asked, *told, *(("", text) for text in SORRY * AFTER))):
        yield {"id": f"{number % 5}-{name}", "first": firsts[number % len(firsts)], "next": text, "label": "unsaid"}


def train(encoder: TextEncoder) -> None:
    """Learn from the authors in view, choose what the sum must reach by others, and write."""
    rows = rows_in(LEARNT)
    rows += ordinary([row["first"] for row in rows])
    lessons = MeaningLessons(encoder, [(row["next"], (row["first"],)) for row in rows], PENALTY)
    wanted = {RESOLVED: [row["label"] == "settled" for row in rows]}
    lessons.write(WEIGHTS, wanted, dict.fromkeys(wanted, 0.0))
    heads, others = ResolutionClassifier.load(WEIGHTS, encoder).heads, rows_in(FOR_THRESHOLDS)
    still = [heads.sums(row["next"], (row["first"],))[RESOLVED] for row in others if row["label"] == "open"]
    lessons.write(WEIGHTS, wanted, {RESOLVED: threshold_for(still, ANSWERED_WRONGLY)})


if __name__ == "__main__":
    main()
