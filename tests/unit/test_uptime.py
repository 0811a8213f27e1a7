"""Uptime clocks on the axis of the day, as far as anchors prove it."""

from __future__ import annotations

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules import compile_rules, load_pack
from denpex_rules.clock import MAX, MINUTE, SECOND, Instant, parse_time
from denpex_rules.engine import scan_bytes
from denpex_rules.sighting import Actor, Emitter, Sighting
from denpex_rules.uptime import AUDIT, Origin, Place, origins

BOOT = parse_time("2026-11-30T09:00:00Z")


def same(instant: Instant, sighting: Sighting) -> Instant:
    return instant


def up(second: float, text: str, *, source: str = "dmesg", host: str | None = "node-07", event: str = "p:x#e") -> Sighting:
    lo = int(second * SECOND)
    instant = Instant(lo, lo + 999, "monotonic", source)
    return Sighting(event, Emitter(source), 0, 1, 0, 1, instant, Actor(host=host), kind="kernel", text=text)


def day(second: float, text: str, *, host: str | None = "node-07", boot: int = BOOT) -> Sighting:
    lo = boot + int(second * SECOND)
    return Sighting("p:x#e", Emitter("kern.log"), 0, 1, 0, 1, Instant(lo, lo + 999), Actor(host=host), kind="kernel", text=text)


def audit(second: float, ahead: float = 0) -> Sighting:
    micros = (BOOT + int((second + ahead) * SECOND)) // 1_000_000
    return evolve(up(second, "audit", event=f"denpex:{AUDIT}"), fields={"seconds": micros // 1000, "millis": micros % 1000})


def found(*sightings: Sighting, place: Place = same) -> dict[str, Origin]:
    return dict(origins(sightings, place))


def test_audit_record_tells_the_boot() -> None:
    """A record with both times is enough, and what it tells holds the true time."""
    origin = found(audit(100))["dmesg"]
    assert origin.lo <= BOOT <= origin.hi
    assert origin.hi - origin.lo < 2 * SECOND
    assert "booted at 2026-11-30T08:59:59" in origin.text("dmesg")


def test_anchors_that_contradict_each_other_tell_nothing() -> None:
    """A clock that was set between two anchors has no one origin."""
    assert found(audit(100), audit(4000, ahead=120)) == {}


def test_two_lines_in_both_logs() -> None:
    """Lines of the same text on one host, further apart than one burst, tell the boot."""
    lines = (up(100, "a"), up(400, "b"), day(100, "a"), day(400, "b"))
    origin = found(*lines)["dmesg"]
    assert origin.lo <= BOOT <= origin.hi


def test_pairs_that_prove_nothing() -> None:
    """One pair, a burst, pairs of two hosts or none, repeated texts, and lines of another boot leave the clock alone."""
    assert found(up(100, "a"), day(100, "a")) == {}
    assert found(up(100, "a"), up(101, "b"), day(100, "a"), day(101, "b")) == {}
    assert found(up(100, "a"), up(400, "b"), day(100, "a", host="node-08"), day(400, "b", host="node-08")) == {}
    assert found(up(100, "a", host=None), up(400, "b", host=None), day(100, "a", host=None), day(400, "b", host=None)) == {}
    assert found(up(100, "a"), up(400, "b"), day(100, "a"), day(900, "a"), day(400, "b")) == {}
    assert found(up(100, "a"), up(400, "b"), day(100, "a"), day(400, "b", boot=BOOT + MINUTE)) == {}


def test_time_of_day_is_placed_first() -> None:
    """A host's offset moves what its audit records tell."""
    plain, moved = found(audit(100))["dmesg"], found(audit(100), place=lambda i, s: i.shift(-MINUTE))["dmesg"]
    assert moved.lo == plain.lo - MINUTE
    assert found(audit(100), place=lambda i, s: evolve(i, clock="local")) == {}


def test_open_sides_stay_open() -> None:
    """A line without an end of its interval has none on the other axis either."""
    placed = Origin(BOOT, BOOT, 0, 0).place(Instant(5, MAX, "monotonic", "dmesg"))
    assert placed.hi == MAX
    assert placed.clock == "wall"


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(-50e-6, 50e-6))
def test_the_true_time_lies_inside(anchor: int, second: int, drift: float) -> None:
    """However far from its anchor, a placed line's interval holds its true time, where the clock drifts by less than the bound."""
    origin = found(audit(anchor))["dmesg"]
    placed = origin.place(up(second, "x").instant)
    true = BOOT + second * SECOND + int((second - anchor) * drift * SECOND)
    assert placed.lo <= true <= placed.hi


def test_uptime_is_never_shown_as_a_date() -> None:
    """Where nothing tells the boot, reasons name no time."""
    line = b"[ 1300.123456] NVRM: Xid (PCI:0000:41:00): 79, pid=1, name=x, GPU has fallen off the bus.\n"
    (incident,) = scan_bytes({"dmesg_node-07.txt": line}, compile_rules(load_pack())).incidents
    assert incident.onset is None
    assert not any("1970" in reason for suspect in incident.initiators for reason in suspect.reasons)


def test_audit_record_in_a_log_dates_its_lines() -> None:
    """A kernel log with an audit record has an onset, and the coverage says how it was dated."""
    lines = (
        b"[  100.000000] audit: type=1400 audit(1796032800.482:118): apparmor=x\n"
        b"[ 1300.123456] NVRM: Xid (PCI:0000:41:00): 79, pid=1, name=x, GPU has fallen off the bus.\n"
    )
    report = scan_bytes({"dmesg_node-07.txt": lines}, compile_rules(load_pack()))
    onset = report.incidents[0].onset
    assert onset is not None
    assert onset.lo <= "2026-11-30T10:20:00.6Z" <= onset.hi
    assert "uptime stamps of dmesg_node-07.txt" in report.coverage.notes[0]
