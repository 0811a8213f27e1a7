"""The three lines that this project began with, and a fourth: what each proves alone, and all together."""

from __future__ import annotations

from itertools import permutations

import pytest

from denpex_rules import compile_rules, load_pack
from denpex_rules.engine import scan_bytes
from denpex_rules.finding import Incident, Report
from denpex_rules.program import Program

INTEL = b"RuntimeError: Worker failed with error 'level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)'"
XID = b"NVRM: Xid (PCI:0000:41:00): 79, pid=..., GPU has fallen off the bus."
TIMEOUT = (
    b"[rank2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8412, OpType=ALLREDUCE) "
    b"ran for 1800000 milliseconds before timing out"
)
NCCL_OOM = b"NCCL WARN Cuda failure 'out of memory'"


@pytest.fixture(scope="module")
def program() -> Program:
    """Return the shipped pack, compiled."""
    return compile_rules(load_pack())


def report(program: Program, *lines: bytes) -> Report:
    """Return the report of one pasted text."""
    return scan_bytes({"paste.txt": b"\n".join(lines) + b"\n"}, program)


def everywhere(incidents: tuple[Incident, ...]) -> list[Incident]:
    """Return all incidents, nested ones too."""
    return [i for root in incidents for i in (root, *everywhere(root.explains))]


def test_xid_alone_is_certain_of_the_device_only(program: Program) -> None:
    """The kernel names the device; no line tells its host or the rank that used it."""
    (incident,) = report(program, XID).incidents
    (initiator,) = incident.initiators
    assert incident.cls == "gpu.fell_off_bus"
    assert (initiator.rank, initiator.host, initiator.device, initiator.certainty) == (None, None, "0000:41:00", "certain")


def test_timeout_alone_is_a_report_and_tells_when_the_stall_began(program: Program) -> None:
    """Rank 2 waited: it is a reporter, nobody is accused, the stall began 1,800 s before the line, and logs are missing."""
    found = report(program, TIMEOUT)
    (incident,) = found.incidents
    assert found.verdict == "undecided"
    assert incident.cls == "collective.timeout"
    assert incident.initiators == ()
    assert [r.rank for r in incident.reporters.actors] == [2]
    assert -1800.0 in {e.moments.get("stalled") for e in incident.evidence}
    assert any("kernel log" in m.fact for m in incident.missing)


def test_intel_line_alone_is_a_lost_device(program: Program) -> None:
    """The worker's device is lost; which device, host and rank no line tells."""
    (incident,) = report(program, INTEL).incidents
    assert incident.cls == "intel.gpu_failure"
    assert all((s.rank, s.host) == (None, None) for s in incident.initiators)


def test_nccl_out_of_memory_alone_blames_no_rank(program: Program) -> None:
    """NCCL's warning tells that memory ran out, not whose."""
    found = report(program, NCCL_OOM)
    assert [i.cls for i in found.incidents] == ["gpu.memory.out_of_memory"]
    assert all((s.rank, s.host) == (None, None) for s in found.incidents[0].initiators)


def test_all_together_in_any_order(program: Program) -> None:
    """In whatever order they were pasted: the device is certain, rank 2 is a reporter and never accused."""
    shapes = set()
    for lines in permutations((INTEL, XID, TIMEOUT)):
        found = report(program, *lines)
        every = everywhere(found.incidents)
        accused = {(s.rank, s.host, s.device, s.certainty) for i in every for s in i.initiators}
        assert (None, None, "0000:41:00", "certain") in accused
        assert all(rank is None and host is None for rank, host, _, _ in accused)
        timeout = next(i for i in every if i.cls == "collective.timeout")
        assert [r.rank for r in timeout.reporters.actors] == [2]
        shapes.add(tuple(sorted((i.cls, i.outcome, i.initiators) for i in every)))
    assert len(shapes) == 1
