"""The verbs that read logs: scan, correlate, explain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from denpex_rules import plugins, schema
from denpex_rules.commands_logs import merge_scans, read_options
from denpex_rules.errors import UsageError
from denpex_rules.record import LineFormat
from denpex_rules.sighting import Activity, Actor, Emitter, ErrorLine, Scan, Sighting, SourceCoverage
from samples import BROKEN, END, STEP, run_command, workshop, write_files
from samples import run_quietly as run

OWN = ("--rules", "my", "--no-pack")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a pack, logs and a case."""
    monkeypatch.chdir(workshop(tmp_path))
    return tmp_path


def test_scan_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A scan leads with what failed and who failed first, shows the line, and exits with 1."""
    code, out = run(capsys, "scan", "logs", *OWN)
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == "FAILED: A rank gave up on a broken shard"
    assert lines[1].startswith("  failed first  rank 5 (certain)")
    assert any(line.strip().startswith("rank5.log:2  2026-11-30 10:04:12.455Z") for line in lines)
    assert BROKEN in " ".join(out.split())
    assert "Restore /data/shard-0042.bin from its source." in out


def test_scan_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON document is a report of the published schema; the lines hold the same."""
    code, out = run(capsys, "scan", "logs", *OWN, "--format", "json")
    report = schema.from_json(out)
    assert (code, report.verdict) == (1, "failed")
    assert [(s.rank, s.certainty) for s in report.incidents[0].initiators] == [(5, "certain")]
    code, out = run(capsys, "scan", "logs", *OWN, "--format", "jsonl")
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, [row["type"] for row in rows]) == (1, ["incident", "report"])
    assert rows[0]["id"] == report.incidents[0].id


def test_scan_finds_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A healthy log exits with 0, and so does a folder without any log."""
    code, out = run(capsys, "scan", "healthy", *OWN)
    assert (code, out.splitlines()[0]) == (0, "NO FAILURE SEEN: no rule found a failure")
    assert " without an end of the job: whether it still runs or was killed they" in " ".join(out.split())
    (folder / "empty").mkdir()
    code, out = run(capsys, "scan", "empty", *OWN)
    assert (code, out.splitlines()[0]) == (0, "NO DATA: nothing that could be read as a log")


@pytest.mark.parametrize("place", ["option", "project", "plug-in"])
def test_scan_with_a_log_format(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A format of one's own tells rank and time, whether an option, the project or a plug-in gives it."""
    line = "{time:%d.%m.%Y %T} r{rank}/{any} {level}: {text}"
    (folder / "odd").mkdir()
    rows = (f"30.11.2026 10:04:12 r5/8 ERROR: {BROKEN}", "30.11.2026 10:24:10 r5/8 INFO: step 990")
    (folder / "odd/train.log").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    _, out = run(capsys, "scan", "odd", *OWN)
    assert "rank 5" not in out
    (folder / "rulecheck.toml").write_text(
        f'[[formats]]\nname = "acme"\nline = "{line}"\n' * (place == "project"), encoding="utf-8"
    )
    if place == "plug-in":
        monkeypatch.setattr(plugins, "line_formats", lambda: {"acme": LineFormat("acme", (line,))})
    asked = ["--log-format", line] if place == "option" else []
    code, out = run(capsys, "scan", "odd", *OWN, "--coverage", *asked)
    assert (code, "failed first  rank 5" in out, "2026-11-30 10:04:12" in out) == (1, True, True)
    assert ("  option" if place == "option" else "  acme") in out
    code, out = run(capsys, "explain", "storage.broken_shard", "odd", *OWN, *asked)
    assert (code, "rank 5" in out) == (1, True)


def test_log_format_that_is_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A format that can't be read is a usage error."""
    code, _, complaint = run_command(capsys, "scan", "logs", *OWN, "--log-format", "{tim} {text}")
    assert (code, "unknown field {tim}" in complaint) == (2, True)


def test_scan_coverage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All that was read is listed with --coverage only, the gaps with it."""
    assert "Coverage by actor" not in run(capsys, "scan", "logs", *OWN)[1]
    text = run(capsys, "scan", "logs", *OWN, "--coverage")[1]
    assert "Coverage by actor" in text
    assert "silent 2026-11-30 10:04:13 .. 10:24:10 UTC (" in text
    without, with_gaps = (
        schema.from_json(run(capsys, "scan", "logs", *OWN, "--format", "json", *more)[1]) for more in ((), ("--coverage",))
    )
    assert not any(actor.gaps for actor in without.coverage.actors)
    assert any(actor.gaps for actor in with_gaps.coverage.actors)


def test_scan_options_reach_the_engine(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Zone, year, skew and job shape the report."""
    write_files(folder, {"local/rank5.log": f"2026-11-30 10:04:12,455 ERROR [loader.py:31] {BROKEN}\n"})
    options = ("--timezone", "Asia/Tokyo", "--skew", "90s", "--job", "4711")
    report = schema.from_json(run(capsys, "scan", "local", *OWN, *options, "--format", "json")[1])
    incident = report.incidents[0]
    assert incident.evidence[0].instant.lo == "2026-11-30T01:04:12.455Z"
    assert (incident.job, report.coverage.skew_s) == ("4711", 90.0)
    write_files(folder, {"short/rank5.log": f"E1130 10:04:12.455000 4242 loader.py:31] {BROKEN}\n"})
    report = schema.from_json(run(capsys, "scan", "short", *OWN, "--year", "2025", "--timezone", "UTC", "--format", "json")[1])
    lo = report.incidents[0].evidence[0].instant.lo
    assert lo is not None
    assert lo.startswith("2025-11-30")


def test_read_options() -> None:
    """A skew needs its unit."""
    assert read_options("1m30s").skew_ns == 90_000_000_000
    with pytest.raises(UsageError, match="such as 5s"):
        read_options("5")


def test_correlate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sightings that were saved where the logs are give the report that one scan of all logs gives."""
    assert run(capsys, "scan", "logs/rank5.log", *OWN, "--write-sightings", "five.jsonl")[0] == 1
    assert run(capsys, "scan", "logs/rank0.log", *OWN, "--write-sightings", "zero.jsonl")[0] == 0
    whole = schema.from_json(run(capsys, "scan", "logs/rank0.log", "logs/rank5.log", *OWN, "--format", "json")[1])
    code, apart = run(capsys, "correlate", "zero.jsonl", "five.jsonl", *OWN, "--format", "json")
    assert code == 1
    assert schema.from_json(apart) == whole


def test_correlate_keeps_files_of_one_name_apart(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files of one name from two hosts stay two sources, each called after its scan."""
    write_files(folder, {"a/train.log": STEP + END, "b/train.log": f"2026-11-30T10:04:12.455Z ERROR {BROKEN}\n"})
    for name in ("a", "b"):
        run(capsys, "scan", name, *OWN, "--write-sightings", f"{name}.jsonl")
    report = schema.from_json(run(capsys, "correlate", "a.jsonl", "b.jsonl", *OWN, "--format", "json")[1])
    assert [source.source for source in report.coverage.sources] == ["a.jsonl:train.log", "b.jsonl:train.log"]
    assert report.incidents[0].evidence[0].source == "b.jsonl:train.log"


def one_scan(source: str) -> Scan:
    """Return a scan with one of everything."""
    emitter = Emitter(source, "3")
    return Scan(
        (Sighting("e", emitter, 1, 1, 0, 1),),
        (SourceCoverage(source, activities=(Activity(emitter, Actor(rank=3), "rank", 1, 0, 0),)),),
        (ErrorLine("t", emitter, 1, 0, 1, Sighting("e", emitter, 1, 1, 0, 1).instant, Actor(), "x"),),
    )


def test_merge_scans() -> None:
    """Names stay as they are where they are different; where one is shared, every part of every scan is renamed."""
    assert merge_scans({"x": one_scan("a"), "y": one_scan("b")}) == one_scan("a").merge(one_scan("b"))
    assert merge_scans({"x": one_scan("a"), "y": one_scan("a")}) == one_scan("x:a").merge(one_scan("y:a"))


def test_explain(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every clause is shown with its truth and its evidence; something found exits with 1."""
    code, out = run(capsys, "explain", "storage.broken_shard", "logs", *OWN)
    assert code == 1
    assert out.splitlines()[0] == "denpex:storage.broken_shard: confirmed"
    assert "  true          require broken\n" in out
    assert "  true          unless again where file == broken.file " in out
    assert "rank5.log:2 " in out


def test_explain_without_trigger(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rule whose trigger is not there is quiet, which is said, and exits with 0."""
    quiet = "denpex:storage.broken_shard: quiet, its trigger was not seen\n"
    assert run(capsys, "explain", "storage.broken_shard", "healthy", *OWN) == (0, quiet)


def test_explain_incident(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without an id every incident is laid open, with one only that; a folder of an id's shape stays a folder."""
    code, out = run(capsys, "explain", "--incident", "logs", *OWN)
    assert (code, out.splitlines()[0]) == (1, "A rank gave up on a broken shard")
    assert "  decisive records:\n" in out
    assert "    root          denpex:storage.broken_shard (confirmed)" in out
    known = json.loads(run(capsys, "scan", "logs", *OWN, "--format", "json")[1])["incidents"][0]["id"]
    for words in ((known, "logs"), (known[:6], "logs")):
        assert run(capsys, "explain", "--incident", *words, *OWN) == (1, out)
    (folder / "logs").rename(folder / "beef")
    assert run(capsys, "explain", "--incident", "beef", *OWN)[0] == 1
    assert run(capsys, "explain", "--incident", "healthy", *OWN) == (0, "no incident in these logs\n")


def test_explain_incident_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The reasoning has a JSON form and a form of one line an incident; the incident in it is that of the report."""
    (whole,) = json.loads(run(capsys, "explain", "--incident", "logs", *OWN, "--format", "json")[1])["reasonings"]
    (line,) = run(capsys, "explain", "--incident", "logs", *OWN, "--format", "jsonl")[1].splitlines()
    assert json.loads(line) == whole
    assert whole["incident"] == json.loads(run(capsys, "scan", "logs", *OWN, "--format", "json")[1])["incidents"][0]
    assert {one["stands"] for one in whole["considered"]} == {"initiator", "rejected"}


def test_explain_refuses(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An id that no incident has, and a rule without logs, are mistakes of the command."""
    for words, said in (
        (("--incident", "abcdef012345", "logs"), "no incident 'abcdef012345' in these logs; their incidents: "),
        (("storage.broken_shard",), "no logs: write rulecheck explain storage.broken_shard LOGS"),
    ):
        code, _, err = run_command(capsys, "explain", *words, *OWN)
        assert code == 2
        assert said in err


def test_explain_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An explanation has a JSON form and a form of one line a key."""
    arguments = ("explain", "denpex:storage.broken_shard", "logs", *OWN, "--format")
    whole = json.loads(run(capsys, *arguments, "json")[1])["explanations"]
    rows = [json.loads(line) for line in run(capsys, *arguments, "jsonl")[1].splitlines()]
    assert whole == rows
    assert [(c["verb"], c["truth"]) for c in rows[0]["clauses"]] == [("require", "true"), ("unless", "true")]
