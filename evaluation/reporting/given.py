"""What a report is made from: files of the laboratory's other commands, checked and held against each other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from engine import ConfigurationError, read_text
from evaluation.calibration.gate import Bars
from evaluation.facilitating.design import digest
from evaluation.facilitating.specificity import SpecificityReport
from evaluation.forms import misfit
from evaluation.rating.published import is_published, parse_published, score_published
from evaluation.rating.ratings import Rating, read_ratings
from evaluation.rating.scoring import Scoring, score_ratings
from evaluation.reporting.measured import Calibration, SharedCriticism
from evaluation.simulating.personas import SHIPPED, Persona, choose_personas
from evaluation.transcripts import Response, read_transcripts

FormT = TypeVar("FormT", bound=BaseModel)
_SCORES = "Name a file of `cafi eval rate`, or a published table."
_CALIBRATION = "Name a file with what `cafi eval calibrate --json` printed."
_SPECIFICITY = "Name a file that `cafi eval specificity --out` has written."


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulationRun:
    """A run of personas; `changed` are those whose file is another one than in the run."""

    responses: tuple[Response, ...]
    personas: tuple[Persona, ...]
    changed: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Given:
    """Everything that was read; what was not given is None or empty. `score` is as of `eval score`."""

    responses: tuple[Response, ...] = ()
    single: tuple[Rating, ...] = ()
    score: dict[str, Any] | None = None
    calibration: Calibration | None = None
    bars: Bars | None = None
    specificity: SpecificityReport | None = None
    shared: SharedCriticism | None = None
    simulation: SimulationRun | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """The files and folders that a report is to be made from."""

    transcripts: tuple[Path, ...] = ()
    ratings: Path | None = None
    calibration: Path | None = None
    bars: Path | None = None
    specificity: Path | None = None
    simulation: Path | None = None
    personas: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file and folder that is named."""
        one_each = (self.ratings, self.calibration, self.bars, self.specificity, self.simulation, self.personas)
        return (*self.transcripts, *(one for one in one_each if one is not None))


def read(named: Named, scoring: Scoring) -> Given:
    """Read and check everything; raises ConfigurationError for the first that cannot be used."""
    responses = read_responses(named.transcripts)
    single, score = read_scores(named.ratings, responses, scoring) if named.ratings else ((), None)
    specificity, shared = read_specificity(named.specificity) if named.specificity else (None, None)
    return Given(
        responses=responses,
        single=single,
        score=score,
        calibration=read_calibration(named.calibration) if named.calibration else None,
        bars=Bars.read(named.bars) if named.bars else None,
        specificity=specificity,
        shared=shared,
        simulation=read_simulation(named.simulation, named.personas) if named.simulation else None,
    )


def read_responses(places: Sequence[Path]) -> tuple[Response, ...]:
    """The responses of all folders; raises ConfigurationError for one that stands in two of them."""
    seen: dict[str, Path] = {}
    found: list[Response] = []
    for place in places:
        for one in read_transcripts(place):
            if one.response_id in seen:
                problem = f"The response {one.response_id!r} is in {seen[one.response_id]} too."
                raise ConfigurationError(problem, file=place, remedy="Name each folder once.")
            seen[one.response_id] = place
            found.append(one)
    return tuple(found)


def read_scores(
    path: Path, responses: Sequence[Response], scoring: Scoring
) -> tuple[tuple[Rating, ...], dict[str, Any]]:
    """The single ratings and the score; raises ConfigurationError where they are not of these responses."""
    text = read_text(path, remedy=_SCORES)
    if is_published(text):
        if responses:
            problem = "A published table holds no ratings of these transcripts."
            raise ConfigurationError(problem, file=path, remedy="Report on it without --transcripts.")
        return (), score_published(parse_published(text, path), scoring)
    ratings = read_ratings(path)
    if not ratings:
        raise ConfigurationError("There are no ratings.", file=path, remedy=_SCORES)
    if responses:
        lines = [at for at, line in enumerate(text.split("\n"), start=1) if line.strip()]
        _belonging(path, list(zip(lines, ratings, strict=True)), responses)
    return tuple(ratings), score_ratings(ratings, scoring)


def _belonging(path: Path, ratings: Sequence[tuple[int, Rating]], responses: Sequence[Response]) -> None:
    places = {one.response_id: one.place for one in responses}
    runs = sorted({one.run for one in responses})
    for line, one in ratings:
        place = (one.run, one.role, one.arm, one.conversation, one.query)
        if one.run not in runs:
            problem = f"It rates a response of the run {one.run!r}; the transcripts hold {', '.join(runs)}."
            raise ConfigurationError(problem, file=path, line=line, remedy="Name the transcripts that were rated.")
        if one.response_id not in places:
            problem = f"The response {one.response_id!r} is in no transcript."
            raise ConfigurationError(problem, file=path, line=line, remedy="Name the transcripts that were rated.")
        if places[one.response_id] != place:
            problem = f"The response {one.response_id!r} stands elsewhere in the transcripts."
            raise ConfigurationError(problem, file=path, line=line, remedy="Restore the ratings as they were imported.")


def read_calibration(path: Path) -> Calibration:
    """What `eval calibrate --json` printed; raises ConfigurationError."""
    return _validated(_document(path, _CALIBRATION), Calibration, path, _CALIBRATION)


def read_specificity(path: Path) -> tuple[SpecificityReport, SharedCriticism | None]:
    """A kept report, and how far raters agree where `--json` was kept instead; raises ConfigurationError."""
    value = _document(path, _SPECIFICITY)
    shared = value.pop("agreement", None)
    report = _validated(value, SpecificityReport, path, _SPECIFICITY)
    return report, None if shared is None else _validated(shared, SharedCriticism, path, _SPECIFICITY)


def read_simulation(folder: Path, personas: Path | None) -> SimulationRun:
    """The run of a folder with its personas; raises ConfigurationError for a persona that nobody describes."""
    responses = read_transcripts(folder)
    known = {one.id: one for one in choose_personas("all", personas or SHIPPED)}
    held = list(dict.fromkeys(one.role for one in responses))
    absent = [name for name in held if name not in known]
    if absent:
        raise ConfigurationError(
            f"There is no persona {absent[0]!r}.",
            file=folder,
            remedy="Name a folder of `cafi eval simulate`, and with --personas-from the personas it was held with.",
        )
    began = folder / "run.json"
    digests = _document(began, "Restore it.").get("personas", {}) if began.is_file() else {}
    changed = tuple(name for name in held if name in digests and digests[name] != _digest(known[name]))
    return SimulationRun(responses=tuple(responses), personas=tuple(known[name] for name in held), changed=changed)


def _digest(persona: Persona) -> str:
    return digest([persona.model_dump_json()])


def _document(path: Path, remedy: str) -> dict[str, Any]:
    try:
        value = json.loads(read_text(path, remedy=remedy))
    except (ValueError, RecursionError):
        raise ConfigurationError("The file is not JSON.", file=path, remedy=remedy) from None
    if not isinstance(value, dict):
        raise ConfigurationError("The file holds no JSON object.", file=path, remedy=remedy)
    return value


def _validated(value: Any, form: type[FormT], path: Path, remedy: str) -> FormT:
    try:
        # As JSON: strict forms take lists for tuples only from there.
        return form.model_validate_json(json.dumps(value))
    except ValidationError as error:
        raise misfit(error, path, remedy=remedy) from None
