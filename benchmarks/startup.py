"""How long `cafi ask` takes from its first instruction to its last, and which imports that is."""

from __future__ import annotations

import os
import re
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from benchmarks.report import Cell, Section, Target
from benchmarks.rig import QUESTIONS, ROOT

RUNS = 5
SLOWEST = 8
_IMPORT = re.compile(r"^import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)$", re.M)
_RUN = "import sys; from bots.cli import app; sys.argv[0] = 'cafi'; app()"


def measure() -> Section:
    """Whole runs of the command, and the time that each package's modules take to import."""
    cafi = str(Path(sys.executable).with_name("cafi"))
    words = ["ask", QUESTIONS[0], "--agents", "builtin", "--json"]
    _run([cafi, *words])
    runs = [_run([cafi, *words]) for _ in range(RUNS)]
    bare = [_run([sys.executable, "-c", "pass"]) for _ in range(RUNS)]
    wall = statistics.median(wall for wall, _, _ in runs)
    rows: list[dict[str, Cell]] = [
        {
            "command": name,
            "wall s": statistics.median(one[0] for one in some),
            "CPU s": statistics.median(one[1] for one in some),
        }
        for name, some in (("cafi ask … --agents builtin --json", runs), ("python -c pass", bare))
    ]
    imports = _imports([sys.executable, "-X", "importtime", "-c", _RUN, *words])
    return Section(
        name="startup",
        about=f"median of {RUNS} runs; imports: a package's own modules added up, in one run",
        tables={"runs": rows, "slowest imports": imports},
        targets=(Target(name="cafi ask: wall s", value=wall, bound=1.0),),
    )


def _run(command: list[str]) -> tuple[float, float, str]:
    """Wall seconds, processor seconds and standard error of a command that must succeed."""
    environment = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:3])} failed: {done.stderr[-2000:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stderr


def _imports(command: list[str]) -> list[dict[str, Cell]]:
    own: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    for microseconds, module in _IMPORT.findall(_run(command)[2]):
        own[module.split(".")[0]] += int(microseconds)
        modules[module.split(".")[0]] += 1
    total = sum(own.values())
    rows: list[dict[str, Cell]] = [
        {
            "package": name,
            "modules": modules[name],
            "ms": spent / 1000,
            "% of all imports": spent / total * 100,
        }
        for name, spent in own.most_common(SLOWEST)
    ]
    return [
        *rows,
        {"package": "all", "modules": sum(modules.values()), "ms": total / 1000, "% of all imports": 100.0},
    ]
