"""What files hold is read once in a run of the tests: hundreds of them compose the whole program from the same files.

Kept by content, so that a test that writes a file of its own reads what it wrote. Nothing here is left out or made up: each
value is what the program itself made of the same bytes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

from bots.paths import data_root
from engine import prompts
from engine.language.centroids import Centroids, LabelledText
from engine.language.encoder import TextEncoder

T = TypeVar("T")
ENCODER = data_root() / "config" / "encoder"
FEW = 500
"""Fewer texts are counted in no time, and many tests have some of their own."""
MOST = 600
"""So many values of a kind are kept."""


@contextmanager
def read_once() -> Iterator[None]:
    """As long as this is open: YAML, prompts, the encoder and what the lines of a search have in common."""
    load, template, encoder, build = yaml.load, prompts.read_template, TextEncoder.load, Centroids.build
    # What they say of themselves stays, as reference pages are made of it.
    as_encoder, as_build = wraps(vars(TextEncoder)["load"].__func__), wraps(vars(Centroids)["build"].__func__)
    values, templates, encoders, searches = Kept(), Kept(), Kept(), Kept()

    def of_yaml(stream: Any, Loader: Any) -> Any:  # noqa: N803 - PyYAML's name for it
        if not isinstance(stream, str):
            return load(stream, Loader=Loader)
        # Each reader gets its own: what was read may be changed.
        return pickle.loads(values.of((stream, Loader), lambda: pickle.dumps(load(stream, Loader=Loader))))  # noqa: S301

    def of_template(path: Path) -> Any:
        return templates.of((path, path.read_bytes() if path.is_file() else None), lambda: template(path))

    @as_encoder
    def of_encoder(cls: type[TextEncoder], folder: Path, *, known: bool = True) -> TextEncoder:
        files = _files(folder)
        place = ENCODER if files == _files(ENCODER) else folder  # a copy may be gone before what was read from it
        return encoders.of((place, known, files), lambda: encoder(place, known=known))

    @as_build
    def of_texts(
        cls: type[Centroids],
        texts: Sequence[LabelledText],
        size: int,
        encoder: TextEncoder | None = None,
        language: str = "english",
    ) -> Centroids:
        if len(texts) < FEW:
            return build(texts, size, encoder, language)
        # The encoder stays with what was made, so that no other one takes its place in memory.
        return searches.of((tuple(texts), size, id(encoder), language), lambda: build(texts, size, encoder, language))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml, "load", of_yaml)
        patch.setattr(prompts, "read_template", of_template)
        patch.setattr(TextEncoder, "load", classmethod(of_encoder))
        patch.setattr(Centroids, "build", classmethod(of_texts))
        yield


def _files(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Names, times and sizes, which copies of our own files share."""
    return tuple((one.name, (stat := one.stat()).st_mtime_ns, stat.st_size) for one in sorted(folder.glob("*")))


class Kept:
    """The last values that were made, by what they were made of."""

    def __init__(self) -> None:
        self.values: dict[Hashable, Any] = {}

    def of(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of a key, made where it is not there; what raises is tried again."""
        if key not in self.values:
            if len(self.values) >= MOST:
                del self.values[next(iter(self.values))]
            self.values[key] = make()
        value: T = self.values[key]
        return value
