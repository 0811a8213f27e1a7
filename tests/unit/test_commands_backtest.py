"""The verb backtest: its answer, its exit codes, and its forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from drafting import HEALTHY, LOGS, load_once
from test_backtest import RULE

from samples import run_command, write_files
from samples import run_quietly as run


@pytest.fixture(autouse=True)
def _pack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the shipped pack once for all tests."""
    load_once(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with two jobs and a rule about one of them."""
    jobs = {f"logs/failed/{name}": text for name, text in LOGS.items()}
    write_files(tmp_path, {**jobs, "logs/fine.log": HEALTHY, "my/storage/broken_shard.rule": RULE})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_expectation(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is added and changed is told by job, file and line; the exit code says whether as many were added as expected."""
    code, out = run(capsys, "backtest", "my", "logs", "--no-pack", "--expect", "1")
    assert code == 0
    assert out == "failed\n  + rank5.log:2  denpex:storage.broken_shard confirmed, rank 5 (certain)\n\n2 jobs: 1 added\n"
    code, out = run(capsys, "backtest", "my", "logs", "--no-pack", "--expect", "0")
    assert code == 1
    assert out.endswith("2 jobs: 1 added; expected 0 added\n")
    assert run(capsys, "backtest", "my", "logs/fine.log", "--no-pack", "--expect", "0") == (0, "1 job: nothing differs\n")


def test_without_expectation_nothing_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without an expectation the answer is information."""
    code, out = run(capsys, "backtest", "my", "logs")
    assert code == 0
    assert "    was denpex:runtime.collective.timeout confirmed, nobody blamed\n" in out
    assert out.endswith("2 jobs: 1 added, 1 changed\n")


def test_baseline(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is found is saved, and later compared: any difference fails."""
    assert run(capsys, "backtest", "my", "logs", "--no-pack", "--write-baseline", "b.json")[0] == 0
    assert run(capsys, "backtest", "my", "logs", "--no-pack", "--baseline", "b.json") == (0, "2 jobs: nothing differs\n")
    write_files(folder, {"my/storage/broken_shard.rule": RULE.replace("giving up", "burnt")})
    code, out = run(capsys, "backtest", "my", "logs", "--no-pack", "--baseline", "b.json")
    assert code == 1
    assert out.endswith("  - rank5.log:2  denpex:storage.broken_shard confirmed, rank 5 (certain)\n\n2 jobs: 1 lost\n")


def test_forms(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON form holds each change whole, and a form of one line each, the summary last."""
    whole = json.loads(run(capsys, "backtest", "my", "logs", "--no-pack", "--format", "json")[1])
    rows = [json.loads(line) for line in run(capsys, "backtest", "my", "logs", "--no-pack", "--format", "jsonl")[1].splitlines()]
    head = {"jobs": 2, "added": 1, "lost": 0, "changed": 0}
    assert rows == [*whole["changes"], {"type": "summary", **head}]
    assert {name: whole[name] for name in head} == head
    assert whole["changes"][0]["job"] == "failed"
    assert whole["changes"][0]["before"] is None
    assert whole["changes"][0]["after"]["place"] == "rank5.log:2"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("my", "logs", "--expect", "1", "--baseline", "b.json"), "give one of them"),
        (("my", "nowhere"), "no such file or folder"),
        (("nowhere", "logs"), "there is no file or folder nowhere"),
        (("my", "logs", "--baseline", "nowhere.json"), "No such file"),
        (("my", "logs", "--skew", "5"), "no duration"),
    ],
)
def test_mistakes(folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str) -> None:
    """What can't be done is said in a sentence, with exit code 2."""
    code, out, err = run_command(capsys, "backtest", *arguments)
    assert (code, out) == (2, "")
    assert said in err
