"""Distils the word vectors of the search from a sentence-embedding teacher, once, in development.

    python -m evaluation.word_vectors TEACHER --out config/vectors/en.npz --texts FOLDER_OR_FILE ...

In the manner of model2vec and Tokenlearn (Minish Lab, 2024): every word is encoded by the teacher, the results
are reduced by principal components and weighted by how rare the word is; then the vectors are adjusted so that their
sums are as alike as the teacher finds whole sentences, and sentences of one source more alike than others.
Needs torch and sentence-transformers, which the project itself does not; `config/vectors/README.md` is the record.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from engine import WordVectors, ordinary_words, scan_knowledge, sentences, words, write_vectors

Matrix = NDArray[np.float32]


DIMS, WORDS = 96, 18_000
SMOOTH = 1e-3
"""The constant of smooth inverse frequency (Arora and others, 2017)."""
ROUNDS, BATCH, RATE = 12, 256, 0.003
HOLD, DOMAIN, HEAT = 0.3, 0.15, 0.1
"""Pull towards the first vectors, share and temperature of "lines of one source belong together"."""


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """What the vectors are fitted to; `groups` are the lines of one source each, `words` further words to have."""

    lines: list[str]
    groups: list[list[str]]
    words: set[str]


def read_texts(places: Sequence[Path]) -> Corpus:
    """Knowledge base folders, JSON Lines with a "text", or text files.

    The `questions` of sources only give words: learnt by heart, they made the search worse on questions of others, and so
    hiding one is an honest trial.

    In a text file a line with "#" opens a new subject, whose lines belong together as those of a source do.
    """
    lines: dict[str, None] = {}
    further: set[str] = set()
    groups: list[list[str]] = []
    for place in places:
        if place.is_dir():
            base, _ = scan_knowledge(place)
            for one in base.sources.values() if base else ():
                further.update(word for question in one.questions for word in words(question))
                groups.append([one.title, *one.summary, *(text for text in sentences(one.text) if len(text) > 20)])
        elif place.suffix == ".jsonl":
            rows = place.read_text(encoding="utf-8").splitlines()
            lines |= dict.fromkeys(text for row in rows if row and (text := json.loads(row).get("text")))
        else:
            read, subjects = place.read_text(encoding="utf-8"), subject_lines(place)
            groups += [list(subject) for subject in subjects] if "# " in read else []
            lines |= dict.fromkeys(line for subject in subjects for line in subject)
    lines |= dict.fromkeys(line for group in groups for line in group)
    return Corpus(lines=list(lines), groups=groups, words=further)


def subject_lines(file: Path) -> list[list[str]]:
    """The lines of a text file by subject; a line with "#" opens one."""
    subjects: list[list[str]] = [[]]
    for line in file.read_text(encoding="utf-8").split("\n"):
        if line.startswith("#"):
            subjects.append([])
        elif line.strip():
            subjects[-1].append(line.strip())
    return [subject for subject in subjects if subject]


def thinned(lines: Sequence[str], *, seed: int = 1) -> list[str]:
    """Lines with a third of their words left out, so that each word's own share can be told."""
    draw = random.Random(seed)
    kept = (" ".join(word for word in line.split() if draw.random() > 0.35) for line in lines)
    return [line for line in kept if line]


def vocabulary(teacher: SentenceTransformer, texts: Corpus) -> list[str]:
    """The words of the texts, everyday words, and the teacher's own commonest, which come in order."""
    counted = teacher.tokenizer.get_vocab()
    own = sorted((word for word in counted if word.isascii() and word.isalpha()), key=counted.__getitem__)
    needed = {word for line in texts.lines for word in words(line)}
    needed |= texts.words | ordinary_words()
    usable = {word for word in needed if word.isascii() and len(word) < 25 and not word.isdigit()}
    common = [word for word in own if len(word) > 1 or word in "ai"]
    others = [word for word in common if word not in usable][: max(0, WORDS - len(usable))]
    kept = usable.union(others)
    return [word for word in common if word in kept] + sorted(usable.difference(common))


def encode(teacher: SentenceTransformer, texts: Sequence[str], cache: Path) -> Matrix:
    """The teacher's unit vectors of texts, kept on disk by what the texts are."""
    name = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
    file = cache / f"{name}.npy"
    if not file.exists():
        np.save(file, teacher.encode(list(texts), batch_size=128, normalize_embeddings=True))
    return np.asarray(np.load(file), dtype=np.float32)


def first_vectors(encoded: Matrix, mean: Matrix, axes: Matrix) -> Matrix:
    """Principal components of the words' encodings, common words weighted down as in text by Zipf's law."""
    projected = (encoded - mean) @ axes.T
    projected /= np.linalg.norm(projected, axis=1, keepdims=True) + 1e-9
    share = 1 / (np.arange(len(encoded)) + 10) / np.log(len(encoded))
    return np.asarray(projected * (SMOOTH / (SMOOTH + share))[:, None], dtype=np.float32)


def adjust(first: Matrix, bags: list[list[int]], wanted: Matrix, groups: list[list[int]]) -> Matrix:
    """Adjust word vectors until sums of them are as alike as `wanted`; `groups` are rows of one source each."""
    torch.manual_seed(1)
    draw = random.Random(1)
    weight = torch.nn.Parameter(torch.tensor(first))
    start, goal = torch.tensor(first), torch.nn.functional.normalize(torch.tensor(wanted))
    optimiser = torch.optim.Adam([weight], lr=RATE)
    order = [row for row, bag in enumerate(bags) if bag]
    groups = [[row for row in group if bags[row]] for group in groups]
    for turn in range(ROUNDS):
        draw.shuffle(order)
        total = 0.0
        for at in range(0, len(order) - BATCH // 2, BATCH):
            rows = order[at : at + BATCH]
            made, meant = _sums(weight, [bags[row] for row in rows]), goal[rows]
            loss = ((made @ made.T - meant @ meant.T) ** 2).mean() * 10 + (1 - (made * meant).sum(1)).mean()
            used = torch.tensor([word for row in rows for word in bags[row]])
            loss = loss + HOLD * ((weight[used] - start[used]) ** 2).sum(1).mean()
            if groups and DOMAIN:
                loss = loss + DOMAIN * _belonging(weight, bags, groups, draw)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += loss.item() * len(rows)
        print(f"round {turn + 1}: {total / len(order):.4f}", flush=True)
    return np.asarray(weight.detach().numpy(), dtype=np.float32)


def _belonging(
    weight: torch.Tensor, bags: list[list[int]], groups: list[list[int]], draw: random.Random
) -> torch.Tensor:
    pairs = [draw.sample(group, 2) for group in groups if len(group) > 1]
    one, other = (_sums(weight, [bags[pair[side]] for pair in pairs]) for side in (0, 1))
    return torch.nn.functional.cross_entropy(one @ other.T / HEAT, torch.arange(len(pairs)))


def _sums(weight: torch.Tensor, bags: list[list[int]]) -> torch.Tensor:
    starts = np.cumsum([0, *map(len, bags[:-1])])
    rows = torch.tensor([word for bag in bags for word in bag])
    summed = torch.nn.functional.embedding_bag(rows, weight, torch.tensor(starts), mode="sum")
    return torch.nn.functional.normalize(summed)


def distil(teacher: SentenceTransformer, texts: Corpus, cache: Path) -> WordVectors:
    """The whole way from a teacher and texts to word vectors."""
    known = vocabulary(teacher, texts)
    lines = texts.lines + thinned(texts.lines)
    print(f"{len(known)} words, {len(lines)} lines", flush=True)
    encoded = encode(teacher, known, cache)
    whole = encode(teacher, lines, cache)
    mean = whole.mean(axis=0)
    _, _, axes = np.linalg.svd(np.vstack([whole - mean, encoded - encoded.mean(axis=0)]), full_matrices=False)
    first = first_vectors(encoded, encoded.mean(axis=0), axes[:DIMS])
    places = {word: place for place, word in enumerate(known)}
    bags = [[places[word] for word in words(line) if word in places] for line in lines]
    row_of = {line: row for row, line in enumerate(texts.lines)}
    groups = [[row_of[line] for line in group] for group in texts.groups]
    return WordVectors.of(known, adjust(first, bags, (whole - mean) @ axes[:DIMS].T, groups))


def main() -> None:
    """Distil and write the file."""
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("teacher", type=Path)
    read.add_argument("--out", type=Path, required=True)
    read.add_argument("--texts", type=Path, nargs="+", required=True)
    read.add_argument("--cache", type=Path, default=Path("vectors_cache"), help="where what the teacher said is kept")
    given = read.parse_args()
    texts = read_texts(given.texts)
    vectors = distil(SentenceTransformer(str(given.teacher)), texts, given.cache)
    write_vectors(vectors, given.out)
    print(f"{given.out}: {given.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
