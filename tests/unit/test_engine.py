"""From bytes to a report, whole and as a stream."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from denpex_rules import compile_rules, load_pack, load_text, report
from denpex_rules.clock import parse_time
from denpex_rules.engine import Options, Session, correlate, explain, matches, scan, scan_bytes, scan_lines, sight
from denpex_rules.errors import UsageError
from denpex_rules.finding import Incident, Report
from denpex_rules.program import Program

DEMO = Path(__file__).parents[1] / "rules" / "hardware" / "gpu" / "fell_off_bus" / "two_hosts"
XID = b"NVRM: Xid (PCI:0000:41:00): 79, pid=..., GPU has fallen off the bus.\n"


@pytest.fixture(scope="module")
def program() -> Program:
    """Return the shipped pack, compiled."""
    return compile_rules(load_pack())


def logs() -> dict[str, bytes]:
    """Return the demo job's logs by name."""
    return {p.name: p.read_bytes() for p in sorted(DEMO.iterdir()) if p.name != "case.toml"}


def unrevised(report: Report) -> Report:
    """Return a report without the revisions that a stream counts."""
    return evolve(report, incidents=tuple(evolve(i, revision=1) for i in report.incidents))


def test_demo_job_names_rank_host_and_device(program: Program) -> None:
    """The GPU's rank is named, not those that printed the timeout."""
    (first, *_) = scan([DEMO], program).incidents
    assert [(s.rank, s.host, s.device, s.certainty) for s in first.initiators] == [(5, "node-02", "0000:41:00", "certain")]


def test_halves_give_the_same_as_the_whole(program: Program) -> None:
    """Sightings and correlation apart are one scan."""
    assert correlate(sight([DEMO], program), program) == scan([DEMO], program)


def test_one_bare_line_is_enough_for_the_device(program: Program) -> None:
    """A pasted kernel line names its device as certain; host and rank stay unknown."""
    (incident,) = scan_bytes({"paste": XID}, program).incidents
    assert [(s.rank, s.host, s.device, s.certainty) for s in incident.initiators] == [(None, None, "0000:41:00", "certain")]


def test_lines_may_come_with_or_without_newlines(program: Program) -> None:
    """Text and bytes, ended or not, are the same lines."""
    assert scan_lines({"paste": [XID.decode().rstrip()]}, program).incidents == scan_lines({"paste": [XID]}, program).incidents


def test_stream_ends_with_the_report_of_a_whole_scan(program: Program) -> None:
    """Feeding bytes in small interleaved pieces and closing gives the same report."""
    session = Session(program)
    for start in range(0, 200_000, 997):
        for name, data in logs().items():
            if data[start : start + 997]:
                session.feed(name, data[start : start + 997])
    assert unrevised(session.close()) == scan_bytes(logs(), program)


def test_incident_is_given_when_it_is_seen_and_revised_when_more_comes(program: Program) -> None:
    """The first advance gives the lost GPU; later evidence gives a higher revision of the same id; nothing new gives nothing."""
    given: list[Incident] = []
    session = Session(program, on_incident=given.append)
    session.feed("kern_node-02.log", logs()["kern_node-02.log"])
    (first,) = session.advance()
    assert session.advance() == ()
    for name, data in logs().items():
        if name != "kern_node-02.log":
            session.feed(name, data)
    session.close()
    same = [i for i in given if i.id == first.id]
    assert [i.revision for i in same] == [1, 2]


def test_advance_proves_silence_without_later_lines(program: Program) -> None:
    """Saying that all sources were read until later lets a silence be decided."""
    early = {
        n: b"".join(line for line in d.splitlines(keepends=True) if b"10:34:" not in line and b"10:35:" not in line)
        for n, d in logs().items()
    }
    session = Session(program)
    for name, data in early.items():
        session.feed(name, data)
    (found, *_) = session.advance(parse_time("2026-11-30T10:30:00Z"))
    silence = next(c for c in found.clauses if c.step == "silence")
    assert silence.truth == "true"


def test_closed_session_refuses_more(program: Program) -> None:
    """Feeding or closing after the end is a usage error."""
    session = Session(program)
    session.close()
    with pytest.raises(UsageError, match="closed"):
        session.feed("a.log", b"x\n")
    with pytest.raises(UsageError, match="closed"):
        session.close()


def test_explain_tells_every_clause(program: Program) -> None:
    """Each clause of the rule has a truth."""
    (told,) = explain([DEMO], program, "hardware.gpu.fell_off_bus")
    assert told.outcome == "confirmed"
    assert {c.truth for c in told.clauses} <= {"true", "false", "undetermined"}
    with pytest.raises(UsageError, match="unknown rule"):
        explain([DEMO], program, "no.such.rule")


def test_matches_tell_how_each_rule_came_out(program: Program) -> None:
    """Every rule whose trigger was seen has its matches, those that stayed quiet too; others have none."""
    found = matches(sight([DEMO], program), program)
    outcomes = {match.rule.id: match.outcome for match in found}
    assert outcomes["hardware.gpu.fell_off_bus"] == "confirmed"
    assert outcomes["runtime.collective.timeout"] == "confirmed"
    assert "storage.full" not in outcomes
    assert all(match.clauses for match in found)


def test_given_job_is_reported(program: Program) -> None:
    """The caller's job id stands in the incident."""
    assert scan([DEMO], program, Options(job="4711")).incidents[0].job == "4711"


def test_missing_path_is_a_usage_error(program: Program) -> None:
    """A path that does not exist is refused by name."""
    with pytest.raises(UsageError, match=r"nowhere\.log"):
        scan(["nowhere.log"], program)


def test_named_rank_without_a_cause_still_lacks_its_hosts_kernel_log(program: Program) -> None:
    """Without any kernel log a rank is likely at most, and the first missing fact is its host's kernel log around the stall."""
    ranks = {name: data for name, data in logs().items() if name.startswith("rank")}
    (incident, *_) = scan_bytes(ranks, program).incidents
    assert incident.cls == "collective.timeout"
    assert {s.certainty for s in incident.initiators} <= {"likely"}
    first = incident.missing[0]
    assert first.fact.startswith("the kernel log of host node-02 from 2026-11-30T09:54:11.979Z to 2026-11-30T10:05:12")
    assert first.command.startswith("ssh node-02 journalctl -k")


def test_explanation_names_the_line_that_came_nearest(tmp_path: Path) -> None:
    """A clause that missed says by how much and on which line, a guard what it saw; a report stays free of lines."""
    rule = """language 1
rule example.broken {
  title "x"
  class storage.checkpoint_corrupt
  event broken error in rank "shard {file:path}: checksum mismatch"
  event again in rank "shard {file:path}: read again"
  event late in rank "shard {file:path}: still waiting"
  per job within 1h
  require broken
  unless again where file == broken.file after broken
  confirm late where file == broken.file within 10s after broken
  blame none
}
"""
    program = compile_rules(load_text(rule))
    stamps = ("10:00:00", "ERROR", "checksum mismatch"), ("10:00:30", "INFO", "still waiting"), ("10:00:40", "INFO", "read again")
    lines = [f"2026-11-30T{clock}Z {level} shard /a: {text}" for clock, level, text in stamps]
    log = tmp_path / "rank0.log"
    log.write_text("\n".join([*lines, ""]), encoding="utf-8")
    (told,) = explain([log], program, "example.broken")
    assert [(c.step, c.truth, Path(c.nearest or "").name) for c in told.clauses][1:] == [
        ("again", "false", "rank0.log:3"),
        ("late", "false", "rank0.log:2"),
    ]
    assert told.clauses[2].miss_s == pytest.approx(20, abs=1.1)
    (match,) = matches(sight([log], program), program)
    assert all(report.clause_result(c).nearest is None for c in match.clauses)


def test_retried_faults_of_a_long_job_are_no_failure() -> None:
    """A guard that looks through all progress of a rank again for each caught error is decided, not given up."""
    logs = {}
    for rank in range(4):
        lines = []
        for step in range(900):
            stamp = f"2026-11-30 10:{step // 60:02}:{step % 60:02},{rank:03}"
            lines.append(f"{stamp} INFO train: step {step} loss 2.5 lr 1e-4")
            if step % 300 == 100:
                lines += [
                    f"{stamp} WARNING train: caught exception, skipping batch",
                    "Traceback (most recent call last):",
                    '  File "/opt/job/train.py", line 5, in step',
                    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79 GiB",
                ]
        logs[f"rank_{rank}.log"] = "\n".join(lines).encode()
    assert scan_bytes(logs, compile_rules(load_pack())).incidents == ()
