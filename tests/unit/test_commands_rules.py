"""The verbs that show and save rules: list, show, compile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from denpex_rules.program import load_program
from samples import RULE, workshop, write_files
from samples import run_quietly as run

OWN = ("--rules", "my", "--no-pack")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a pack, logs and a case."""
    monkeypatch.chdir(workshop(tmp_path))
    return tmp_path


def test_list(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rules are listed with status and title; words narrow the list."""
    second = RULE.replace("storage.broken_shard", "host.full").replace("A rank gave up", "A disk is full")
    write_files(folder, {"my/host/full.rule": second})
    code, out = run(capsys, "list", *OWN)
    assert code == 0
    assert out.splitlines() == [
        "denpex:host.full             stable      A disk is full on a broken shard",
        "denpex:storage.broken_shard  stable      A rank gave up on a broken shard",
        "2 rules",
    ]
    assert run(capsys, "list", "DISK", "stable", *OWN)[1].splitlines()[-1] == "1 rule"
    assert run(capsys, "list", "no-such-word", *OWN) == (0, "0 rules\n")
    rows = [json.loads(line) for line in run(capsys, "list", *OWN, "--format", "jsonl")[1].splitlines()]
    assert [(row["rule"], row["class"], row["tags"]) for row in rows] == [
        ("denpex:host.full", "storage.checkpoint_corrupt", ["shard"]),
        ("denpex:storage.broken_shard", "storage.checkpoint_corrupt", ["shard"]),
    ]


def test_show(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One rule is shown with its facts, its clauses in words, and what it is confused with."""
    code, out = run(capsys, "show", "storage.broken_shard", *OWN)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "denpex:storage.broken_shard: A rank gave up on a broken shard"
    assert "  class         storage.checkpoint_corrupt" in lines
    assert "  within        3600 s" in lines
    assert "    - require broken" in lines
    assert "  not           storage.full: a full disk says so" in lines
    row = json.loads(run(capsys, "show", "denpex:storage.broken_shard", *OWN, "--format", "json")[1])
    assert (row["per"], row["within_s"], row["since"]) == (["job"], 3600.0, "0.1")
    assert row["clauses"][0] == "require broken"


def test_compile(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A compiled program is saved, and works in place of the rules."""
    code, out = run(capsys, "compile", "--output", "my.program", *OWN)
    assert code == 0
    assert out.startswith("my.program: 1 rule, ")
    assert [rule.id for rule in load_program("my.program").rules] == ["storage.broken_shard"]
    assert run(capsys, "test", "cases", "--program", "my.program") == (0, "1 case: all pass\n")
    assert run(capsys, "list", "--program", "my.program") == run(capsys, "list", *OWN)
