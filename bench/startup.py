"""How long `rulecheck` takes to start, measured against an interpreter that does nothing, in the same run.

    python bench/startup.py [ROUNDS]

The commands take turns, so that a busy machine slows all of them. Ratios are of the least CPU time (user and system) of each
command's processes. A scan that does not find what its log holds fails the run, and so does a ratio above its target.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Final

from denpex_rules.cache import FOLDER

TARGETS: Final = {"rulecheck --version": 12.0, "rulecheck scan, rules compiled before": 35.0}
NOTHING: Final = "python -c pass"
SIZE: Final = 10_000  # bytes of the log
CULPRIT: Final = 2
FOUND: Final = "CUDA out of memory"


def log() -> str:
    """Return the log of four ranks of which one runs out of memory."""
    lines: list[str] = []
    while sum(map(len, lines)) < SIZE - 1_000:
        step, rank = divmod(len(lines), 4)
        lines.append(f"[rank{rank}]: 2026-11-30 10:{step // 60:02}:{step % 60:02},{rank:03} INFO step {step} loss 2.{step:03}\n")
    failed = (
        "Traceback (most recent call last):",
        '  File "/srv/job/train.py", line 212, in <module>',
        "    loss.backward()",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 2 has a total capacity of 79.11 GiB",
    )
    return "".join([*lines, *(f"[rank{CULPRIT}]: {line}\n" for line in failed)])


def spent(command: list[str], environment: Mapping[str, str], folder: Path) -> tuple[float, float, int, str]:
    """Run a command; return its CPU and wall seconds, its exit code and what it printed."""
    begun = time.perf_counter()
    child = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stdout.close()
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - begun, child.returncode, out


def rulecheck() -> list[str]:
    """Return the command as it is installed beside this interpreter, else the package run as a module."""
    script = shutil.which("rulecheck", path=str(Path(sys.executable).parent))
    return [script] if script else [sys.executable, "-m", "denpex_rules"]


def measure(rounds: int, scratch: Path) -> dict[str, list[tuple[float, float]]]:
    """Return CPU and wall seconds of every run of every command. Raises RuntimeError for a wrong answer."""
    (scratch / "job.log").write_text(log(), encoding="utf-8")
    kept = scratch / "kept"
    own = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON") or key == "PYTHONPATH"}
    warm = own | {FOLDER: str(kept), "NO_COLOR": "1"}
    scan = [*rulecheck(), "scan", "job.log"]
    commands = {
        NOTHING: ([sys.executable, "-c", "pass"], own),
        "rulecheck --version": ([*rulecheck(), "--version"], own),
        "rulecheck scan, rules compiled before": (scan, warm),
        "rulecheck scan, rules compiled first": (scan, own | {FOLDER: str(scratch / "fresh")}),
    }
    spent(scan, warm, scratch)  # compiles the rules, and keeps them
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for number in range(rounds):
        for name, (command, environment) in commands.items():
            if name.endswith("first"):
                shutil.rmtree(scratch / "fresh", ignore_errors=True)
                if number >= max(1, rounds // 5):
                    continue  # a hundred times longer: a few will do
            cpu, wall, code, out = spent(command, environment, scratch)
            if "scan" in name and (code != 1 or f"rank {CULPRIT}" not in out or FOUND not in out):
                raise RuntimeError(f"{name}: exit code {code}, and not the finding that the log holds:\n{out}")
            found[name].append((cpu, wall))
    return found


def main() -> int:
    """Measure, print the table; the exit code says whether all targets are met."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as scratch:
        try:
            found = measure(rounds, Path(scratch))
        except RuntimeError as error:
            print(error)
            return 1
    base = min(cpu for cpu, _ in found[NOTHING])
    missed = False
    print(f"{'':40}{'CPU ms':>9}{'median':>9}{'wall ms':>9}{'median':>9}{'ratio':>8}{'target':>8}")
    for name, runs in found.items():
        cpus, walls = zip(*runs, strict=True)
        ratio, target = min(cpus) / base, TARGETS.get(name)
        times = "".join(f"{1e3 * value:9.0f}" for value in (min(cpus), median(cpus), min(walls), median(walls)))
        print(f"{name:40}{times}{ratio:8.1f}{'' if target is None else f'{target:8.0f}'}")
        missed |= target is not None and ratio > target
    print("a target is missed" if missed else "all targets are met")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
