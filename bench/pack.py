#!/usr/bin/env python3
"""Measure the shipped pack: how long its rules take to compile, and a saved program to load.

`python bench/pack.py` prints the best and the median of several runs and exits with 1 where the best misses its bound: 2 s for
compiling the rules from their files, 100 ms for loading the saved program. Each load runs in a fresh interpreter, as a command
does; Python's own start and imports are not counted. Times are of the processor: what else runs on the machine changes them little.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from denpex_rules import compile_rules, load_pack, save_program

COMPILE_S = 2.0
LOAD_S = 0.1

LOAD = """
import sys, time
from denpex_rules.program import load_program
start = time.process_time()
load_program(sys.argv[1])
print(time.process_time() - start)
"""


def compile_times(runs: int) -> list[float]:
    """Return the seconds that each run took from rule files to a program; the first one builds the parser too."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        compile_rules(load_pack())
        times.append(time.process_time() - start)
    return times


def load_times(path: Path, runs: int) -> list[float]:
    """Return the seconds that loading a saved program took, each in an interpreter of its own."""
    command = [sys.executable, "-c", LOAD, str(path)]
    return [float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(runs)]


def main() -> int:
    """Measure, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description="How long the pack takes to compile and its saved program to load.")
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    program = compile_rules(load_pack())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pack.json"
        save_program(program, path)
        size = path.stat().st_size
        rows = [("compile", compile_times(runs), COMPILE_S), ("load", load_times(path, runs), LOAD_S)]
    print(f"{len(program.rules)} rules, {len(program.events)} events, {len(program.literals)} literals; saved: {size:,} bytes")
    print(f"{'':<8}  {'best ms':>8}  {'median ms':>9}  {'bound ms':>8}")
    for name, times, bound in rows:
        print(f"{name:<8}  {min(times) * 1e3:>8.0f}  {statistics.median(times) * 1e3:>9.0f}  {bound * 1e3:>8.0f}")
    return 0 if all(min(times) <= bound for _, times, bound in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
