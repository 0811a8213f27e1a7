"""The verbs about rules: check, test, list, show, compile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from samples import BROKEN, CASE, RULE, workshop, write_files
from samples import run_quietly as run

from denpex_rules.program import load_program

OWN = ("--rules", "my", "--no-pack")
BAD = RULE.replace("within 1h", "within 1").replace("  class ", "  clas ")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a pack, logs and a case."""
    monkeypatch.chdir(workshop(tmp_path))
    return tmp_path


def test_check_sound(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sound rules exit with 0."""
    assert run(capsys, "check", "my") == (0, "1 rule: no mistakes\n")
    assert run(capsys, "check", "my/storage/broken_shard.rule") == (0, "1 rule: no mistakes\n")


def test_check_mistakes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every mistake of every file is shown with its line, and the exit code is 2."""
    write_files(folder, {"my/storage/broken_shard.rule": BAD, "my/storage/other.rule": "language 2\n"})
    code, out = run(capsys, "check", "my")
    assert code == 2
    assert "  --> my/storage/broken_shard.rule:12:" in out
    assert "  --> my/storage/broken_shard.rule:5:" in out
    assert "  --> my/storage/other.rule:1:" in out
    assert out.splitlines()[-1].endswith(" mistakes")


def test_check_finds_what_only_the_compiler_sees(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An example that does not match its event is a mistake, shown with the source line."""
    wrong = RULE.replace(f'like "{BROKEN}"', 'like "shard a: fine"')
    write_files(folder, {"my/storage/broken_shard.rule": wrong})
    code, out = run(capsys, "check", "my")
    assert code == 2
    assert "error[E0503]" in out
    assert "|   event broken" in out


def test_check_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Diagnostics have a JSON form and a form of one line each, the summary last."""
    write_files(folder, {"my/storage/broken_shard.rule": BAD})
    whole = json.loads(run(capsys, "check", "my", "--format", "json")[1])
    rows = [json.loads(line) for line in run(capsys, "check", "my", "--format", "jsonl")[1].splitlines()]
    assert rows == [*whole["diagnostics"], {"type": "summary", "rules": None}]
    assert {row["path"] for row in whole["diagnostics"]} == {"my/storage/broken_shard.rule"}
    assert all(row["severity"] == "error" and row["line"] > 1 and row["code"].startswith("E") for row in whole["diagnostics"])


def test_check_hints(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Advice is shown and fails nothing, unless it is asked to."""
    write_files(folder, {"my/storage/broken_shard.rule": RULE.replace("  do ", "  ref ")})
    code, out = run(capsys, "check", "my")
    assert (code, out.splitlines()[-1]) == (0, "1 rule: no mistakes, 1 hint")
    assert "warning[L0106]: rule `storage.broken_shard` says what failed and not what to do" in out
    assert "rule storage.broken_shard {" in out
    assert run(capsys, "check", "my", "--strict")[0] == 1


def test_check_project(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without paths the project's rules are checked."""
    write_files(folder, {"pyproject.toml": '[tool.rulecheck]\nrules = ["my"]\n'})
    assert run(capsys, "check") == (0, "1 rule: no mistakes\n")


def test_cases_pass(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cases that come out as they say exit with 0; the project's are taken where none are named."""
    assert run(capsys, "test", "cases", *OWN) == (0, "1 case: all pass\n")
    write_files(folder, {"rulecheck.toml": 'rules = ["my"]\ncases = ["cases"]\n'})
    assert run(capsys, "test", "--no-pack") == (0, "1 case: all pass\n")
    assert run(capsys, "test", "cases", "--no-pack") == (0, "1 case: all pass\n")


def test_case_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A failing case is named with what it says and what differs, nothing else; the exit code is 1."""
    wrong = CASE.replace("rank = 5", "rank = 4") + "innocent = [{ rank = 5 }]\n"
    write_files(folder, {"cases/storage/broken_shard/two_ranks/case.toml": wrong})
    code, out = run(capsys, "test", "cases", *OWN)
    assert code == 1
    assert out.splitlines() == [
        "FAIL cases/storage/broken_shard/two_ranks",
        "  says: rank 5 gives up on a broken shard",
        "  - innocent, but accused by denpex:storage.broken_shard: rank 5 (certain)",
        "  - initiator missed: rank 4",
        "  - initiator extra: rank 5 (certain)",
        "",
        "1 of 1 case fails",
    ]


def test_case_fails_with_the_clause(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the expected finding did not come, the clause that kept it away is told."""
    again = "2026-11-30T10:05:12.455Z INFO shard /data/shard-0042.bin: read again\n"
    log = folder / "cases/storage/broken_shard/two_ranks/rank5.log"
    log.write_text(log.read_text() + again)
    code, out = run(capsys, "test", "cases", *OWN)
    assert code == 1
    assert "  - missed: no finding of storage.broken_shard; the report is " in out
    assert "  how storage.broken_shard came out:\n    - false: unless again where file == broken.file" in out


def test_cases_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Results have a JSON form and a form of one line each, the summary last."""
    whole = json.loads(run(capsys, "test", "cases", *OWN, "--format", "json")[1])
    rows = [json.loads(line) for line in run(capsys, "test", "cases", *OWN, "--format", "jsonl")[1].splitlines()]
    assert (whole["passed"], whole["failed"]) == (1, 0)
    assert rows == [*whole["cases"], {"type": "summary", "passed": 1, "failed": 0}]
    assert rows[0] == {
        "case": "cases/storage/broken_shard/two_ranks",
        "says": "rank 5 gives up on a broken shard",
        "passed": True,
        "differences": [],
        "why": [],
    }


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
