"""What a text means: a small language model reads it in five languages, on the processor, in a few milliseconds.

`read` gives a vector, by which texts that share no word are found alike, and the sums of heads: how far it sounds like danger,
and what kind of message it is. The model is multilingual-e5-small (Wang et al. 2024, arXiv 2402.05672), cut to half of its
layers and taught on the messages of `evaluation/data`: `config/encoder/README.md` says how and with what figures. Nothing of
a text is kept, and a turn reads each text once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict
from sentencepiece import SentencePieceProcessor

from engine.exceptions import ConfigurationError
from engine.language.letters import legible
from engine.language.vectors import Floats, UnitRows, in_whole_numbers, of_length_one, places_in
from engine.memo import once_a_turn

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

BROKEN = (
    "Fail",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "NoSuchFile",
    "NotImplemented",
    "RuntimeException",
)
"""What onnxruntime raises where a file is no model, or not a whole one; nothing but these names joins them."""
REMEDY = "Put back the files that came with this version, or make them with `python -m evaluation.encoder_lessons`."
LONGEST = 4000
"""Characters of a text that are read."""
WINDOW, OVERLAP = 96, 24
"""Pieces of words that are read at once, and how many of them two windows of a longer text share."""
MOST = 12
"""So many windows are read at most: a thousand pieces, as many as such a text usually has. Signs without sense have more."""
BEFORE = 32
"""So many of the last pieces of what was said before are read with each window."""
DANGER_HEADS = ("urgent", "medical", "delusional")
"""Does somebody need help now; is it about a body or a medicine; is a belief that may be part of psychosis stated as fact."""
KIND_HEADS = ("asks", "tells", "social", "service", "heavy")
"""What a message does, one of four; and whether what it tells weighs. Good news is not told apart: of a hundred such messages
eight are found where one in a hundred others is."""
HEADS = (*DANGER_HEADS, *KIND_HEADS)
"""What the sums say."""
OUTPUTS = ("meaning", "sums", "whole")
"""What the model gives of a window."""


class EncoderDescription(BaseModel):
    """What stands beside the model: its name, how many numbers a vector has, and its heads."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    dims: int
    heads: tuple[str, ...]
    lead: tuple[int, ...]  # the pieces that every text begins with
    end: int  # the piece that ends a text, and what was said before it


@dataclass(frozen=True, kw_only=True, slots=True)
class TextReading:
    """One window of a text: its `meaning`, of length one, the sum of each head, and the `whole` that both are made of."""

    meaning: Floats
    sums: Mapping[str, float]
    whole: Floats


@dataclass(frozen=True, kw_only=True)
class TextEncoder:
    """Reads texts. `rows` and `scales`: the vector of each piece of a word, a byte a number; `known`: lines read already."""

    description: EncoderDescription
    session: InferenceSession = field(repr=False)
    pieces: SentencePieceProcessor = field(repr=False)
    rows: NDArray[np.int8] = field(repr=False)
    scales: Floats = field(repr=False)
    known: KnownLines = field(repr=False)

    @classmethod
    def load(cls, folder: Path, *, known: bool = True) -> TextEncoder:
        """Read the model in a folder, without the lines that it knows where not `known`.

        Raises ConfigurationError naming what is missing or broken.
        """
        # Only here: it starts a thread of its own, without which a process that was forked cannot end.
        import onnxruntime as onnx

        broken = [getattr(onnx.capi.onnxruntime_pybind11_state, name) for name in BROKEN]
        try:
            description = EncoderDescription.model_validate_json((folder / "encoder.json").read_bytes())
            if description.heads != HEADS:
                raise ValueError("its heads are those of another version")
            options = onnx.SessionOptions()
            # A message is short: a second thread costs more than it brings, and other messages need it.
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.enable_cpu_mem_arena = False
            options.log_severity_level = 3
            # By its path: bytes that are handed over are kept beside what is made of them.
            session = onnx.InferenceSession(str(folder / "encoder.onnx"), options, providers=["CPUExecutionProvider"])
            if tuple(one.name for one in session.get_outputs()) != OUTPUTS:
                raise ValueError("it gives what another version gave")
            return cls(
                description=description,
                session=session,
                pieces=SentencePieceProcessor(model_file=str(folder / "pieces.model")),
                rows=np.load(folder / "rows.npy", mmap_mode="r"),
                scales=np.load(folder / "scales.npy"),
                known=KnownLines.load(folder, description.dims) if known else KnownLines.none(description.dims),
            )
        except (OSError, ValueError, RuntimeError, *broken) as cause:
            reason = "The language model cannot be read."
            raise ConfigurationError(reason, file=folder, remedy=REMEDY) from cause

    @property
    def width(self) -> int:
        """How many numbers a `whole` has."""
        return int(self.rows.shape[1])

    @cached_property
    def _windows(self) -> Callable[[str, str], tuple[TextReading, ...]]:
        return once_a_turn(self._read)

    def windows(self, text: str, before: Sequence[str] = ()) -> tuple[TextReading, ...]:
        """A text with what was said before it, in one window or, where it is long, several."""
        return self._windows(legible(text)[:LONGEST], legible("\n".join(before))[-LONGEST:])

    def read(self, text: str, before: Sequence[str] = ()) -> TextReading:
        """A text as a whole: the mean of its windows."""
        windows = self.windows(text, before)
        if len(windows) == 1:
            return windows[0]
        meaning = of_length_one(np.sum([one.meaning for one in windows], axis=0, keepdims=True))[0]
        sums = {name: sum(one.sums[name] for one in windows) / len(windows) for name in self.description.heads}
        return TextReading(meaning=meaning, sums=sums, whole=np.mean([one.whole for one in windows], axis=0))

    def meanings(self, lines: Sequence[str]) -> UnitRows:
        """A row for each line of a knowledge base; those that came with the model are not read again."""
        rows, missing = self.known.of(lines)
        for at in missing:
            rows[at] = in_whole_numbers(self.read(lines[at]).meaning[None])[0]
        return UnitRows.of(rows)

    def _read(self, text: str, before: str) -> tuple[TextReading, ...]:
        said = self._cut(text)
        earlier = [*self._cut(before)[-BEFORE:], self.description.end] if before else []
        step = WINDOW - OVERLAP
        starts = range(0, max(1, len(said) - OVERLAP), step)[:MOST]
        return tuple(self._window([*self.description.lead, *earlier, *said[at : at + WINDOW]]) for at in starts)

    def _cut(self, text: str) -> list[int]:
        found: list[int] = self.pieces.encode(text)
        return found

    def _window(self, pieces: Sequence[int]) -> TextReading:
        at = np.array([*pieces, self.description.end])
        rows = self.rows[at].astype(np.float32) * self.scales[at, None]
        meaning, sums, whole = self.session.run(None, {"rows": rows})
        told = dict(zip(self.description.heads, map(float, sums), strict=True))
        return TextReading(meaning=meaning, sums=told, whole=whole)


@dataclass(frozen=True, kw_only=True)
class KnownLines:
    """Lines of our own knowledge bases that were read when the model was made: `keys`, ascending, and a row each in a file, which
    is looked into where lines are asked for, and not kept."""

    keys: NDArray[np.uint64] = field(repr=False)
    dims: int
    file: Path

    @classmethod
    def load(cls, folder: Path, dims: int) -> KnownLines:
        """Read the keys; raises OSError or ValueError."""
        made = cls(keys=np.load(folder / "lines.npy"), dims=dims, file=folder / "line_rows.npy")
        if made._rows().shape != (len(made.keys), dims):
            raise ValueError("the known lines are not whole")
        return made

    @classmethod
    def none(cls, dims: int) -> KnownLines:
        """No line."""
        return cls(keys=np.zeros(0, dtype=np.uint64), dims=dims, file=Path())

    def of(self, lines: Sequence[str]) -> tuple[NDArray[np.int8], list[int]]:
        """A row for each line, of zeros where it is not known; and the places of these."""
        found = np.zeros((len(lines), self.dims), dtype=np.int8)
        if not len(lines) or not len(self.keys):
            return found, list(range(len(lines)))
        keys = np.array([key_of(line) for line in lines], dtype=np.uint64)
        at = places_in(self.keys, keys)
        there = at >= 0
        found[there] = self._rows()[at[there]]
        return found, np.flatnonzero(~there).tolist()

    def _rows(self) -> NDArray[np.int8]:
        rows: NDArray[np.int8] = np.load(self.file, mmap_mode="r")
        return rows


def key_of(line: str) -> int:
    """What stands for a line: eight bytes of its hash."""
    return int.from_bytes(blake2b(line.encode(), digest_size=8).digest(), "big")
