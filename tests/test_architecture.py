"""The house as DESIGN §1 draws it: who may import whom, and what stays out of the engine."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# What only the functions of some commands import: the folder, and the modules of `bots` with those commands.
AT_COMMAND = {
    "evaluation": ("bots/evaluating",),
    "kb_tools": ("bots/cli/kb.py", "bots/compose.py", "bots/editorial.py"),
    "rehearsal": ("bots/cli/rehearse.py",),
}
PACKAGES = ("engine", "adapters", "evaluation", "kb_tools", "rehearsal", "bots", "benchmarks", "tests")
MAY_IMPORT = {
    "engine": {"engine"},
    "adapters": {"adapters", "engine"},
    "evaluation": {"evaluation", "engine"},
    "kb_tools": {"kb_tools", "engine"},
    "rehearsal": {"rehearsal", "adapters", "engine"},
    "bots": {"bots", "adapters", "engine"},  # and others at a command: see below
}
# From the bottom to the top. A module imports only from layers above it in this list, and from its own.
ENGINE_ORDER = (
    "exceptions",
    "types",
    "proportions",
    "memo",
    "free_memory",
    "steps",
    "files",
    "settings",
    "language",
    "rules",
    "prompts",
    "texts",
    "stakes",
    "departures",
    "knowledge",
    "models",
    "retrieval",
    "urgency",
    "agent",
    "reflection",
    "judges",
    "refiner",
    "turn.conversation",
    "turn.checks",
    "turn.team",
    "turn.filter",
    "turn.attempt",
    "turn.engine",
)
# Built in parts, so that the very test that looks for them does not contain them.
REGISTRIES = tuple(".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org")))
INDEX_OPTION = re.compile(r"--(?:extra-)?index-url[= ]\S*://|^\s*index-url\s*=\s*\S*://", re.M)
SOURCE = tuple(MAY_IMPORT)
# Modules named by a gerund, because the field's own noun for the thing is one; the list does not grow beyond ten.
GERUNDS = {
    "adapters/conversation/incoming.py": "what comes in from a person, beside outgoing",
    "adapters/conversation/outgoing.py": "what goes out to a person: an outgoing message",
    "adapters/telegram_adapter/polling.py": "long polling, the Bot API's own word",
    "engine/retrieval/embedding.py": "an embedding is a vector that stands for a text",
    "engine/language/spelling.py": "the spelling of a word is a thing",
    "evaluation/rating/blinding.py": "the blinding of raters, as in trials",
    "evaluation/rating/scoring.py": "the scoring of an instrument, as in psychometrics",
    "evaluation/tone_training.py": "the training of a model, run by its name",
    "evaluation/urgency_training.py": "the training of a model, run by its name",
    "kb_tools/lint/finding.py": "a finding of a linter is a thing",
}
SKIPPED = {"__pycache__", "build", "dist", "node_modules"}


def files_of(*folders: str, suffix: str = ".py") -> list[Path]:
    """The files of some folders of the repository, sorted."""
    return sorted(
        path
        for folder in folders
        for path in (ROOT / folder).rglob(f"*{suffix}")
        if path.is_file() and not SKIPPED & set(path.parts)
    )


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imported(node: ast.AST, path: Path) -> Iterator[tuple[str, int]]:
    """Every module that a piece of code imports, with its line; relative imports are made absolute."""
    package = path.relative_to(ROOT).parts[:-1]
    for one in ast.walk(node):
        if isinstance(one, ast.Import):
            yield from ((alias.name, one.lineno) for alias in one.names)
        elif isinstance(one, ast.ImportFrom):
            base = package[: len(package) - one.level + 1] if one.level else ()
            module = ".".join((*base, *([one.module] if one.module else [])))
            yield module, one.lineno
            # `from engine import conversation` imports a module too.
            if "." not in module:
                yield from ((f"{module}.{alias.name}", one.lineno) for alias in one.names)


def test_the_folders_of_the_adapters_have_an_order() -> None:
    """Folders under `adapters` import each other in one direction: storage is below all, delivery above conversation."""
    below: dict[str, set[str]] = {}
    for path in files_of("adapters"):
        parts = path.relative_to(ROOT).parts
        if len(parts) < 3:
            continue
        folders = {name.split(".")[1] for name, _ in imported(parsed(path), path) if name.count(".") >= 2}
        below.setdefault(parts[1], set()).update(one for one in folders if (ROOT / "adapters" / one).is_dir())
    order = list(TopologicalSorter({one: found - {one} for one, found in below.items()}).static_order())
    assert below["storage"] <= {"storage"} and "delivery" not in below["conversation"]
    assert order.index("storage") < order.index("conversation") < order.index("delivery")


def is_for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def at_import_time(tree: ast.AST) -> Iterator[ast.AST]:
    """The statements that run when a module is imported: all but those in functions and for types only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or is_for_types_only(node):
            continue
        yield node
        yield from at_import_time(node)


def place(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def commands_that_import(folder: str) -> list[Path]:
    """The modules of `bots` whose functions import a folder that is for some commands only."""
    places = [ROOT / place for place in AT_COMMAND.get(folder, ())]
    return [path for path in files_of("bots") if any(one == path or one in path.parents for one in places)]


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_each_folder_imports_only_what_the_table_allows(folder: str) -> None:
    """No package of the house imports another one that the import table does not allow it."""
    allowed = MAY_IMPORT[folder]
    found = [
        f"{place(path, line)} imports {name}"
        for path in files_of(folder)
        for name, line in imported(parsed(path), path)
        if (top := name.partition(".")[0]) in PACKAGES
        and top not in allowed
        and not (folder == "bots" and path in commands_that_import(top))
    ]
    assert found == []


@pytest.mark.parametrize("folder", AT_COMMAND)
def test_bots_import_the_tools_only_when_they_are_used(folder: str) -> None:
    """`bots` imports the laboratory, the rehearsal and the tools only inside functions of their commands."""
    paths = commands_that_import(folder)
    eager = [
        f"{place(path, line)} imports {name}"
        for path in paths
        for node in at_import_time(parsed(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name, line in imported(node, path)
        if name.partition(".")[0] == folder
    ]
    assert any(name.startswith(f"{folder}.") for path in paths for name, _ in imported(parsed(path), path))
    assert eager == []


def layer(module: str) -> str | None:
    """The layer of a module of the engine; None for what is not of the engine. Each module of a turn is one."""
    first, *parts = module.split(".")
    if first != "engine" or not parts:
        return None
    return ".".join(parts[:2]) if parts[0] == "turn" else parts[0]


def layer_of(path: Path) -> str:
    return layer(".".join(path.relative_to(ROOT).with_suffix("").parts)) or ""


def test_every_layer_of_the_engine_has_its_place() -> None:
    """Every module of the engine stands in the order of layers, and the order names nothing else."""
    present = {layer_of(path) for path in files_of("engine")} - {"__init__", "turn.__init__"}
    assert present == set(ENGINE_ORDER)


def test_the_engine_imports_only_from_below() -> None:
    """Inside the engine a module imports only from earlier layers or its own."""
    found = [
        f"{place(path, line)} imports {name}"
        for path in files_of("engine")
        if not (own := layer_of(path)).endswith("__init__")
        for name, line in imported(parsed(path), path)
        if (wanted := layer(name)) is not None
        and wanted in ENGINE_ORDER
        and ENGINE_ORDER.index(wanted) > ENGINE_ORDER.index(own)
    ]
    assert found == []


@pytest.mark.parametrize("module", ["sqlalchemy", "dotenv", "telegram", "discord", "starlette", "typer"])
def test_the_engine_knows_no_platform(module: str) -> None:
    """The engine imports no platform library, no database and no command line."""
    found = [
        place(path, line)
        for path in files_of("engine")
        for name, line in imported(parsed(path), path)
        if name.partition(".")[0] == module
    ]
    assert found == []


def test_the_engine_reads_no_environment_and_prints_nothing() -> None:
    """No module of the engine touches environment variables, standard output or standard input."""
    forbidden_names = {"print", "input"}
    forbidden_attributes = {"environ", "environb", "getenv", "putenv", "stdout", "stderr", "stdin"}
    found = [
        place(path, node.lineno)
        for path in files_of("engine")
        for node in ast.walk(parsed(path))
        if (isinstance(node, ast.Name) and node.id in forbidden_names)
        or (isinstance(node, ast.Attribute) and node.attr in forbidden_attributes)
        or (isinstance(node, ast.ImportFrom) and any(one.name in forbidden_attributes for one in node.names))
    ]
    assert found == []


def test_the_engine_keeps_its_search_index_in_memory() -> None:
    """Where the engine opens SQLite, it opens `:memory:` and never a file."""
    found = [
        place(path, node.lineno)
        for path in files_of("engine")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "connect"
        and not (node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value == ":memory:")
    ]
    assert found == []


def test_the_engine_writes_no_file() -> None:
    """No module of the engine writes to the disk."""
    writers = {"write_text", "write_bytes", "mkdir", "unlink", "touch", "rename"}
    found = [
        place(path, node.lineno)
        for path in files_of("engine")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Attribute) and node.func.attr in writers)
            or (isinstance(node.func, ast.Name) and node.func.id == "open")
        )
    ]
    assert found == []


@pytest.mark.parametrize("folder", ["prompts", "config", "knowledge_base"])
def test_data_folders_hold_no_python(folder: str) -> None:
    """Prompts, configuration and knowledge bases are data and contain no Python."""
    assert (ROOT / folder).is_dir()
    assert [str(path) for ending in (".py", ".pyc", ".pyi") for path in files_of(folder, suffix=ending)] == []


def written_tests(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node


def is_one_sentence(text: str | None) -> bool:
    """Whether a docstring is one sentence: one paragraph that ends once and only at its end."""
    if not text or not text.strip() or "\n\n" in text:
        return False
    said = " ".join(text.split())
    return said.endswith((".", "!", "?")) and not re.search(r"(?<!e\.g)(?<!i\.e)(?<!etc)[.!?] [A-Z]", said)


def test_every_test_says_what_it_proves() -> None:
    """Every test function opens with a docstring of one sentence."""
    found = [
        f"{place(path, node.lineno)} {node.name}"
        for path in files_of("tests")
        if path.name.startswith("test_")
        for node in written_tests(path)
        if not is_one_sentence(ast.get_docstring(node))
    ]
    assert found == []


def test_platform_modules_are_not_named_like_the_library_they_wrap() -> None:
    """No module of the adapters has the name of a library or of a standard module."""
    libraries = {"telegram", "discord", "web", "starlette", "openai", *sys.stdlib_module_names}
    assert {path.stem for path in files_of("adapters")} & libraries == set()


def test_one_name_is_one_thing() -> None:
    """One name, one thing: no top-level class name stands twice in the source."""
    places: dict[str, list[str]] = {}
    for path in files_of(*SOURCE):
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(place(path, node.lineno))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_a_module_is_a_noun() -> None:
    """A module is a noun: at most ten are named by a gerund, each of them the field's own noun."""
    found = {str(path.relative_to(ROOT)) for path in files_of(*SOURCE) if path.stem.endswith("ing")}
    assert found == GERUNDS.keys()
    assert len(GERUNDS) <= 10


def text_files() -> Iterator[Path]:
    tops = [path for path in sorted(ROOT.iterdir()) if not path.name.startswith(".") or path.name in {".ci", ".github"}]
    for top in tops:
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.is_file() and not SKIPPED & set(path.parts) and path.suffix not in {".png", ".svg", ".pyc"}:
                yield path


def test_no_file_names_a_package_registry() -> None:
    """No file of the repository contains the host of a package registry or the address of an index."""
    found = []
    for path in text_files():
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [str(path.relative_to(ROOT)) for host in REGISTRIES if host in text]
        found += [str(path.relative_to(ROOT)) for _ in INDEX_OPTION.finditer(text)]
    assert found == []
