"""The speed benchmark measures only scans that are right: its logs hold what it expects, and a wrong answer is told."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from attrs import evolve

import denpex_rules
from denpex_rules import Program

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "bench" / "speed"
SIZE = 200_000


@pytest.fixture(scope="module")
def program() -> Program:
    """Return the shipped rules, compiled once."""
    return denpex_rules.compile_rules(denpex_rules.load_pack())


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """Return the benchmark's modules, which stand in no package."""
    monkeypatch.syspath_prepend(str(BENCH))
    names = ("workloads", "layout_logs", "probe", "results")
    return {name: importlib.import_module(name) for name in names}


def found_in(folder: Path, program: Program, bench: dict[str, ModuleType]) -> Any:
    """Return what the benchmark's own scan finds."""
    return bench["probe"].scan(program, {"logs": str(folder)})


@pytest.mark.parametrize("name", ["sparse", "dense", "quiet", "files", "packed", "storm", "hostile"])
def test_a_scan_finds_what_a_workload_holds(tmp_path: Path, program: Program, bench: dict[str, ModuleType], name: str) -> None:
    """Every progress line and every incident that the logs were made with is found, and nothing else."""
    workload = next(w for w in bench["workloads"].WORKLOADS if w.name == name)
    made = workload.make(tmp_path, SIZE, 7)
    found = found_in(tmp_path, program, bench)
    assert bench["workloads"].wrong(made, found) == []


def test_a_scan_names_the_layout_of_each_log(
    tmp_path: Path, program: Program, bench: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log of each layout is read as that, line by line counted, and no failure is seen in it."""
    measured: list[Path] = []

    def probe(*, logs: Path, **_: object) -> Any:
        measured.append(logs)
        return found_in(logs, program, bench)

    answers, mistakes = bench["layout_logs"].run(probe, tmp_path, "auto", tmp_path, SIZE // 2)
    assert mistakes == []
    assert len(answers) == len(measured) / 2 == len(bench["layout_logs"].LAYOUTS)
    monkeypatch.setattr(bench["layout_logs"], "LAYOUTS", [evolve(bench["layout_logs"].LAYOUTS[0], layout="glog")])
    _, (told,) = bench["layout_logs"].run(probe, tmp_path, "auto", tmp_path, SIZE // 2)
    assert "expected ['glog']" in told


def test_the_same_seed_makes_the_same_logs(tmp_path: Path, bench: dict[str, ModuleType]) -> None:
    """A seed tells every byte; another one makes other logs."""
    texts = []
    for number, seed in enumerate((1, 1, 2)):
        folder = tmp_path / str(number)
        folder.mkdir()
        bench["workloads"].dense(folder, SIZE, seed)
        texts.append((folder / "console.log").read_bytes())
    assert texts[0] == texts[1] != texts[2]


def test_a_wrong_answer_is_told(tmp_path: Path, program: Program, bench: dict[str, ModuleType]) -> None:
    """A missing progress line, another rank and unread bytes are each named with what was expected."""
    made = bench["workloads"].sparse(tmp_path, SIZE, 7)
    found = found_in(tmp_path, program, bench)
    wrong = bench["workloads"].wrong
    assert wrong(evolve(made, steps=made.steps + 1), found) == [f"saw {made.steps} progress lines, expected {made.steps + 1}"]
    assert (
        "expected [['gpu.memory.out_of_memory', [38]]]"
        in wrong(evolve(made, incidents=(("gpu.memory.out_of_memory", (38,)),)), found)[0]
    )
    assert wrong(evolve(made, bytes=1), found) == [f"read {made.bytes} bytes, expected 1"]


def test_the_command_checks(tmp_path: Path) -> None:
    """`python bench/speed --check` scans with every backend that is installed, and ends with 0 where all is right."""
    command = [sys.executable, str(BENCH), "--check", "--size", "0.1", "--only", "sparse"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "all workloads: the progress lines and incidents that were expected\n"), (
        done.stderr
    )


def test_targets_tell_what_is_missed(bench: dict[str, ModuleType]) -> None:
    """A ratio below its target is missed, one at it is met."""
    slow, fast = {"bytes": 100, "cpu": 2.0, "wall": 2.0}, {"bytes": 100, "cpu": 1.0, "wall": 2.0}
    works = {
        "sparse": {"found": {"scan pyahocorasick": slow, "raw pyahocorasick": fast, "scan hyperscan": fast, "raw hyperscan": fast}}
    }
    rows = list(bench["results"].targets(works))
    assert rows == [
        ("sparse: scan over the raw loop, pyahocorasick", "at least 0.85", "0.50", "**missed**"),
        ("sparse: scan over the raw loop, Hyperscan", "at least 0.6", "1.00", "met"),
        ("the same by wall time: scan over the raw loop, Hyperscan", "at least 0.6", "1.00", "met"),
    ]


def test_the_document_takes_new_tables(bench: dict[str, ModuleType]) -> None:
    """Tables replace those between the marks; the text around them stays."""
    text = "a\n<!-- curves: begin -->\nold\n<!-- curves: end -->\nb\n"
    assert bench["results"].shown(text, "curves", "new") == "a\n<!-- curves: begin -->\nnew\n<!-- curves: end -->\nb\n"
    with pytest.raises(SystemExit):
        bench["results"].shown(text, "workloads", "new")
