"""The page of an incident's reasoning."""

from __future__ import annotations

from typing import Any

import pytest
from rich.cells import cell_len

from denpex_rules.dossier import WIDTH, dossier_page
from denpex_rules.finding import (
    Alternative,
    ClauseResult,
    Considered,
    Decisive,
    Group,
    Interval,
    MissingFact,
    Moment,
    Reasoning,
    Weighed,
    Who,
)
from samples import HOSTILE, TIMEOUT, evidence, incident


def reasoning(**changes: Any) -> Reasoning:
    """Return the reasoning of the GPU loss of the samples."""
    clause = ClauseResult("require", "lost", "require lost", "true")
    late = Moment("2026-11-30T10:14:12Z", "2026-11-30T10:14:12.999Z", "wall")
    report = evidence(
        TIMEOUT, step="timeout", source="rank0.log", line=77, actor=Who(rank=0), instant=late, moments={"stalled": -600.0}
    )
    fields: dict[str, Any] = {
        "incident": incident(),
        "timeline": (
            Decisive(
                "witness", "", evidence("step 8412", step="last progress", instant=Moment("2026-11-30T10:04:10Z", None, "wall"))
            ),
            Decisive("evidence", "core:hardware.gpu.fell_off_bus", evidence()),
            Decisive("explained", "core:framework.collective_timeout", report),
        ),
        "rules": (
            Weighed("core:hardware.gpu.fell_off_bus", "GPU lost", "root", "confirmed", "no other finding explains it", (clause,)),
            Weighed("core:host.oom", "Out of memory", "quiet", "quiet", "`require killed` is false", count=3),
        ),
        "alternatives": (Alternative("rank bad", applied=False, why="unknown"), Alternative("host lost.host", applied=True)),
        "considered": (
            Considered(Group(1, (Who(5, "node-02"),)), "initiator", ("the kernel names the device",)),
            Considered(Group(2, (Who(0), Who(1))), "rejected", (), ("it only reported (core.timeout)",)),
        ),
        "missing": (MissingFact("the log of rank 7", "it may show more", "collect it"),),
    }
    return Reasoning(**{**fields, **changes})


def lines_of(one: Reasoning) -> list[str]:
    """Return the lines of a page."""
    return dossier_page((one,)).plain().splitlines()


def test_table() -> None:
    """Each record has a row of when, who, where and what it shows, and one of its text; the onset stands at its time."""
    lines = lines_of(reasoning())
    table = lines[lines.index("  decisive records:") + 1 : lines.index("  rules:")]
    assert table[0] == "    2026-11-30"
    assert table[1] == "    >10:04:10  node-02 0000:41:00  kern_node-02.log:118  last progress"
    assert table[2] == "      | step 8412"
    assert table[3] == "    ~10:04:10  -- the failure began --"
    assert table[4] == "    10:04:12   node-02 0000:41:00  kern_node-02.log:118  lost"
    assert table[6] == "    10:14:12   rank 0              rank0.log:77          timeout (collective_ti…"
    assert table[7].startswith("      | [stalled 10m earlier] [rank0] Watchdog caught")


def test_days_are_shown_where_there_are_several() -> None:
    """Records of two days carry their day."""
    next_day = Moment("2026-12-01T00:00:01Z", "2026-12-01T00:00:01Z", "wall")
    records = (Decisive("evidence", "a", evidence()), Decisive("evidence", "a", evidence(instant=next_day)))
    lines = lines_of(reasoning(timeline=records))
    assert any(line.startswith("    11-30 10:04:12  ") for line in lines)
    assert any(line.startswith("    12-01 00:00:01  ") for line in lines)


@pytest.mark.parametrize("text", ["x" * 500, "界" * 200, HOSTILE, "one\ntwo"])
def test_width(text: str) -> None:
    """Whatever the log holds, no row of the table is wider than 80 columns, and nothing of it steers a terminal."""
    record = evidence(text, source=f"/srv/{text}/rank0.log", actor=Who(3, text, text))
    lines = lines_of(reasoning(timeline=(Decisive("evidence", "r." + text, record),) * 2, incident=incident(onset=None)))
    table = lines[lines.index("  decisive records:") : lines.index("  rules:")]
    assert max(map(cell_len, table)) <= WIDTH
    assert all(line.isprintable() for line in lines)


def test_rules_candidates_and_missing_facts() -> None:
    """Clauses stand below the root; quiet rules say why; candidates stand with what speaks for and against them."""
    text = "\n".join(lines_of(reasoning()))
    assert "    root          core:hardware.gpu.fell_off_bus (confirmed): no other finding" in text
    assert "      true          require lost" in text
    assert "    quiet         core:host.oom (quiet, 3 times): `require killed` is false" in text
    assert "    not           rank bad: unknown" in text
    assert "    applies       host lost.host" in text
    assert "    initiator     rank 5, host node-02\n                  for: the kernel names the device" in text
    assert "    rejected      2: ranks 0, 1\n                  against: it only reported (core.timeout)" in text
    assert "      get it: collect it" in text


def test_without_initiator() -> None:
    """Where nobody is named, the head says so; without any record there is no table."""
    nobody = reasoning(incident=incident(initiators=(), candidates=(), onset=None), missing=(), timeline=())
    assert lines_of(nobody)[2] == "  failed first  nobody is accused"
    assert lines_of(reasoning(incident=incident(initiators=(), onset=Interval("2026-11-30T10:04:10Z", "2026-11-30T10:04:10Z"))))[
        2
    ] == ("  failed first  undecided")
