"""Learn what a danger is about, and write `config/urgency/kind.*`.

    python -m evaluation.danger_kind_fit            # learns, measures on the authors who are kept back
    python -m evaluation.danger_kind_fit --measure  # only measures

What is learnt from is every urgent message of `evaluation/data/urgency`, by the category that its author gave it.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine import DangerKinds, TextEncoder, said_before
from evaluation.meaning_lessons import MeaningLessons, prepared
from evaluation.urgency import LabelledMessage, messages_in
from evaluation.urgency_training import DATA, ROOT

WEIGHTS = ROOT / "config" / "urgency" / "kind"
LEARNT, KEPT_BACK = ("authors", "plain"), ("kept_back", "plain_kept_back")
OF = {
    **dict.fromkeys(("suicide_active", "suicide_passive", "suicide_planning", "suicide_goodbye"), "dying"),
    **dict.fromkeys(("lethal_means", "self_harm"), "dying"),
    **dict.fromkeys(("harm_to_others", "abuse_danger"), "others"),
    **dict.fromkeys(("acute_psychosis", "disorientation", "postpartum"), "confused"),
    **dict.fromkeys(("overdose_medicine_emergency", "refusing_food_drink"), "medical"),
    "command_voices": "voices",
}
AHEAD = 1.5  # by so much one kind's sum must lead the next


def messages(folders: Iterable[str]) -> list[LabelledMessage]:
    """The urgent ones of every author in these folders."""
    read = (one for folder in folders for one in messages_in(DATA / folder))
    return [one for one in read if one.label == "urgent" and one.category in OF]


def main() -> None:
    """Learn and write; then say how often each kind is named, and rightly."""
    kinds = DangerKinds.load(WEIGHTS, prepared(__doc__, train))
    found = [(kinds.of(one.message, one.earlier).value, OF[one.category]) for one in messages(KEPT_BACK)]
    for name in DangerKinds.names[:-1]:
        right = sum(said == of == name for said, of in found)
        print(
            f"{name}: {right} of {sum(of == name for _, of in found)}, named {sum(said == name for said, _ in found)} times"
        )


def train(encoder: TextEncoder) -> None:
    """Learn from the authors in view, and write."""
    rows = messages(LEARNT)
    lessons = MeaningLessons(encoder, [(one.message, said_before(one.earlier)) for one in rows])
    wanted = {name: [OF[one.category] == name for one in rows] for name in DangerKinds.names}
    lessons.write(WEIGHTS, wanted, dict.fromkeys(DangerKinds.names, AHEAD))


if __name__ == "__main__":
    main()
