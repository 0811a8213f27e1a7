"""The verb new: from log lines to a rule and cases that pass, and the template of a pack."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest
from drafting import HEALTHY, LOGS, load_once, logs

from samples import run_command, write_files
from samples import run_quietly as run

PATH = "application/shard_checksum_mismatch"


@pytest.fixture(autouse=True)
def _pack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the shipped pack once for all tests."""
    load_once(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with the logs of a failure and one that only looks like it."""
    monkeypatch.chdir(logs(tmp_path))
    return tmp_path


def rule(folder: Path, path: str = PATH) -> str:
    """Return the text of a drafted rule."""
    return (folder / "rules" / f"{path}.rule").read_text(encoding="utf-8")


def test_from_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines become a rule with a case and a near miss; `rulecheck` alone then checks and tests them."""
    code, out = run(capsys, "new", "--from", "logs/rank5.log:2", "logs/rank0.log:2", "--not", "again.log:2")
    assert code == 0
    assert out.startswith(f"drafted rules/{PATH}.rule\n")
    assert f"case    cases/{PATH}/hit  2 logs, passes\n" in out
    assert f"case    cases/{PATH}/near_miss  1 log, passes\n" in out
    assert "  - class unclassified: no class stands out" in out
    assert "  - rulecheck    (checks the rules and runs the cases of this folder)\n" in out
    code, out = run(capsys)
    assert code == 0
    assert "a draft that nobody has said the root cause of" in out
    assert out.endswith("2 cases: all pass\n")


def test_from_whole_logs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without line numbers the earliest error that no shipped rule knows is taken, with the symptoms that the pack knows."""
    assert run(capsys, "new", "--from", "logs", "--not", "again.log")[0] == 0
    text = rule(folder)
    assert '"shard {file:path}: checksum mismatch, giving up"' in text
    assert "confirm timeout" in text
    assert '    unlike "shard /data/shard-0042.bin: checksum mismatch, reading it again"\n' in text
    assert not (folder / "cases" / PATH / "hit" / "again.log").exists()


def test_range_keeps_what_tells(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a range with an error the ordinary lines are left out; of lines that are named one by one none is."""
    assert run(capsys, "new", "--from", "logs/rank5.log:1-2", "--id", "a.range")[0] == 0
    assert rule(folder, "a/range").count("\n  event ") == 1
    assert run(capsys, "new", "--from", "logs/rank5.log:1", "--from", "logs/rank5.log:2", "--id", "a.single")[0] == 0
    assert rule(folder, "a/single").count("\n  event ") == 2


def test_near_miss_later(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A draft without a near miss says how to get one, and that command works."""
    assert "the same command with --again --not LOG:LINE" in run(capsys, "new", "--from", "logs/rank5.log:2")[1]
    assert run(capsys, "new", "--from", "logs/rank5.log:2", "--again", "--not", "again.log:2")[0] == 0
    assert "unlike" in rule(folder)
    assert sorted(p.name for p in (folder / "cases" / PATH).iterdir()) == ["hit", "near_miss"]


def test_standard_input(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Pasted lines are read from standard input, whole or by line."""
    for number, place in enumerate(("-", "-:2")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LOGS["rank5.log"].encode())))
        assert run(capsys, "new", "--from", place, "--id", f"a.pasted_{number}")[0] == 0
        assert (folder / "cases" / "a" / f"pasted_{number}" / "hit" / "pasted.log").is_file()


def test_compressed_and_same_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A compressed log is stored plain, and logs of one name are kept apart."""
    line = b"2026-11-30 10:04:12,455 ERROR [x.py:1] lane %d dropped\n"
    for number in (1, 2):
        (folder / f"try{number}").mkdir()
        (folder / f"try{number}" / "rank3.log.gz").write_bytes(gzip.compress(line % number))
    assert run(capsys, "new", "--from", "try1/rank3.log.gz:1", "try2/rank3.log.gz:1", "--id", "a.b")[0] == 0
    kept = sorted(p.relative_to(folder / "cases/a/b/hit").as_posix() for p in (folder / "cases/a/b/hit").rglob("*.log"))
    assert kept == ["log1/rank3.log", "log2/rank3.log"]
    assert "lane {lane:int} dropped" in rule(folder, "a/b")


def test_healthy_line_of_the_failing_log(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A healthy line may stand in the failing log itself: the near miss then holds that line alone."""
    write_files(folder, {"both.log": HEALTHY + LOGS["rank5.log"]})
    assert run(capsys, "new", "--from", "both.log:5", "--not", "both.log:2", "--id", "a.b")[0] == 0
    assert (folder / "cases/a/b/near_miss/both.log").read_text() == HEALTHY.splitlines(keepends=True)[1]


def test_healthy_log_that_is_nothing_like_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A healthy log without a line like the trigger is kept from its start, and gives no example."""
    write_files(folder, {"calm.log": "".join(f"2026-11-30 10:04:10,101 INFO [train.py:60] epoch {n}\n" for n in range(400))})
    assert run(capsys, "new", "--from", "logs/rank5.log:2", "--not", "calm.log")[0] == 0
    assert "unlike" not in rule(folder)
    assert (folder / "cases" / PATH / "near_miss" / "calm.log").read_text().count("\n") == 200


def test_into_a_project(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A draft goes to the folders of the project that is named, and its own classes can be used."""
    assert run(capsys, "new", "--pack", "acme-rules")[0] == 0
    found = run(capsys, "new", "--from", "logs/rank5.log:2", "--into", "acme-rules", "--class", "acme.broken_shard", "--id", "a.b")
    assert found[0] == 0
    assert "  class   acme.broken_shard\n" in (folder / "acme-rules" / "acme_rules" / "a" / "b.rule").read_text()
    assert "blames  rank 5 (likely)" in found[1]
    assert "rulecheck test acme-rules/cases --rules acme-rules/acme_rules" in found[1]


def test_pack(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The template of a pack is written, its files are listed, and it passes."""
    code, out = run(capsys, "new", "--pack", "acme-rules")
    assert code == 0
    assert out.startswith("acme-rules: the template of a rule pack, 13 files\n  pyproject.toml\n")
    assert run(capsys, "test", "acme-rules/cases", "--rules", "acme-rules/acme_rules") == (0, "2 cases: all pass\n")
    assert run(capsys, "new", "--pack", "other", "--name", "acme")[0] == 0
    assert (folder / "other" / "acme_rules" / "__init__.py").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no lines: name some"),
        (("--from", "nowhere.log:3"), "no such file or folder: nowhere.log"),
        (("--from", "logs/rank5.log:99"), "there is no line 99, the log has 3"),
        (("--from", "logs/rank0.log"), "shipped rules know every error in logs/rank0.log"),
        (("--from", "calm.log"), "there is no error in calm.log to draft from"),
        (("--from", "logs/rank5.log:2", "--class", "data.worker_exeption"), "did you mean data.worker_exception?"),
        (("--from", "logs/rank5.log:2", "--id", "Bad-Name"), "is no path"),
        (("--from", "logs/rank5.log:2", "--not", "logs/rank5.log:2"), "nothing tells this healthy line"),
        (("--pack", "p", "--from", "logs/rank5.log:2"), "--pack writes a template"),
        (("--name", "acme"), "goes with --pack"),
        (("--pack", "logs"), "not empty"),
    ],
)
def test_mistakes(folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str) -> None:
    """What can't be drafted is said in a sentence, with exit code 2, and nothing is written."""
    write_files(folder, {"calm.log": "2026-11-30 10:04:10,101 INFO [train.py:60] epoch 3\n"})
    code, out, err = run_command(capsys, "new", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert not (folder / "rules").exists()
    assert not (folder / "cases").exists()
