"""Make fixtures of recorded runs: what names the machine is replaced, most progress lines are left out, and the truth becomes TOML.

    python bench/faults/pack.py RUNS TARGET NAME…

RUNS is the folder that `python bench/faults` filled; each NAME is the name of a run in it.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

SHOWN = 5  # the last progress lines of a rank that stay, and its first
LABELS = rb"(?:\[[a-z]+\d+\]:)*"
NATIVE = re.compile(LABELS + rb" ?frame #\d+: ")
UNDERLINE = re.compile(LABELS + rb" *[~^]+\s*$")
PROGRESS = re.compile(rb"INFO \[train\.py:\d+\] step \d+ |'loss': ")
BARS = re.compile(rb"[^\r\n]*\r(?=[^\n])")
NEUTRAL = (
    (rb"/\S*/site-packages/", b"/opt/venv/lib/python3/site-packages/"),
    (rb"/\S*/lib/python3\.\d+/(?!site-packages)", b"/usr/lib/python3/"),
    (rb"(?<=binary: )\S+/python\S*", b"/opt/venv/bin/python"),
    (rb"(?<=\[')/\S+/python[\d.]*", b"/opt/venv/bin/python"),
    (rb"/\S*/faults/(?=[a-z_]+\.py)", b"/srv/job/"),
    (rb"/\S*/bench/(?=(?:train|step)\w*\.py)", b"/srv/job/"),
    (rb"/\S*/work/(?=checkpoints|output)", b"/srv/job/"),
    (rb"/\S*/logs/(?:job|none)_\w+/", b"/srv/job/logs/job/"),
    (rb"\b(?:localhost|[\w-]+\.localdomain)(?=[_ \n])", b"node-07"),
)


def neutral(data: bytes) -> bytes:
    """Replace what names the machine."""
    for pattern, text in NEUTRAL:
        data = re.sub(pattern, text, data)
    return data


def thin(data: bytes) -> bytes:
    """Leave out most progress lines of each rank, redrawn states of progress bars, native frames and underlines of tracebacks."""
    lines = BARS.sub(b"", data).splitlines(keepends=True)
    places: dict[bytes, list[int]] = {}
    for number, line in enumerate(lines):
        if PROGRESS.search(line):
            label = re.match(rb"\[default\d\]:", line)
            places.setdefault(label[0] if label else b"", []).append(number)
    dropped = {number for found in places.values() for number in found[1:-SHOWN]}
    dropped |= {number for number, line in enumerate(lines) if NATIVE.match(line) or UNDERLINE.match(line)}
    return b"".join(line for number, line in enumerate(lines) if number not in dropped)


def toml(truth: dict[str, Any]) -> str:
    """The part of the truth that the judgement needs."""
    victims = ", ".join(f'{{ rank = {v["rank"]}, pid = {v["pid"]}, instant = "{v["instant"]}" }}' for v in truth["victims"])
    fields = [
        *(f'{key} = "{truth[key]}"' for key in ("fault", "launcher", "expect")),
        f"seed = {truth['seed']}",
        f"step = {truth['step']}",
        *([f'instant = "{truth["instant"]}"'] if truth["instant"] else []),
        f"victims = [{victims}]",
        f"classes = {json.dumps(truth['classes'])}",
        f"exit_codes = {truth['exit_codes']}",
        *([f"torchrun_root_cause_rank = {truth[key]}"] if truth[key := "torchrun_root_cause_rank"] is not None else []),
        *(f'{name} = "{version}"' for name, version in truth["versions"].items()),
    ]
    return "\n".join(fields) + "\n"


def pack(run: Path, target: Path) -> int:
    """Write one fixture and return its size in bytes."""
    truth = json.loads((run / "truth.json").read_text())
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    (target / "truth.toml").write_text(toml(truth))
    for path in sorted(run.rglob("*.log")):
        data = neutral(thin(path.read_bytes()))
        parts = ["job" if part.startswith(("job_", "none_")) else part for part in path.relative_to(run).parts]
        copy = target.joinpath(*parts)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(data)
    return sum(path.stat().st_size for path in target.rglob("*") if path.is_file())


def main() -> int:
    """Pack the named runs."""
    runs, target, *names = sys.argv[1:]
    for name in names:
        print(f"{pack(Path(runs) / name, Path(target) / name):>7} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
