"""Everything that can go wrong, as one tree.

CafiError
├── ConfigurationError          a file, key or value of the operator's is wrong; names file, key and remedy
│   ├── KnowledgeBaseError      a source or manifest cannot be used
│   ├── PromptError             a prompt template cannot be loaded or rendered
│   └── RuleError               a rule file cannot be used
├── EventRefused                a feedback event holds something that its allow-list does not
├── StorageError                what is kept between turns cannot be read or written
│   ├── StorageUnavailable      the database is full, locked, read-only or away; it may come back
│   ├── StorageDamaged          the database is no database any more, or of another version
│   ├── StaleState              somebody else has written the same chat in the meantime
│   └── SealBroken              sealed state does not open: other secret, other chat, or changed
└── ModelError                  a call to a language model gave no usable result
    ├── ModelUnavailable        the model cannot be reached: connection, time-out, quota, server error
    │   └── ModelMisconfigured  it answers, but key, model name or address are wrong
    │       └── PromptTooLong   it answers, but reads no prompt as long as this one
    ├── ModelDeclined           the model or its provider refused to answer
    ├── ModelOutputError        the answer is cut off, empty or not of the form that was asked for
    └── BudgetExceeded          the turn has used up its calls, seconds or tokens

The docstring of a class is its default message. Messages never carry what a user or a model wrote.
"""

from __future__ import annotations

import inspect
from pathlib import Path


class CafiError(Exception):
    """CAFI could not go on."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or inspect.cleandoc(type(self).__doc__ or ""))


class ConfigurationError(CafiError):
    """The configuration cannot be used."""

    def __init__(
        self,
        message: str | None = None,
        *,
        file: Path | str | None = None,
        line: int | None = None,
        key: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.file, self.line, self.key, self.remedy = file, line, key, remedy
        self.problem = message or inspect.cleandoc(type(self).__doc__ or "")
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        place = "" if self.file is None else f"{self.file}:{self.line}" if self.line else f"{self.file}"
        where = ": ".join(part for part in (place, self.key or "") if part)
        text = f"{where}: {self.problem}" if where else self.problem
        return f"{text} {self.remedy}" if self.remedy else text


class KnowledgeBaseError(ConfigurationError):
    """The knowledge base cannot be used."""


class PromptError(ConfigurationError):
    """A prompt template cannot be used."""


class RuleError(ConfigurationError):
    """A rule file cannot be used."""


class EventRefused(CafiError):
    """A feedback event names something that is not on its allow-list."""


class StorageError(CafiError):
    """What is kept between turns cannot be read or written."""


class StorageUnavailable(StorageError):
    """The database cannot be reached or written at the moment."""


class StorageDamaged(StorageError):
    """The database is damaged."""


class StaleState(StorageError):
    """The chat was written by somebody else in the meantime."""


class SealBroken(StorageError):
    """Sealed state does not open."""


class ModelError(CafiError):
    """The language model gave no usable answer."""


class ModelUnavailable(ModelError):
    """The language model cannot be reached."""

    def __init__(self, message: str | None = None, *, retry_after: float | None = None, lasting: bool = False) -> None:
        """`retry_after`: the seconds its server asks to wait. `lasting`: until somebody mends a key, a name or an account."""
        self.retry_after, self.lasting = retry_after, lasting
        super().__init__(message)


class ModelMisconfigured(ModelUnavailable):
    """The language model's address, key or name is wrong."""


class PromptTooLong(ModelMisconfigured):
    """The prompt is longer than the language model reads."""


class ModelDeclined(ModelError):
    """The language model or its provider refused to answer."""


class ModelOutputError(ModelError):
    """The language model's answer is cut off, empty or not of the form asked for."""


class BudgetExceeded(ModelError):
    """The turn has used up its budget of model calls, seconds or tokens."""
