"""Score denpex_rules, and torchrun's own "Root Cause", against the truth of the runs that run.py kept.

    python bench/faults/score.py OUT [--view console]

A rank is named right when every initiator of every failure is the victim, wrong when any is another rank, undecided
when none is named. A run without a fault is right when the verdict is healthy. Exit status 1 when any answer is wrong.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from run import views

RIGHT, WRONG, UNDECIDED, SPOILED = "right", "wrong", "undecided", "spoiled"


def scan(paths: list[Path]) -> dict[str, Any]:
    """The report of `denpex_rules.cli scan` over the paths."""
    words = [sys.executable, "-m", "denpex_rules", "scan", "--format", "json", *map(str, paths)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except json.JSONDecodeError:
        raise SystemExit(f"{' '.join(words)}\nexit status {done.returncode}, no report\n{done.stderr}") from None
    return report


def named(report: dict[str, Any]) -> set[int]:
    """The ranks that the report's failures blame."""
    failures = [incident for incident in report["incidents"] if incident["level"] == "failure"]
    ranks = {initiator["rank"] for failure in failures for initiator in failure["initiators"]}
    return ranks - {None}


def spoiled(truth: dict[str, Any]) -> bool:
    """Whether the run did not do what it was for: a job that should live failed, or the fault never came."""
    failed = any(truth["agent_exit_codes"])
    return failed if truth["victim"] is None else not failed or truth["instant"] is None


def judge(truth: dict[str, Any], report: dict[str, Any]) -> str:
    """Whether the report names the victim."""
    ranks = named(report)
    if truth["victim"] is None:
        if report["verdict"] == "healthy":
            return RIGHT
        return WRONG if any(incident["level"] == "failure" for incident in report["incidents"]) else UNDECIDED
    if not ranks:
        return UNDECIDED
    return RIGHT if ranks == {truth["victim"]} else WRONG


def judge_torchrun(truth: dict[str, Any]) -> str:
    """Whether torchrun's earliest Root Cause names the victim."""
    rank = truth["torchrun_root_cause_rank"]
    if rank == truth["victim"]:
        return RIGHT
    return UNDECIDED if rank is None else WRONG


def runs(out: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every run's folder and truth."""
    for path in sorted(out.rglob("truth.json")):
        yield path.parent, json.loads(path.read_text())


def score(out: Path, view: str) -> dict[str, Counter[str]]:
    """Counts of each outcome by fault; a wrong or spoiled run is told at once."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for folder, truth in runs(out):
        row = table[truth["fault"]]
        if spoiled(truth):
            row[SPOILED] += 1
            print(f"spoiled: {folder.name}: agents ended with {truth['agent_exit_codes']}")
            continue
        report = scan(views(folder)[view])
        outcome = judge(truth, report)
        row["runs"] += 1
        row[outcome] += 1
        row[f"torchrun {judge_torchrun(truth)}"] += 1
        if outcome == WRONG:
            print(f"wrong: {folder.name}: victim {truth['victim']}, named {sorted(named(report))}")
    return table


def show(table: dict[str, Counter[str]]) -> None:
    """Print the table."""
    outcomes = (RIGHT, WRONG, UNDECIDED)
    print(f"{'':26} {'denpex_rules':^29} {'torchrun Root Cause':^29}".rstrip())
    print(f"{'fault':20} {'runs':>5} " + " ".join(f"{word:>9}" for word in (*outcomes, RIGHT, WRONG, "none")))
    for fault, row in table.items():
        cells = [row[word] for word in outcomes] + [row[f"torchrun {word}"] for word in outcomes]
        print(f"{fault:20} {row['runs']:>5} " + " ".join(f"{cell:>9}" for cell in cells))


def main() -> int:
    """Score every run below a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder of runs")
    parser.add_argument("--view", default="all", choices=("all", "console", "ranks", "one"), help="logs the scan sees")
    options = parser.parse_args()
    table = score(options.out, options.view)
    show(table)
    return int(any(row[WRONG] for row in table.values()))


if __name__ == "__main__":
    sys.exit(main())
