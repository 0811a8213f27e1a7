"""`rulecheck scan --follow`: what is delivered, when, and after which crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path

import pytest
from attrs import evolve

from denpex_rules import bookmark, compile_rules, load_pack, save_program, scan
from denpex_rules.commands_follow import Pace, follow, give_lines, give_text
from denpex_rules.finding import Incident
from denpex_rules.judgement import DEFAULT
from denpex_rules.program import Program
from following import killed_job
from samples import run_command

MILLISECOND = 1_000_000
XID = "2026-11-30T10:00:00Z node-07 kernel: NVRM: Xid (PCI:0000:41:00): {}, pid=1, name=x, {}\n"
LOST = XID.format(79, "GPU has fallen off the bus.")


@cache
def pack() -> Program:
    """Return the shipped pack."""
    return compile_rules(load_pack())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a kernel log that shows a lost GPU."""
    path = tmp_path / "logs"
    path.mkdir()
    (path / "kern_node-07.log").write_text(LOST)
    return path


def pace(tmp_path: Path, idle: int = 60) -> Pace:
    return Pace(10 * MILLISECOND, idle * MILLISECOND, tmp_path / "state")


def test_incidents_come_while_logs_grow(folder: Path, tmp_path: Path) -> None:
    """What is there is given at once, what is written later when it comes, and the report ends it."""
    given: list[Incident] = []

    def give(incidents: list[Incident]) -> None:
        given.extend(incidents)
        if len(given) == 1:
            (folder / "kern_node-08.log").write_text(LOST.replace("node-07", "node-08").replace("10:00", "10:20"))

    report = follow([folder], pack(), DEFAULT, pace(tmp_path, 200), give)  # type: ignore[arg-type]
    assert given[0].initiators[0].host == "node-07"
    assert {i.initiators[0].host for i in given} == {"node-07", "node-08"}
    assert {i.id for i in report.incidents} == {i.id for i in given}
    assert tuple(evolve(i, revision=1) for i in report.incidents) == scan([folder], pack()).incidents


def test_second_run_gives_nothing_again(folder: Path, tmp_path: Path) -> None:
    """A run that goes on from a clean end delivers only what is new."""
    given: list[Incident] = []
    follow([folder], pack(), DEFAULT, pace(tmp_path), given.extend)
    first = len(given)
    report = follow([folder], pack(), DEFAULT, pace(tmp_path), given.extend)
    assert (first, len(given)) == (1, 1)
    assert report.incidents == tuple(given)


def test_what_may_not_have_been_delivered_is_delivered_again(folder: Path, tmp_path: Path) -> None:
    """A delivery that fails was written down before: the next run gives the same revision with the same content."""
    seen: list[Incident] = []

    def fail(incidents: list[Incident]) -> None:
        seen.extend(incidents)
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        follow([folder], pack(), DEFAULT, pace(tmp_path), fail)  # type: ignore[arg-type]
    noted, _ = bookmark.load(tmp_path / "state")
    assert noted.pending == (seen[0].id,)
    again: list[Incident] = []
    follow([folder], pack(), DEFAULT, pace(tmp_path), again.extend)
    assert again == seen


def test_without_a_state_nothing_is_written(folder: Path, tmp_path: Path) -> None:
    """Following needs no state."""
    given: list[Incident] = []
    follow([folder], pack(), DEFAULT, Pace(10 * MILLISECOND, 30 * MILLISECOND), given.extend)
    assert len(given) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["logs"]


def test_signal_ends_with_the_report(folder: Path, tmp_path: Path) -> None:
    """SIGTERM ends the run as idleness does, and the signals do again what they did before."""
    before = signal.getsignal(signal.SIGTERM)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    report = follow([folder], pack(), DEFAULT, Pace(10 * MILLISECOND, None, tmp_path / "state"), lambda _: None)
    assert report.verdict == "failed"
    assert signal.getsignal(signal.SIGTERM) is before


def test_forms(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """Text names the incident and its revision; a JSON line is that of the report."""
    (incident,) = scan([folder], pack()).incidents
    give_text([incident])
    assert f"FAILURE {incident.id}, revision 1: " in capsys.readouterr().out
    give_lines([incident])
    row = json.loads(capsys.readouterr().out)
    assert (row["type"], row["schema"], row["id"]) == ("incident", "denpex-report/1", incident.id)


def test_command(capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path) -> None:
    """The command follows, ends when nothing comes, and exits as a scan does."""
    options = ["--follow", "--poll", "10ms", "--until-idle", "50ms", "--state", str(tmp_path / "state"), "--format", "jsonl"]
    code, out, _ = run_command(capsys, "scan", str(folder), *options)
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    assert [row["type"] for row in rows] == ["incident", "incident", "report"]
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--state", "x"], "go with --follow"),
        (["--until-idle", "1s"], "go with --follow"),
        (["--follow", "--poll", "soon"], "--poll"),
        (["--follow", "--poll", "0s"], "--poll"),
        (["--follow", "--until-idle", "1"], "--until-idle"),
        (["--follow", "--format", "json"], "text or jsonl"),
        (["--offset", "node-07"], "HOST=DURATION"),
        (["--offset", "=5s"], "HOST=DURATION"),
    ],
)
def test_wrong_options(capsys: pytest.CaptureFixture[str], folder: Path, options: list[str], words: str) -> None:
    """What can't be honoured is refused with a sentence."""
    code, _, err = run_command(capsys, "scan", str(folder), *options)
    assert code == 2
    assert words in err


def test_offsets_move_hosts(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """A host's clock that is behind or ahead is put right."""
    for option, clock in (("node-07=90s", "09:58:30"), ("NODE-07.example=-90s", "10:01:30")):
        _, out, _ = run_command(capsys, "scan", str(folder), "--offset", option, "--format", "json")
        assert f"T{clock}" in json.loads(out)["incidents"][0]["onset"]["lo"]


def test_standard_input_is_not_followed(capsys: pytest.CaptureFixture[str]) -> None:
    """A stream is no file."""
    code, _, err = run_command(capsys, "scan", "-", "--follow")
    assert (code, "standard input" in err) == (2, True)


def test_killed_again_and_again(tmp_path: Path) -> None:
    """A follower that is killed at random points loses no incident and no revision of a job that rotates its logs."""
    save_program(pack(), tmp_path / "rules.json")
    found = killed_job(tmp_path / "rules.json", pack(), tmp_path, kills=4, seed=3)
    assert found.wrong == []
    assert any(row["type"] == "incident" for row in found.rows)


def test_interrupt_of_the_process(folder: Path, tmp_path: Path) -> None:
    """Ctrl-C prints the report and no traceback."""
    words = [sys.executable, "-m", "denpex_rules", "scan", str(folder), "--follow", "--poll", "20ms"]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    first = child.stdout.readline()
    time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (1, "")
    assert "revision 1" in first
    assert "Read: 1 source" in out
