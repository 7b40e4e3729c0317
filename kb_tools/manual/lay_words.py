"""Summaries and lay questions drafted by a language model, for a person to go over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from pydantic import BaseModel, Field

from engine import Budget, Ledger, ModelError, ModelMisconfigured, PromptedModel
from kb_tools.manual.blocks import plain
from kb_tools.manual.drafts import LONGEST_LINE, MOST_LINES, SourceDraft, with_lay_words

GIVEN = frozenset(("sources",))
"""The variables that the prompt `import_source` may ask for."""
MOST_QUESTIONS = 15


class ImportedSource(BaseModel):
    """What the importer answers."""

    summary: list[str] = Field(description="three to five short lines: what the text answers")
    questions: list[str] = Field(description="eight to fifteen questions in lay words that the text answers")


async def add_lay_words(
    drafts: Sequence[SourceDraft],
    prompted: PromptedModel,
    *,
    budget: Budget,
    parallel: int,
    step: Callable[[], None] = lambda: None,
) -> list[SourceDraft]:
    """Every draft with a model's summary and questions; a draft that the model fails on stays as it is.

    Raises ModelMisconfigured, since then no call would succeed.
    """
    gate = asyncio.Semaphore(parallel)

    async def one(draft: SourceDraft) -> SourceDraft:
        async with gate:
            try:
                variables = {"sources": [{"title": draft.title, "text": draft.text}]}
                found = await prompted.answer(variables, ImportedSource, Ledger(budget=budget))
            except ModelMisconfigured:
                raise
            except ModelError:
                return draft
            finally:
                step()
            return with_lay_words(draft, _lines(found.summary, MOST_LINES), _lines(found.questions, MOST_QUESTIONS))

    return list(await asyncio.gather(*map(one, drafts)))


def _lines(texts: Iterable[str], most: int) -> list[str]:
    """One line each, without brackets or list marks, none twice, none longer than a line of the summary may be."""
    tidy = (plain(text).lstrip("-*• ") for text in texts)
    return [one for one in dict.fromkeys(tidy) if one and len(one) <= LONGEST_LINE][:most]
