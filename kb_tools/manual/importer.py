"""From a manual to a folder of draft sources: the steps of `cafi kb import` in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine import Budget, ConfigurationError, PromptedModel, Stakes
from kb_tools.manual.drafts import SourceDraft, draft_all, slug
from kb_tools.manual.file import read_documents
from kb_tools.manual.folder import check_free, write_folder
from kb_tools.manual.language import ENGLISH, UNKNOWN, guess
from kb_tools.manual.lay_words import add_lay_words
from kb_tools.manual.sections import divide
from kb_tools.progress import Progress, unseen

MARKED = "Unreviewed draft, imported by a program. Nobody has checked these texts."
"""Shown to users beside the sources until somebody takes it out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """What was written where. `kept` is the folder that was there before, under its new name."""

    folder: Path
    drafts: tuple[SourceDraft, ...]
    language: str
    warnings: tuple[str, ...]
    kept: Path | None


@dataclass(frozen=True, kw_only=True)
class ManualImporter:
    """Makes drafts of manuals; with `prompted`, a model drafts summaries and questions, so many at a time."""

    stakes: Stakes
    prompted: PromptedModel | None = None
    budget: Budget
    parallel: int
    progress: Progress = unseen

    async def run(self, path: Path, folder: Path, *, force: bool = False) -> Imported:
        """Read, divide, draft and write; raises ConfigurationError or ModelError with nothing written.

        `folder` is absolute, so that its name and the folder it lies in are known.
        """
        check_free(folder, force=force)
        try:
            documents = read_documents(path, self.progress)
            language = guess("\n".join(document.text for document in documents))
        except ImportError as error:
            raise ConfigurationError(
                "What reads manuals is not installed.", file=path, remedy="Install cafi[import]."
            ) from error
        drafts = draft_all((section for document in documents for section in divide(document)), self.stakes)
        warnings = [warning for document in documents for warning in document.warnings]
        if language != ENGLISH:
            named = "no language known here" if language == UNKNOWN else f"the language {language!r}"
            warnings.append(
                f"The text is in {named}, not English: search and checks of the prose are made for English."
            )
        if self.prompted is not None:
            with self.progress("drafts", len(drafts)) as step:
                drafts = await add_lay_words(
                    drafts, self.prompted, budget=self.budget, parallel=self.parallel, step=step
                )
            failed = sum(not draft.by_model for draft in drafts)
            warnings += [f"The model drafted nothing usable for {failed} of {len(drafts)} sources."] if failed else []
        by_model = any(one.by_model for one in drafts)
        manifest = _manifest(folder, documents[0].title, path.name, language, by_model=by_model)
        kept = write_folder(folder, drafts, manifest, path.name)
        return Imported(folder=folder, drafts=tuple(drafts), language=language, warnings=tuple(warnings), kept=kept)


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
