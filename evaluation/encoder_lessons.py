"""Teaches the small language model that reads messages, and writes it to `config/encoder`, once, in development.

    python -m evaluation.encoder_lessons TEACHER.bin --state STATE.pt --steps 900 [--without 23,24] [--begin STATE] [--often 25]

Half of the teacher's layers learn at once to tell danger and kinds of messages, to bring messages and lines near the section or
subject of the service that they belong to, in whichever of five languages, and to stay like the teacher. With `--without` the
messages of some authors are kept out, and the sums of the heads on them are written beside the state: thresholds and weights are
chosen by these. `--begin`: go on from a state, or from an `encoder.onnx`; `--often`: authors who come up more often; `--average`:
end between what was learnt, which counts `--share`, and an earlier state (Wortsman et al. 2022, arXiv 2203.05482). Needs torch
and onnx, which the project itself does not; `config/encoder/README.md` is the record.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from sentencepiece import SentencePieceProcessor
from torch import nn
from torch.nn import functional

from engine import (
    DANGER_HEADS,
    ENCODER_BEFORE,
    ENCODER_HEADS,
    ENCODER_OUTPUTS,
    ENCODER_WINDOW,
    KIND_HEADS,
    MESSAGE_KINDS,
    EncoderDescription,
    SectionSearch,
    legible,
    said_before,
    sentences,
)
from evaluation import resolution_fit, situation_fit
from evaluation.encoder_lines import distinct_lines, own_lines, write_known
from evaluation.encoder_teacher import Exported, Floats, Student, Teacher, state_of
from evaluation.kind_heads import HEAVY, NAMES, SOCIAL_SUBJECTS
from evaluation.meaning_lessons import rows_in
from evaluation.natural_messages import DATA, read_messages
from evaluation.section_fusion import (
    base,
    in_language,
    in_other_languages,
    kept_out,
    natural,
    places_in,
)
from evaluation.urgency import read_messages as read_urgency
from evaluation.urgency_augmentation import mistyped
from evaluation.urgency_training import PLAIN, RESPONSES, Labelled, labelled, training_files, weight_of

proto: Any = import_module("sentencepiece.sentencepiece_model_pb2")  # made by protobuf, without types

HEADS = ("meaning", "sums", "labels")
ROOT = Path(__file__).parents[1]
OUT = ROOT / "config" / "encoder"
NAME = "cafi-encoder-1"
LAYERS = (0, 2, 4, 7, 9, 11)
DIMS = 128
PIECES = 40_000
DROPPED = 0.1
MESSAGES, BELONGING, ANSWERS, AT_ONCE = 44, 64, 14, 16
"""Messages a step whose danger is learnt, texts that are brought near a label, what follows a danger that was told, and texts
that are read at once."""
OFTEN = 3
"""How often a message of an author who is to come up more often is there, for once of any other."""
PLAIN_TIMES = 2
"""How often a message of the short plain pairs, or an answer to the check question, comes up for once of any other: danger said
in few words is missed most."""
SERVICE_TIMES = 4
"""The same for a question about the service that was typed in mid-chat: there it is missed most."""
AWAY_TIMES = 4
"""The same for what is about something else in the middle of a chat."""
BEGUN_WITH = 24
"""So many texts of a label say where it begins."""
HEAT = 18.0
"""How sharply the likeness to one label is told from that to others."""
RATE, HEAD_RATE, WARM = 1e-4, 1.5e-3, 60
SHARES = {"danger": 1.0, "kinds": 0.5, "teacher": 1.5, "belongs": 1.0, "settled": 0.7}
UNKNOWN = (math.nan,) * len(KIND_HEADS)
OF_NONE = tuple(0.0 if name in {"social", "service"} else math.nan for name in KIND_HEADS)
"""What is known of a line of a section: it is neither of the service nor a greeting."""
RETOLD = 0.12
NATURAL, OF_SERVICE, OFF_TOPIC, TOLD = 0.35, 0.13, 0.1, 0.25
"""The shares of natural messages, of questions about the service, of other subjects and of what people tell; the rest are
lines of sections."""


@dataclass(frozen=True)
class Taught:
    """A message and what is to be learnt from it; not a number where nobody said."""

    text: str
    before: tuple[str, ...]
    danger: tuple[float, ...]
    kinds: tuple[float, ...]
    weight: float
    lang: str
    author: str
    natural: bool
    id: str


@dataclass(frozen=True)
class Belonging:
    """A text, what was said before it, the labels that it belongs to, and its kind, not a number where nobody said."""

    text: str
    before: tuple[str, ...]
    labels: tuple[int, ...]
    kinds: tuple[float, ...] = UNKNOWN


@dataclass(frozen=True)
class Following:
    """What was said after a danger was told, and whether that is being dealt with."""

    text: str
    before: tuple[str, ...]
    settled: bool


@dataclass
class Curriculum:
    """All there is to learn from, without what some authors wrote."""

    taught: list[Taught] = field(default_factory=list)
    held: list[Taught] = field(default_factory=list)
    lines: list[Belonging] = field(default_factory=list)
    natural: list[Belonging] = field(default_factory=list)
    service: list[Belonging] = field(default_factory=list)
    away: list[Belonging] = field(default_factory=list)
    told: list[Belonging] = field(default_factory=list)
    following: list[Following] = field(default_factory=list)
    labels: int = 0

    @classmethod
    def read(cls, without: set[str], often: set[str]) -> Curriculum:
        """Everything in `evaluation/data`, the first knowledge base, the service's lines and those about other subjects."""
        made = cls()
        sorted_as: dict[str, tuple[float, ...]] = {}
        for said in read_messages("*.jsonl"):
            apart = said.file.startswith("readings")
            sorted_as[f"{said.conversation.id}.{said.at + 1}"] = _kinds(said.said, told_apart=apart)
        for path in training_files():
            times = PLAIN_TIMES if path.parent in {PLAIN, RESPONSES} else 1
            for one in labelled(read_urgency(path)):
                taught = _taught(one, sorted_as.get(one.message.id, UNKNOWN))
                if one.natural and one.author in without:
                    made.held.append(taught)
                else:
                    made.taught += [taught] * (OFTEN if one.author in often else times)
        gone = {" ".join(one.text.split()) for one in made.held}
        search = base()
        searches = {language: in_language(search, language) for language in search.knowledge.languages}
        sections = len(search.sections)
        for edition in searches.values():
            made.lines += [
                Belonging(one.text, (), (one.label,), OF_NONE) for one in edition.texts() if one.text not in gone
            ]
            made.away += [Belonging(line, (), (sections,), OF_NONE) for line in edition.elsewhere]
        asked = [*natural(search), *kept_out(search), *in_other_languages(searches, "fitted")]
        made.natural = [
            Belonging(one.text, one.earlier[-1:], tuple(sorted(one.right)))
            for one in asked
            if one.right and one.author not in without
        ]
        told = rows_in(resolution_fit.LEARNT)
        told += resolution_fit.ordinary([row["first"] for row in told])
        made.following = [Following(row["next"], (row["first"],), row["label"] == "settled") for row in told]
        made._add_asides(search, sections)
        made._add_service(sections + 1)
        made._add_told()
        return made

    def _add_asides(self, search: SectionSearch, elsewhere: int) -> None:
        """What people say in the middle of a chat: for one section, or about something else."""
        places = places_in(search)
        for row in rows_in(DATA / "sections" / "written"):
            if row["section"] in places:
                label = (places[row["section"]],)
                self.natural.append(Belonging(row["text"], tuple(row["before"]), label, OF_NONE))
        for row in rows_in(DATA / "scope" / "learnt"):
            if not row["here"]:
                self.away += [Belonging(row["text"], tuple(row["before"]), (elsewhere,), OF_NONE)] * AWAY_TIMES

    def _add_service(self, first: int) -> None:
        """The questions about the service."""
        subjects: dict[str, int] = {}
        for path in sorted((DATA / "service").glob("*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                subject = row["subject"]
                label = (first + subjects.setdefault(subject, len(subjects)),) if subject else ()
                kind = "social" if subject in SOCIAL_SUBJECTS else "service" if subject else ""
                kinds = tuple(float(name == kind) if name in MESSAGE_KINDS else math.nan for name in KIND_HEADS)
                one = Belonging(row["text"], tuple(row.get("before", ())), label, kinds if kind else OF_NONE)
                self.service += [one] * (SERVICE_TIMES if path.stem == "natural" else 1)
        self.labels = first + len(subjects)

    def _add_told(self) -> None:
        """What people tell who ask nothing, by situation."""
        number = {name: self.labels + at for at, name in enumerate(situation_fit.known())}
        for text, earlier, names in situation_fit.remarks():
            if names:
                before = tuple(one.content for one in earlier)
                self.told.append(Belonging(text, before, tuple(number[name] for name in names)))
        self.labels += len(number)


def _kinds(said: Mapping[str, Any], *, told_apart: bool) -> tuple[float, ...]:
    """What a reader said of a message's kind and tone; `told_apart`: in the words of the later readers."""
    kind, tone = NAMES[said["kind"]], said.get("tone", "")
    weighs = float(tone == HEAVY) if tone and told_apart else math.nan
    return tuple(float(name == kind) if name in MESSAGE_KINDS else weighs for name in KIND_HEADS)


def _taught(one: Labelled, kinds: tuple[float, ...]) -> Taught:
    return Taught(
        text=one.message.message,
        before=said_before(one.message.earlier),
        danger=tuple(float(one.wanted.get(name, math.nan)) for name in DANGER_HEADS),
        kinds=kinds,
        weight=weight_of(one),
        lang=one.message.lang,
        author=one.author,
        natural=one.natural,
        id=one.message.id,
    )


def pieces_model(teacher: Teacher) -> bytes:
    """The pieces in the form that sentencepiece reads."""
    model = proto.ModelProto()
    kinds = {0: proto.ModelProto.SentencePiece.CONTROL, 1: proto.ModelProto.SentencePiece.CONTROL}
    kinds |= {2: proto.ModelProto.SentencePiece.CONTROL, 3: proto.ModelProto.SentencePiece.UNKNOWN}
    for at, (piece, score) in enumerate(zip(teacher.pieces, teacher.scores, strict=True)):
        model.pieces.add(piece=piece, score=float(score), type=kinds.get(at, proto.ModelProto.SentencePiece.NORMAL))
    model.trainer_spec.model_type = proto.TrainerSpec.UNIGRAM
    model.trainer_spec.bos_id, model.trainer_spec.pad_id, model.trainer_spec.eos_id = 0, 1, 2
    model.trainer_spec.unk_id = 3
    model.trainer_spec.bos_piece, model.trainer_spec.pad_piece = teacher.pieces[0], teacher.pieces[1]
    model.trainer_spec.eos_piece, model.trainer_spec.unk_piece = teacher.pieces[2], teacher.pieces[3]
    model.normalizer_spec.name = "identity"
    model.normalizer_spec.add_dummy_prefix = model.normalizer_spec.remove_extra_whitespaces = True
    content: bytes = model.SerializeToString()
    return content


class PieceCutter:
    """Texts as pieces, as `TextEncoder` cuts them."""

    def __init__(self, model: bytes) -> None:
        self.pieces = SentencePieceProcessor(model_proto=model)
        self.lead, self.end = [0, *self.pieces.encode("query:")], 2

    def cut(self, text: str, before: Sequence[str] = (), most: int = ENCODER_WINDOW) -> list[int]:
        """One window of a text."""
        said = self.pieces.encode(legible(text))[:most]
        earlier = [*self.pieces.encode(legible("\n".join(before)))[-ENCODER_BEFORE:], self.end] if before else []
        return [*self.lead, *earlier, *said, self.end]


def padded(cut: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Texts of one length, and where they are not filled."""
    length = max(map(len, cut))
    places = torch.ones(len(cut), length, dtype=torch.long)
    mask = torch.zeros(len(cut), length, dtype=torch.bool)
    for at, one in enumerate(cut):
        places[at, : len(one)], mask[at, : len(one)] = torch.tensor(one), True
    return places, mask


def read(student: Student, cut: Sequence[Sequence[int]], dropped: float) -> torch.Tensor:
    """The mean of each text's pieces; texts of like length are read together."""
    order = sorted(range(len(cut)), key=lambda at: len(cut[at]))
    found = []
    for first in range(0, len(order), AT_ONCE):
        places, mask = padded([cut[at] for at in order[first : first + AT_ONCE]])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found.append(student(student.word(places), mask, dropped).float())
    back = [0] * len(order)
    for place, at in enumerate(order):
        back[at] = place
    return torch.cat(found)[back]


def changed(text: str, around: Sequence[Taught], dice: random.Random) -> str:
    """Now and then a text as it might as well have been typed, or told in the middle of harmless ones."""
    chance = dice.random()
    if chance < RETOLD:
        other = list(sentences(dice.choice(around).text))
        at = dice.randrange(len(other) + 1)
        return " ".join([*other[:at], text, *other[at:]])
    if chance < 2 * RETOLD:
        return mistyped(text, dice)
    return text.replace("?", "") if chance < 2.5 * RETOLD else text


class Lessons:
    """One step after the other; `teacher`: the rows of the elder model for some texts."""

    def __init__(
        self, material: Curriculum, cutter: PieceCutter, student: Student, teacher: Callable[[Sequence[str]], Floats]
    ) -> None:
        self.material, self.cutter, self.student, self.teacher = material, cutter, student, teacher
        self.dice = random.Random(1)
        # Left behind when all is learnt: what it draws into the meaning is read there by `evaluation.resolution_fit`.
        self.settled = nn.Linear(student.place.shape[1], 1)
        self.harmless = defaultdict(list)
        for one in material.taught:
            if not one.danger[0]:
                self.harmless[one.lang].append(one)
        self._batches = self._turns()
        self._begin()

    def _begin(self) -> None:
        """Each label begins as the mean of some of its texts."""
        texts: dict[int, list[Belonging]] = defaultdict(list)
        material = self.material
        for one in (*material.lines, *material.service, *material.away, *material.told):
            if one.labels:
                texts[one.labels[0]].append(one)
        chosen = [one for some in texts.values() for one in self.dice.sample(some, min(len(some), BEGUN_WITH))]
        rows = torch.tensor(pooled_rows(self.student, [self.cutter.cut(one.text, (), 44) for one in chosen]))
        with torch.no_grad():
            meant = functional.normalize(self.student.meaning(rows), dim=1)
            owners = torch.tensor([one.labels[0] for one in chosen])
            self.student.labels.zero_().index_add_(0, owners, meant)
            self.student.labels.copy_(functional.normalize(self.student.labels, dim=1))

    def _turns(self) -> Iterator[list[int]]:
        order = list(range(len(self.material.taught)))
        while True:
            self.dice.shuffle(order)
            yield from (order[at : at + MESSAGES] for at in range(0, len(order) - MESSAGES + 1, MESSAGES))

    def step(self) -> dict[str, torch.Tensor]:
        """What is to be made less: how wrong danger and labels are told, and how far the student is from the teacher."""
        chosen = next(self._batches)
        some = [self.material.taught[at] for at in chosen]
        told = [changed(one.text, self.harmless[one.lang], self.dice) for one in some]
        belonging = [self.dice.choice(self._among()) for _ in range(BELONGING)]
        cut = [self.cutter.cut(text, one.before) for text, one in zip(told, some, strict=True)]
        for one in belonging:
            cut.append(self.cutter.cut(one.text, one.before if self.dice.random() < 0.5 else (), 56))
        following = [self.dice.choice(self.material.following) for _ in range(ANSWERS)]
        cut += [self.cutter.cut(self._typed(one.text), one.before) for one in following]
        pooled = read(self.student, cut, DROPPED)
        messages, texts = pooled[:MESSAGES], pooled[MESSAGES : MESSAGES + BELONGING]
        weights = torch.tensor([one.weight for one in some])[:, None]
        wanted = torch.tensor([one.danger for one in some])
        sums = self.student.sums(functional.dropout(pooled, DROPPED))
        danger = len(DANGER_HEADS)
        told_of = sums[:MESSAGES, :danger]
        each = (
            functional.binary_cross_entropy_with_logits(told_of, wanted.nan_to_num(), reduction="none")
            * ~wanted.isnan()
        )
        kinds = torch.tensor([*(one.kinds for one in some), *(one.kinds for one in belonging)])
        known = ~kinds.isnan()
        same = [
            at for at, (one, text) in enumerate(zip(some, told, strict=True)) if not one.before and text == one.text
        ]
        rows = functional.normalize(torch.tensor(self.teacher([told[at] for at in same])), dim=1)
        likeness = (functional.normalize(messages[same], dim=1) * rows).sum(dim=1)
        return {
            "danger": (each * weights * torch.tensor([1.0, 0.3, 0.3])).sum() / weights.sum(),
            "kinds": functional.binary_cross_entropy_with_logits(sums[: len(kinds), danger:][known], kinds[known]),
            "belongs": self._belongs(texts, [one.labels for one in belonging]),
            "teacher": (1 - likeness).mean() if same else torch.tensor(0.0),
            "settled": functional.binary_cross_entropy_with_logits(
                self.settled(pooled[-ANSWERS:])[:, 0],
                torch.tensor([float(one.settled) for one in following]),
            ),
        }

    def _typed(self, text: str) -> str:
        return mistyped(text, self.dice) if self.dice.random() < RETOLD else text

    def _among(self) -> Sequence[Belonging]:
        chance, material = self.dice.random(), self.material
        parts = (
            (NATURAL, material.natural),
            (OF_SERVICE, material.service),
            (OFF_TOPIC, material.away),
            (TOLD, material.told),
        )
        for share, some in parts:
            if chance < share:
                return some
            chance -= share
        return material.lines

    def _belongs(self, texts: torch.Tensor, labels: Sequence[tuple[int, ...]]) -> torch.Tensor:
        rows = functional.normalize(self.student.meaning(texts), dim=1)
        chances = (rows @ functional.normalize(self.student.labels, dim=1).T * HEAT).log_softmax(dim=1)
        told = [row[list(own)].logsumexp(dim=0) for row, own in zip(chances, labels, strict=True) if own]
        return -torch.stack(told).mean()

    def run(self, steps: int) -> None:
        """All steps; prints how it goes."""
        named = [(name, one) for name, one in self.student.named_parameters() if one.requires_grad]
        body = [one for name, one in named if not name.startswith(HEADS)]
        heads = [*(one for name, one in named if name.startswith(HEADS)), *self.settled.parameters()]
        groups = [{"params": body, "lr": RATE}, {"params": heads, "lr": HEAD_RATE}]
        optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
        rates, begun, average = [group["lr"] for group in optimizer.param_groups], time.monotonic(), dict[str, float]()
        self.student.train()
        for step in range(steps):
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * min(1.0, (step + 1) / WARM) * max(0.02, 1 - step / steps)
            losses = self.step()
            sum((SHARES[name] * value for name, value in losses.items()), torch.tensor(0.0)).backward()
            for name, value in losses.items():
                average[name] = 0.97 * average.get(name, value.item()) + 0.03 * value.item()
            nn.utils.clip_grad_norm_(body, 1.0)
            optimizer.step()
            optimizer.zero_grad()
            if step % 25 == 0:
                shown = {name: round(value, 3) for name, value in average.items()}
                print(step, round(time.monotonic() - begun), shown, flush=True)
        self.student.eval()


def begun(state: dict[str, torch.Tensor], student: Student) -> dict[str, torch.Tensor]:
    """What of another state a student begins with: all but words and labels, and of its heads those that were there."""
    own = student.state_dict()
    for name in ("sums.weight", "sums.bias"):
        wider = own[name].clone()
        wider[: len(state[name])] = state[name]
        state[name] = wider
    return {name: one for name, one in state.items() if not name.startswith(("word", "labels"))}


def averaged(state: dict[str, torch.Tensor], student: Student, share: float) -> dict[str, torch.Tensor]:
    """What lies between a student and another state; `share`: how much of it is the student's, from 0 to 1."""
    own = student.state_dict()
    return {name: share * own[name] + (1 - share) * one for name, one in state.items()}


def pooled_rows(student: Student, cut: Sequence[Sequence[int]]) -> Floats:
    """Rows for many texts."""
    found = np.zeros((len(cut), student.place.shape[1]), dtype=np.float32)
    order = sorted(range(len(cut)), key=lambda at: len(cut[at]))
    with torch.inference_mode():
        for first in range(0, len(order), 4 * AT_ONCE):
            some = order[first : first + 4 * AT_ONCE]
            found[some] = read(student, [cut[at] for at in some], 0.0).numpy()
    return found


def written(student: Student, model: bytes, cutter: PieceCutter, out: Path) -> None:
    """The model and what belongs to it; known lines are read by what was written."""
    from engine import TextEncoder

    out.mkdir(parents=True, exist_ok=True)
    rows = student.word.weight.detach().numpy()
    scales = np.abs(rows).max(axis=1) / 127
    np.save(out / "rows.npy", np.rint(rows / np.maximum(scales, 1e-12)[:, None]).astype(np.int8))
    np.save(out / "scales.npy", scales.astype(np.float32))
    (out / "pieces.model").write_bytes(model)
    whole = out / "whole.onnx"
    torch.onnx.export(
        Exported(student),
        (torch.tensor(rows[:24]),),
        str(whole),
        input_names=["rows"],
        output_names=list(ENCODER_OUTPUTS),
        dynamic_axes={"rows": {0: "pieces"}},
        dynamo=False,
    )
    quantize_dynamic(whole, out / "encoder.onnx", per_channel=True, weight_type=QuantType.QInt8)
    whole.unlink()
    description = EncoderDescription(name=NAME, dims=DIMS, heads=ENCODER_HEADS, lead=tuple(cutter.lead), end=cutter.end)
    (out / "encoder.json").write_text(description.model_dump_json(indent=2) + "\n", encoding="utf-8")
    write_known(TextEncoder.load(out, known=False), out, distinct_lines())


def main() -> None:
    """Teach, and write."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("teacher", type=Path)
    asked.add_argument("--steps", type=int, default=900)
    asked.add_argument("--out", type=Path, default=OUT)
    asked.add_argument("--without", default="")
    asked.add_argument("--often", default="")
    asked.add_argument("--begin", type=Path)
    asked.add_argument("--average", type=Path)
    asked.add_argument("--share", type=float, default=0.5)
    asked.add_argument("--state", type=Path, required=True)
    given = asked.parse_args()
    torch.manual_seed(1)
    whole = Teacher.load(given.teacher)
    without, often = (set(filter(None, some.split(","))) for some in (given.without, given.often))
    material = Curriculum.read(without, often)
    full = PieceCutter(pieces_model(whole))
    used = {piece for one in (*material.taught, *material.held) for piece in full.pieces.encode(legible(one.text))}
    used |= {piece for line in own_lines() for piece in full.pieces.encode(legible(line))}
    teacher = whole.with_pieces(sorted({*whole.likely(PIECES), *used, *full.lead}))
    print(len(material.taught), len(material.held), len(material.lines), len(material.natural), len(teacher.pieces))
    model = pieces_model(teacher)
    cutter = PieceCutter(model)
    elder = Student(whole, range(whole.layers), DIMS, ENCODER_HEADS, 1).eval()
    student = Student(teacher, LAYERS, DIMS, ENCODER_HEADS, material.labels)
    if given.begin is not None:
        state = state_of(given.begin) if given.begin.suffix == ".onnx" else torch.load(given.begin)
        student.load_state_dict(begun(state, student), strict=False)
    Lessons(material, cutter, student, lambda texts: pooled_rows(elder, [full.cut(one) for one in texts])).run(
        given.steps
    )
    if given.average is not None:
        student.load_state_dict(averaged(begun(torch.load(given.average), student), student, given.share), strict=False)
    torch.save(student.state_dict(), given.state)
    if material.held:
        sums = student.sums(
            torch.tensor(pooled_rows(student, [cutter.cut(one.text, one.before) for one in material.held]))
        )
        told = {one.id: row for one, row in zip(material.held, sums.tolist(), strict=True)}
        given.state.with_suffix(".held.json").write_text(json.dumps(told), encoding="utf-8")
    written(student, model, cutter, given.out)


if __name__ == "__main__":
    main()
