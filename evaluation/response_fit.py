"""Learn what people type in place of tapping an answer to the check question, and write `config/urgency/response.*`.

    python -m evaluation.response_fit            # learns, chooses thresholds by two other authors, writes, measures a third
    python -m evaluation.response_fit --measure  # only the author who is kept back, with the weights that are there

Each row is what somebody wrote before the question and what they typed after it; its category is `denies`, `goes_on` (neither
tells of danger), `affirms` or `danger` (both do). Half of the ones that go on were written to look like ones that tell of danger.
"""

from __future__ import annotations

from engine import ResponseClassifier, TextEncoder
from evaluation.meaning_lessons import MeaningLessons, author, by_author_and_language, prepared
from evaluation.urgency import LabelledMessage, messages_in
from evaluation.urgency_training import DATA, RESPONSES, ROOT, threshold_for

THRESHOLDS, KEPT_BACK = DATA / "responses_for_thresholds", DATA / "responses_kept_back"
WEIGHTS = ROOT / "config" / "urgency" / "response"
LABELS = {"danger": {"affirms", "danger"}, "calm": {"denies", "goes_on"}, "denies": {"denies"}}
"""The labels that each head is to know."""
WRONGLY = {"danger": 0.02, "calm": 0.015, "denies": 0.02}
"""The share of all other rows, by authors whom neither encoder nor heads have seen, that may be taken for one: sets the
thresholds. Who is in danger must not be taken to be calm."""
PENALTY = 1e-5


def main() -> None:
    """Measure, choose the thresholds, write; or only measure."""
    encoder = prepared(__doc__, train)
    found = measured(ResponseClassifier.load(WEIGHTS, encoder), messages_in(KEPT_BACK))
    for name, some in by_author_and_language([(author(row.id), row.lang, row.category, taken) for row, taken in found]):
        print(name, counted(some))


def measured(layer: ResponseClassifier, rows: list[LabelledMessage]) -> list[tuple[LabelledMessage, set[str]]]:
    """Each row, and what it is taken for."""
    found = []
    for row in rows:
        said = layer.of(row.message, row.earlier)
        found.append((row, {name for name in layer.names if getattr(said, name)}))
    return found


def counted(found: list[tuple[str, set[str]]]) -> dict[str, str]:
    """How many of each label are taken for what."""
    told = {}
    for label in sorted({label for label, _ in found}):
        taken = [heads for one, heads in found if one == label]
        told[label] = ", ".join(f"{name} {sum(name in heads for heads in taken)}" for name in LABELS)
        told[label] += f" of {len(taken)}"
    return told


def train(encoder: TextEncoder) -> None:
    """Learn from the authors from whom the encoder has learnt, choose the thresholds by two others, and write."""
    rows, others = messages_in(RESPONSES), messages_in(THRESHOLDS)
    lessons = MeaningLessons(encoder, [(row.message, (row.earlier[-1].content,)) for row in rows], PENALTY)
    wanted = {name: [row.category in labels for row in rows] for name, labels in LABELS.items()}
    lessons.write(WEIGHTS, wanted, dict.fromkeys(LABELS, 0.0))
    heads = ResponseClassifier.load(WEIGHTS, encoder).heads
    sums = [(row.category, heads.sums(row.message, (row.earlier[-1].content,))) for row in others]
    thresholds = {
        name: threshold_for([of[name] for category, of in sums if category not in labels], WRONGLY[name])
        for name, labels in LABELS.items()
    }
    lessons.write(WEIGHTS, wanted, thresholds)
    taken = [(category, {name for name in LABELS if of[name] >= thresholds[name]}) for category, of in sums]
    print("thresholds", counted(taken))


if __name__ == "__main__":
    main()
