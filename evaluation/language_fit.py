"""Learn of which of our languages two or three words are, and write `config/languages.bin`.

    python -m evaluation.language_fit    # measures with authors left out, then learns from all and writes

What is learnt from are pieces of two and three words of the messages in `evaluation/data/urgency`.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from engine import LANGUAGES_OF_A_FEW as OURS
from engine import LanguageDetector, LinearHeads, Message, Role, WordFeatures, undisguised_words
from evaluation.urgency import read_messages
from evaluation.urgency_training import ROOT, fit, fold_of, packed, training_files, vectors

WEIGHTS = ROOT / "config" / "languages.bin"
BITS = 14
PENALTY = 1e-5  # of squared weights, for one example
SHORT = 10  # words up to which a message is learnt from whole, too
NAMED = {"no": "nb"}

Said = tuple[str, str, str]
"""A message, its language, and who wrote it."""


def messages() -> list[Said]:
    """Every message that is learnt from."""
    rows = [one for path in training_files() for one in read_messages(path)]
    authors = [str((one.model_extra or {}).get("author", "")) for one in rows]
    return [(one.message, NAMED.get(one.lang, one.lang), author) for one, author in zip(rows, authors, strict=True)]


def pieces(some: Sequence[Said], dice: random.Random) -> Iterator[tuple[str, str]]:
    """Two and three words in a row of each message, and short messages whole."""
    for text, language, _ in some:
        said = text.split()
        for many in (2, 3):
            if len(said) >= many:
                at = dice.randrange(len(said) - many + 1)
                yield " ".join(said[at : at + many]), language
        if len(said) <= SHORT:
            yield text, language


def learnt(some: Sequence[Said]) -> bytes:
    """The weights file."""
    rows = list(pieces(some, random.Random(5)))
    matrix = vectors(((text, ()) for text, _ in rows), WordFeatures({}, BITS), BITS)
    languages = np.array([language for _, language in rows])
    costs = np.ones(len(rows))
    models = {code: fit(matrix, np.where(languages == code, 1.0, -1.0), costs, PENALTY) for code in OURS}
    return packed(models, dict.fromkeys(OURS, 0.0), {}, f"{len(rows)} pieces", BITS)


def measured(detector: LanguageDetector, some: Sequence[Said]) -> Mapping[str, tuple[int, int]]:
    """Right ones and all, by how many words there are and what stands before them."""
    dice, found, long = random.Random(1), defaultdict[str, list[bool]](list), defaultdict[str, list[str]](list)
    for text, language, _ in some:
        if len(undisguised_words(text)) > SHORT / 2:
            long[language].append(text)
    for text, language, _ in some:
        many = len(undisguised_words(text))
        if many > 3:
            found[f"{language}, {'four to eight' if many <= 8 else 'more'} words"].append(detector.of(text) == language)
        elif many > 1:
            other = dice.choice([one for one in OURS if one != language])
            found["a few words, first, in an English chat"].append(detector.of(text) == language)
            found["a few words, first, in a chat of their language"].append(detector.of(text, (), language) == language)
            for where, before in (("the same", language), ("another", other)):
                earlier = (Message(role=Role.USER, content=dice.choice(long[before])),)
                found[f"a few words after {where} language"].append(detector.of(text, earlier) == language)
    return {name: (sum(rows), len(rows)) for name, rows in sorted(found.items())}


def main() -> None:
    """Measure, then learn from all and write."""
    rows = messages()
    left = [one for one in rows if one[2] and fold_of(one[2], "") == 0]
    heads = LinearHeads.parse(learnt([one for one in rows if not one[2] or fold_of(one[2], "") != 0]), OURS)
    for name, (right, whole) in measured(LanguageDetector(few=heads), left).items():
        print(f"{name}: {right} of {whole}: {right / whole:.3f}")
    WEIGHTS.write_bytes(learnt(rows))


if __name__ == "__main__":
    main()
