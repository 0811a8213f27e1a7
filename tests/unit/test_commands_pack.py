"""The verbs about a pack as a whole: cover, doc."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from samples import RULE, run_command, workshop, write_files
from samples import run_quietly as run

OWN = ("--rules", "my", "--no-pack")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a pack, logs and a case."""
    monkeypatch.chdir(workshop(tmp_path))
    return tmp_path


def test_cover(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What no case exercises is listed by rule, and fails nothing by itself."""
    code, out = run(capsys, "cover", "cases", *OWN)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "denpex:storage.broken_shard (stable)"
    assert "  step          never false: require broken" in lines
    assert "  outcome       never quiet with its trigger seen" in lines
    assert lines[-1] == "1 rule, 1 case: 5 not exercised, 5 of stable rules"


def test_cover_strict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --strict a stable rule must be exercised, a rule in preview need not."""
    assert run(capsys, "cover", "cases", *OWN, "--strict")[0] == 1
    write_files(folder, {"my/storage/broken_shard.rule": RULE.replace("status  stable", "status  preview")})
    assert run(capsys, "cover", "cases", *OWN, "--strict")[0] == 0


def test_cover_nothing_open(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pack whose cases exercise everything says so."""
    clauses = "  unless again where file == broken.file within 10m after broken\n"
    plain = RULE.replace(clauses, "").replace('  event again in rank "shard {file:path}: read again"\n', "")
    plain = plain.replace('    like "shard /data/shard-0042.bin: read again"\n', "")
    near = 'says = "x"\nrule = "storage.broken_shard"\noutcome = "quiet"\n'
    write_files(folder, {"my/storage/broken_shard.rule": plain, "cases/near/case.toml": near, "cases/near/x.log": "fine\n"})
    assert run(capsys, "cover", "cases", *OWN, "--strict") == (0, "1 rule, 2 cases: every event, step and outcome is exercised\n")


def test_cover_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON form has a row for each, and a form of one line each, the summary last."""
    whole = json.loads(run(capsys, "cover", "cases", *OWN, "--format", "json")[1])
    rows = [json.loads(line) for line in run(capsys, "cover", "cases", *OWN, "--format", "jsonl")[1].splitlines()]
    assert whole["summary"] == {"cases": 1, "rules": 1, "untried": 5, "stable": 5}
    assert rows == [*whole["untried"], {"type": "summary", **whole["summary"]}]
    assert whole["untried"][0] == {
        "rule": "denpex:storage.broken_shard",
        "status": "stable",
        "what": "event",
        "name": "denpex:storage.broken_shard#again",
        "text": "never seen",
    }


def test_cover_needs_cases(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without cases there is nothing to cover."""
    code, _, err = run_command(capsys, "cover", *OWN)
    assert code == 2
    assert "no paths are given" in err


def test_doc(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The pages of the rules are written below a folder, with what the cases tell."""
    assert run(capsys, "doc", "cases", *OWN, "-o", "book") == (0, "book: 5 pages about 1 rule\n")
    page = (folder / "book" / "denpex" / "storage" / "broken_shard.md").read_text(encoding="utf-8")
    assert page.startswith("# A rank gave up on a broken shard\n")
    assert "The answer: confirmed; failed first: rank 5 (certain)." in page
    assert "](denpex/storage/broken_shard.md)" in (folder / "book" / "index.md").read_text(encoding="utf-8")


def test_doc_with_cases_of_other_rules(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A case about a rule that is not among those that are written is left out."""
    other = 'says = "x"\nrule = "storage.full"\noutcome = "quiet"\n'
    write_files(folder, {"cases/other/case.toml": other, "cases/other/x.log": "fine\n"})
    assert run(capsys, "doc", "cases", *OWN, "-o", "book")[0] == 0
