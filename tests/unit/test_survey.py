"""What rules that exist see in logs: events by line, errors that none knows, symptoms, the line most like a message."""

from __future__ import annotations

from pathlib import Path

from drafting import BROKEN, LOGS, logs, shipped

from denpex_rules import sources, survey


def scan(logs: dict[str, str]) -> survey.Scan:
    """Return what the shipped rules see in logs in memory."""
    return survey.survey_bytes({name: text.encode() for name, text in logs.items()}, shipped().program)


def test_files_and_memory_agree(tmp_path: Path) -> None:
    """Logs in files and the same logs in memory show the same events."""
    logs(tmp_path)
    read = survey.survey(sources.expand([tmp_path / "logs"]), shipped().program)
    assert survey.events_by_line(read) == survey.events_by_line(scan(LOGS))


def test_events_by_line() -> None:
    """Events are found by log and line."""
    found = survey.events_by_line(scan(LOGS))
    assert "denpex:lib.c10d#timeout" in found["rank0.log", 2]
    assert ("rank5.log", 2) not in found


def test_unknown_errors() -> None:
    """The earliest error that starts no shipped rule is found, once in each log that has its shape."""
    line = "2026-11-30 10:04:12,{} ERROR [x.py:1] lane {} dropped\n"
    several = scan({**LOGS, "rank7.log": line.format(400, 3) * 2, "rank8.log": line.format(900, 4)})
    found = survey.unknown_errors(several, shipped().program)
    assert [(e.emitter.source, e.line) for e in found] == [("rank7.log", 1), ("rank8.log", 1)]
    assert [(e.emitter.source, e.line) for e in survey.unknown_errors(scan(LOGS), shipped().program)] == [("rank5.log", 2)]


def test_exceptions_explain_nothing() -> None:
    """An exception that only the rule for any exception knows is unknown; a known symptom is not."""
    raised = 'Traceback (most recent call last):\n  File "x.py", line 3, in f\n    g()\nRuntimeError: lane 3 dropped\n'
    found = survey.unknown_errors(scan({"rank3.log": raised, "rank0.log": LOGS["rank0.log"]}), shipped().program)
    assert [(e.emitter.source, e.line) for e in found] == [("rank3.log", 4)]
    assert survey.unknown_errors(scan({"rank0.log": LOGS["rank0.log"]}), shipped().program) == ()


def test_symptoms() -> None:
    """Each symptom that the pack has a shared event for is found where it was first seen."""
    assert survey.symptoms(scan(LOGS), shipped().program) == (("rank0.log", 2),)
    assert survey.symptoms(scan({"rank5.log": LOGS["rank5.log"]}), shipped().program) == ()


def test_nearest_line(tmp_path: Path) -> None:
    """The line that is most like a message is found among those that share a word with it; none where none is like it."""
    logs(tmp_path)
    (healthy,) = sources.expand([tmp_path / "again.log"])
    assert survey.nearest_line(healthy, BROKEN, ["checksum"], 0.5) == 2
    assert survey.nearest_line(healthy, "wholly other words", ["other"], 0.5) == 0
    (open_end,) = [sources.from_bytes("x.log", b"step 1\nshard /a: checksum mismatch, giving up")]
    assert survey.nearest_line(open_end, BROKEN, ["checksum"], 0.5) == 2


def test_likeness() -> None:
    """A message stands wholly in a line that holds it, and hardly in another one."""
    assert survey.likeness(BROKEN, f"2026-11-30 {BROKEN}".encode()) == 1.0
    assert survey.likeness(BROKEN, b"0123456789") < 0.2
