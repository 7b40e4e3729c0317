"""Vectors of texts kept on the disk, one file a key."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adapters.storage.private_files import make_private_folder
from engine import Floats


@dataclass(frozen=True, slots=True)
class VectorFiles:
    """A cache in a folder that is made when it is first written to. Nothing in it is ever missed for good."""

    folder: Path

    def read(self, key: str) -> Floats | None:
        """The vectors under a key; None where there are none or the file is broken."""
        try:
            with (self.folder / f"{key}.npy").open("rb") as file:
                found = np.load(file, allow_pickle=False)
        except Exception:  # numpy raises errors of many kinds for a broken file
            return None
        return found if isinstance(found, np.ndarray) and found.dtype == np.float32 else None

    def write(self, key: str, vectors: Floats) -> None:
        """Keep vectors; the file is there as a whole or not at all, and a folder that cannot be written to is let be."""
        with suppress(OSError):
            make_private_folder(self.folder)
            handle, name = tempfile.mkstemp(dir=self.folder, suffix=".tmp")
            try:
                with os.fdopen(handle, "wb") as file:
                    np.save(file, vectors, allow_pickle=False)
                Path(name).replace(self.folder / f"{key}.npy")
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
