"""What two readers said of conversations without a language model, before and after: `python -m evaluation.readings [FILE]`.

The conversations, the replies and both readings are in `evaluation/data/readings/conversations_6.jsonl`, those of the changes
before in `conversations_5.jsonl` and `conversations_4.jsonl`.
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from engine import read_text, wilson

CONVERSATIONS = Path(__file__).parent / "data" / "readings" / "conversations_6.jsonl"

USEFUL = 2  # the mean of two ratings from which a reply counts as useful


def figures(turns: Sequence[Any], arm: str) -> dict[str, int]:
    """Of how many replies both said it (`useful`: their mean is 2 or more; `true`: a question about the service answered so)."""
    ratings = [turn[arm]["ratings"] for turn in turns]

    def both(said: Callable[[Any], bool]) -> int:
        return sum(all(said(one) for one in pair) for pair in ratings)

    return {
        "useful": sum(sum(one["use"] for one in pair) / len(pair) >= USEFUL for pair in ratings),
        "off": both(lambda one: one["use"] == 0),
        "wrong": both(lambda one: one["wrong"]),
        "hurt": both(lambda one: one["hurt"]),
        "service": both(lambda one: one["bot"] is not None),
        "true": both(lambda one: one["bot"] is True),
    }


def main() -> None:
    """Print one line for each way of answering (`before` and `after`, or others) and group: by language and, where it was said,
    whether a message tells of danger."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else CONVERSATIONS
    rows = [json.loads(line) for line in read_text(file).splitlines()]
    said = [(row["lang"], turn) for row in rows for turn in row["turns"]]
    groups = {
        "English": [turn for lang, turn in said if lang == "en"],
        "not English": [turn for lang, turn in said if lang != "en"],
        "of danger": [turn for _, turn in said if turn.get("label") == "urgent"],
        "of none": [turn for _, turn in said if turn.get("label") == "not_urgent"],
    }
    for name, turns in groups.items():
        if not turns:
            continue
        for arm in (key for key, one in turns[0].items() if isinstance(one, dict)):
            found = figures(turns, arm)
            low, high = wilson(found["useful"], len(turns)) or (0.0, 0.0)
            counts = ", ".join(f"{key} {count}" for key, count in found.items())
            print(
                f"{name}, {arm}: of {len(turns)} {counts}; useful {found['useful'] / len(turns):.2f} ({low:.2f}-{high:.2f})"
            )


if __name__ == "__main__":
    main()
