"""The verbs that prove rules: check and test."""

from __future__ import annotations

import json
import stat
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from denpex_rules.commands_check import CaseForm, CheckForm
from samples import BROKEN, CASE, RULE, run_command, workshop, write_files
from samples import run_quietly as run

OWN = ("--rules", "my", "--no-pack")
BAD = RULE.replace("within 1h", "within 1").replace("  class ", "  clas ")
SLIPS = RULE.replace("A rank gave up on a broken shard", "A rank gave up on a broken shard.").replace(
    "  require broken", "  require broken count >= 1"
)
FILE = "my/storage/broken_shard.rule"


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
    mute = RULE.replace('  do  "Restore {broken.file} from its source."\n', "")
    write_files(folder, {"my/storage/broken_shard.rule": mute})
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
    """A failing case is named with what it says, what differs, and why somebody is accused; the exit code is 1."""
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
        "  how storage.broken_shard came out:",
        "    rank 5 (certain) is accused by denpex:storage.broken_shard: `broken`: rank 5 at",
        "    2026-11-30T10:04:12.455Z",
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
    assert "  how storage.broken_shard came out:\n    false: unless again where file == broken.file" in out
    assert "see rank5.log:4" in " ".join(out.split())


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
        "evidence": [],
        "why": [],
    }


# ------------------------------------------------------------------ fixing


def test_fix(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What can be mended safely is mended in the file, which keeps its permissions; what was done is told, once."""
    write_files(folder, {FILE: SLIPS})
    (folder / FILE).chmod(0o640)
    code, out = run(capsys, "check", "my", "--fix")
    assert code == 0
    assert out.splitlines() == [
        f"fixed {FILE}:4: remove the full stop (L0126)",
        f"fixed {FILE}:13: remove the count (L0121)",
        "",
        "1 rule: no mistakes, 2 fixed",
    ]
    assert (folder / FILE).read_text() == RULE
    assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o640
    assert run(capsys, "check", "my", "--fix") == (0, "1 rule: no mistakes\n")
    assert [p.name for p in (folder / FILE).parent.iterdir()] == ["broken_shard.rule"]


def test_fix_mistakes_then_advice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistake that hides advice is mended first, then what it hid; a guess is left to a person."""
    write_files(folder, {FILE: SLIPS.replace("language 1\n\n", "").replace("where file == broken", "where file = broken")})
    code, out = run(capsys, "check", "my", "--fix")
    assert (code, out.splitlines()[-1]) == (0, "1 rule: no mistakes, 4 fixed")
    assert (folder / FILE).read_text() == RULE
    write_files(folder, {FILE: RULE.replace("require broken", "requir broken")})
    code, out = run(capsys, "check", "my", "--fix")
    assert code == 2
    assert "did you mean require?" in out
    assert "requir broken" in (folder / FILE).read_text()


def test_fix_touches_only_what_was_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other files of a pack, its building blocks too, are left alone."""
    slip = "language 1\nevent gone in rank /shard is gone/\n"
    write_files(folder, {FILE: SLIPS, "my/lib/shards.rule": slip})
    run(capsys, "check", FILE, "--fix")
    assert (folder / FILE).read_text() == RULE
    assert (folder / "my/lib/shards.rule").read_text() == slip


def test_fix_keeps_line_ends_and_mark(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CR LF line ends and a byte order mark survive."""
    raw = b"\xef\xbb\xbf" + SLIPS.replace("\n", "\r\n").encode()
    (folder / FILE).write_bytes(raw)
    assert run(capsys, "check", "my", "--fix")[0] == 0
    assert (folder / FILE).read_bytes() == b"\xef\xbb\xbf" + RULE.replace("\n", "\r\n").encode()


def test_diff(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What --fix would do is shown as a unified diff, exits with 1, and changes nothing."""
    write_files(folder, {FILE: SLIPS})
    code, out = run(capsys, "check", "my", "--diff")
    lines = out.splitlines()
    assert (code, lines[:2], lines[-1]) == (1, [f"--- {FILE}", f"+++ {FILE}"], "2 fixes in 1 file")
    assert "-  require broken count >= 1" in lines
    assert "+  require broken" in lines
    assert (folder / FILE).read_text() == SLIPS
    write_files(folder, {FILE: RULE})
    assert run(capsys, "check", "my", "--diff") == (0, "nothing to fix\n")


def test_hint_at_fix(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A check that found something to mend says so."""
    write_files(folder, {FILE: SLIPS})
    assert run(capsys, "check", "my")[1].splitlines()[-1] == "--fix mends 2 of them; --diff shows how"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--fix",), "name the rules to mend"),
        (("--diff",), "name the rules to mend"),
        (("my", "--fix", "--diff"), "leave out --fix"),
        (("my", "--diff", "--format", "json"), "leave out --fix and --format"),
    ],
)
def test_fix_what(folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    """The shipped pack is never mended by accident, and a difference is only shown."""
    code, _, err = run_command(capsys, "check", *arguments)
    assert code == 2
    assert message in err


# ------------------------------------------------------------------ forms


def test_check_sarif(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Mistakes have a SARIF form, with the same exit code."""
    write_files(folder, {FILE: BAD})
    code, out = run(capsys, "check", "my", "--format", "sarif")
    run_of = json.loads(out)["runs"][0]
    assert code == 2
    assert {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run_of["results"]} == {FILE}


def test_check_github(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Mistakes have the form of annotations; without any nothing is said."""
    assert run(capsys, "check", "my", "--format", "github") == (0, "")
    write_files(folder, {FILE: SLIPS})
    code, out = run(capsys, "check", "my", "--format", "github")
    first, second = out.splitlines()
    assert code == 0
    assert first.startswith(f"::warning file={FILE},line=4,col=11,endColumn=")
    assert second.startswith(f"::warning file={FILE},line=13,col=18,")


def test_check_junit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Mistakes fail in JUnit; hints do with --strict; without either one test passes."""
    sound = ET.fromstring(run(capsys, "check", "my", "--format", "junit")[1])
    assert (sound.get("tests"), sound.get("failures")) == ("1", "0")
    write_files(folder, {FILE: SLIPS})
    loose = ET.fromstring(run(capsys, "check", "my", "--format", "junit")[1])
    code, out = run(capsys, "check", "my", "--format", "junit", "--strict")
    assert (loose.get("tests"), loose.get("failures")) == ("2", "0")
    assert (code, ET.fromstring(out).get("failures")) == (1, "2")


def test_check_json_tells_patches_and_fixes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON form holds each patch, and with --fix how much was mended."""
    write_files(folder, {FILE: SLIPS})
    whole = json.loads(run(capsys, "check", "my", "--format", "json")[1])
    start = SLIPS.index('"A rank gave')
    text = '"A rank gave up on a broken shard"'
    assert whole["diagnostics"][0]["patch"] == {
        "title": "remove the full stop",
        "safe": True,
        "edits": [{"start": start, "end": start + len(text) + 1, "text": text}],
    }
    fixed = json.loads(run(capsys, "check", "my", "--fix", "--format", "json")[1])
    assert fixed == {"rules": 1, "fixed": 2, "diagnostics": []}


def test_cases_in_other_forms(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cases have a JUnit form, one test a case, and annotations at the case.toml of each that fails."""
    passing = ET.fromstring(run(capsys, "test", "cases", *OWN, "--format", "junit")[1])
    assert (passing.get("tests"), passing.get("failures")) == ("1", "0")
    assert run(capsys, "test", "cases", *OWN, "--format", "github") == (0, "")
    case = "cases/storage/broken_shard/two_ranks/case.toml"
    write_files(folder, {case: CASE.replace("rank = 5", "rank = 4")})
    code, out = run(capsys, "test", "cases", *OWN, "--format", "junit")
    failing = ET.fromstring(out)
    assert (code, failing.get("failures")) == (1, "1")
    assert failing.find(".//testcase").attrib == {"classname": "cases/storage/broken_shard", "name": "two_ranks"}  # type: ignore[union-attr]
    assert "initiator missed: rank 4" in "".join(failing.itertext())
    code, out = run(capsys, "test", "cases", *OWN, "--format", "github")
    assert code == 1
    assert out.startswith(
        f"::error file={case},line=4,title=case fails::says: rank 5 gives up on a broken shard%0A- initiator missed"
    )


def test_case_shows_the_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Missed and extra lines of evidence are shown by file and line, with their text, like a diff."""
    case = "cases/storage/broken_shard/two_ranks/case.toml"
    write_files(folder, {case: CASE.replace("rank5.log:2", "rank5.log:3")})
    _, out = run(capsys, "test", "cases", *OWN)
    assert "    - rank5.log:3  2026-11-30T10:24:10.101Z INFO step 990" in out
    assert f"    + rank5.log:2  2026-11-30T10:04:12.455Z ERROR {BROKEN}" in out


def test_forms_agree() -> None:
    """Both verbs have the forms that make sense for them, under the same names."""
    assert {form.value for form in CheckForm} - {form.value for form in CaseForm} == {"sarif"}
    assert {form.value for form in CaseForm} <= {form.value for form in CheckForm}


def test_cases_are_read_with_the_projects_log_formats(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A case whose logs have a form of the project's own passes where the project describes it."""
    case = folder / "odd/storage/broken_shard/own_form"
    rows = ["30.11.2026 10:04:12 r5: shard /data/shard-0042.bin: checksum mismatch, giving up", "30.11.2026 10:24:10 r5: step 990"]
    write_files(case, {"train.log": "".join(f"{row}\n" for row in rows), "case.toml": CASE.replace("rank5.log:2", "train.log:1")})
    assert run_command(capsys, "test", "odd", "--rules", "my", "--no-pack")[0] == 1
    own = '[[formats]]\nname = "acme"\nline = "{time:%d.%m.%Y %T} r{rank}: {text}"\n'
    (folder / "rulecheck.toml").write_text(own, encoding="utf-8")
    assert run_command(capsys, "test", "odd", "--rules", "my", "--no-pack")[0] == 0
