"""From a manual to a folder of draft sources: the steps of `cafi kb import` in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bots.compose import Application
from bots.importing.drafts import Draft, draft_all, slug
from bots.importing.folder import check_free, write_folder
from bots.importing.language import ENGLISH, UNKNOWN, guess
from bots.importing.lay_words import add_lay_words
from bots.importing.reading import read_documents
from bots.importing.sections import divide
from bots.progress import progress
from engine.models.calling import PromptedModel

MARKED = "Unreviewed draft, imported by a program. Nobody has checked these texts."
"""Shown to users beside the sources until somebody takes it out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """What was written where. `kept` is the folder that was there before, under its new name."""

    folder: Path
    drafts: tuple[Draft, ...]
    language: str
    warnings: tuple[str, ...]
    kept: Path | None


async def import_manual(running: Application, path: Path, folder: Path, *, force: bool = False) -> Imported:
    """Read, divide, draft and write; raises ConfigurationError or ModelError with nothing written.

    `folder` is absolute, so that its name and the folder it lies in are known.
    """
    check_free(folder, force=force)
    documents = read_documents(path)
    drafts = draft_all((section for document in documents for section in divide(document)), running.stakes)
    language = guess("\n".join(document.text for document in documents))
    warnings = [warning for document in documents for warning in document.warnings]
    if language != ENGLISH:
        named = "no language known here" if language == UNKNOWN else f"the language {language!r}"
        warnings.append(f"The text is in {named}, not English: search and checks of the prose are made for English.")
    if running.chat_model is not None:
        drafts = await _with_lay_words(running, drafts)
        failed = sum(not draft.by_model for draft in drafts)
        warnings += [f"The model drafted nothing usable for {failed} of {len(drafts)} sources."] if failed else []
    manifest = _manifest(folder, documents[0].title, path.name, language, by_model=any(one.by_model for one in drafts))
    kept = write_folder(folder, drafts, manifest, path.name)
    return Imported(folder=folder, drafts=tuple(drafts), language=language, warnings=tuple(warnings), kept=kept)


async def _with_lay_words(running: Application, drafts: list[Draft]) -> list[Draft]:
    assert running.chat_model is not None  # noqa: S101 -- the caller has looked
    prompted = PromptedModel(model=running.chat_model, template=running.importer_prompt)
    with progress("drafts", len(drafts)) as step:
        settings = running.settings
        return await add_lay_words(drafts, prompted, budget=settings.budget, parallel=settings.parallel, step=step)


def _manifest(folder: Path, title: str, origin: str, language: str, *, by_model: bool) -> dict[str, object]:
    drafted = " Summaries and questions were drafted by a language model." if by_model else ""
    return {
        "name": slug(folder.name) or "manual",
        "title": title,
        "language": language,
        "description": f"Imported from {origin}.",
        "clinical_review": "none",
        "notice": MARKED + drafted,
        "draft": True,
    }


def imported_lines(found: Imported) -> Iterator[str]:
    """What there is now, and what to do next."""
    for draft in found.drafts:
        high = "  (high stakes)" if draft.topics else ""
        yield f"{draft.id}  {draft.words} words  {draft.title}{high}"
    if found.kept is not None:
        yield f"What was in the folder before is now in {found.kept}."
    count = "1 draft source" if len(found.drafts) == 1 else f"{len(found.drafts)} draft sources"
    yield f"{count} in {found.folder}. Nobody has checked what is in them."
    yield f"Next: cafi kb lint --kb {found.folder}"


def imported_document(found: Imported) -> dict[str, Any]:
    """The same for JSON."""
    return {
        "folder": str(found.folder),
        "language": found.language,
        "sources": [
            {
                "id": one.id,
                "title": one.title,
                "words": one.words,
                "stakes": "high" if one.topics else "normal",
                "questions": len(one.questions),
                "by_model": one.by_model,
            }
            for one in found.drafts
        ],
        "warnings": list(found.warnings),
        "kept": None if found.kept is None else str(found.kept),
    }
