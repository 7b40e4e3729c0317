"""Where CAFI's own data lies: in the repository, or beside the package in an installed wheel."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def data_root() -> Path:
    """The folder that holds `config`, `prompts` and `knowledge_base`."""
    packaged = Path(str(files("bots"))) / "_data"
    return packaged if packaged.is_dir() else Path(__file__).resolve().parent.parent
