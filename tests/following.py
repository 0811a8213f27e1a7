"""A job that writes and rotates its logs while `rulecheck scan --follow` is killed again and again: nothing may be lost."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

from attrs import define, field

from denpex_rules.engine import scan
from denpex_rules.program import Program
from denpex_rules.schema import to_dict
from layouts import Job, split

STEP_S: Final = 0.02  # between two writes
STAMP: Final = b"2026-11-30"
ROTATIONS: Final = 20  # of all logs together, about
LONGEST_S: Final = 1.5  # of a run that is killed
PATIENCE_S: Final = 120  # of the run that is not


@define
class Writer:
    """Writes the logs of a job into a folder, all of them bit by bit, and rotates them at random."""

    folder: Path
    logs: dict[str, bytes]
    chance: random.Random
    steps: int
    rotations: list[str] = field(factory=list)
    _written: dict[str, int] = field(factory=dict)
    _counts: dict[str, int] = field(factory=dict)

    def write(self) -> None:
        """Write everything in `steps` steps, and wait between them."""
        for step in range(1, self.steps + 1):
            self.step(step)
            time.sleep(STEP_S)

    def step(self, step: int) -> None:
        """Append the next lines of every log, and perhaps rotate one of them; the last step writes all that is left."""
        for name, data in self.logs.items():
            begun, end = self._written.get(name, 0), len(data) * step // self.steps
            end = len(data) if step == self.steps else data.rfind(b"\n", 0, end) + 1
            with (self.folder / name).open("ab") as file:
                file.write(data[begun:end])
            self._written[name] = max(begun, end)
        if self.steps // 10 < step < self.steps and self.chance.random() < ROTATIONS / self.steps:
            name = self.chance.choice(sorted(self.logs))
            if STAMP in self.logs[name][self._written[name] :][:40]:  # a scan of the parts can tell their order by stamps alone
                self.rotate(name)

    def rotate(self, name: str) -> None:
        """Rotate one log: number its older parts on, rename or copy it, and perhaps pack the second one."""
        path = self.folder / name
        if not path.exists() or not path.stat().st_size:
            return
        count = self._counts.get(name, 0)
        for number in range(count, 0, -1):
            for suffix in ("", ".gz"):
                old = self.folder / f"{name}.{number}{suffix}"
                if old.exists():
                    old.rename(self.folder / f"{name}.{number + 1}{suffix}")
        kind = self.chance.choice(("rename", "copy"))
        first = self.folder / f"{name}.1"
        if kind == "rename":
            path.rename(first)
        else:
            shutil.copyfile(path, first)
            with path.open("r+b") as file:
                file.truncate(0)
        self._counts[name] = count + 1
        second = self.folder / f"{name}.2"
        if second.exists() and self.chance.random() < 0.5:
            kind += " and pack"
            (self.folder / f"{name}.2.gz").write_bytes(gzip.compress(second.read_bytes()))
            second.unlink()
        self.rotations.append(f"{name}: {kind}")


@define
class Outcome:
    """What the runs of one followed job printed: every row of every run, and what is wrong with it."""

    kills: int
    rows: list[dict[str, Any]]
    rotations: int
    wrong: list[str]


def command(program: Path, folder: Path, state: Path, *, idle: str | None = None) -> list[str]:
    """Return the command that follows a folder."""
    options = ["--follow", "--state", str(state), "--poll", "20ms", "--format", "jsonl", "--program", str(program)]
    ending = ["--until-idle", idle] if idle else []
    return [sys.executable, "-m", "denpex_rules", "scan", str(folder), *options, *ending]


def killed_job(saved: Path, program: Program, scratch: Path, kills: int, seed: int) -> Outcome:
    """Follow a job that is being written, kill the follower at `kills` random points, and compare with one whole scan.

    Args:
        saved: the program as a file, for the command.
        program: the same program.
        scratch: an empty folder for logs, state and output.
        kills: how often the follower is killed.
        seed: decides everything that is random.
    """
    chance = random.Random(seed)
    job = Job(4, ("node-01", "node-02"), chance.randrange(4), chance.choice(("gpu lost", "out of memory")))
    folder, state = scratch / "logs", scratch / "state"
    folder.mkdir()
    writer = Writer(folder, split(job), random.Random(seed + 1), max(20, int(kills * LONGEST_S / 2 / STEP_S)))
    thread = threading.Thread(target=writer.write)
    thread.start()
    rows: list[dict[str, Any]] = []
    for number in range(kills):
        rows += _killed(command(saved, folder, state), scratch / f"{number}.jsonl", chance.uniform(0, LONGEST_S))
    thread.join()
    with (scratch / "last.jsonl").open("wb") as out:
        done = subprocess.run(
            command(saved, folder, state, idle="500ms"), stdout=out, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False
        )
    last = _rows(scratch / "last.jsonl")
    wrong = [f"exit code {done.returncode}: {done.stderr.decode()[-500:]}"] if done.returncode not in {0, 1} else []
    wrong += _differs(last, to_dict(scan([folder], program))) if not wrong else []
    rows += last
    return Outcome(kills, rows, len(writer.rotations), wrong + _undelivered(rows))


def _killed(words: list[str], output: Path, seconds: float) -> list[dict[str, Any]]:
    with output.open("wb") as out:
        child = subprocess.Popen(words, stdout=out, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        child.kill()
        child.wait()
    return _rows(output)


def _rows(output: Path) -> list[dict[str, Any]]:
    """Return the whole lines of an output: one that was cut was not delivered."""
    return [json.loads(line) for line in output.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


def _differs(rows: list[dict[str, Any]], whole: dict[str, Any]) -> list[str]:
    """Return in what the last report differs from that of one whole scan, revisions aside."""
    if not rows or rows[-1]["type"] != "report":
        return ["the last run gave no report"]
    count = len(whole["incidents"])
    last = [{**row, "revision": 1} for row in rows[:-1]][-count:] if count else []
    expected = [{"type": "incident", "schema": whole["schema"], **incident} for incident in whole["incidents"]]
    wrong = [] if last == expected else ["the incidents are others than those of a whole scan"]
    return wrong + ([] if rows[-1]["verdict"] == whole["verdict"] else ["the verdict is another one"])


def _undelivered(rows: list[dict[str, Any]]) -> list[str]:
    """Return which revisions were never delivered, or were with two contents."""
    seen: dict[tuple[str, int], dict[str, Any]] = {}
    wrong = []
    for row in rows:
        if row["type"] == "incident":
            key = (row["id"], row["revision"])
            if seen.setdefault(key, row) != row:
                wrong.append(f"revision {key[1]} of {key[0]} was given with two contents")
    newest: dict[str, int] = {}
    for name, revision in seen:
        newest[name] = max(revision, newest.get(name, 0))
    lost = [(name, n) for name, last in newest.items() for n in range(1, last + 1) if (name, n) not in seen]
    return wrong + [f"revision {n} of {name} was never delivered" for name, n in lost]
