"""Who failed first more than once."""

from __future__ import annotations

from denpex_rules.finding import Incident, Interval, Suspect, Who
from denpex_rules.recurrence import recurrences
from samples import incident


def of(number: int, attempt: int | None, *suspects: Suspect, at: str = "10:04:10") -> Incident:
    """Return an incident of an attempt."""
    stamp = f"2026-11-30T{at}Z"
    return incident(id=f"i{number}", attempt=attempt, initiators=suspects, onset=Interval(stamp, stamp))


def who(rank: int | None, host: str | None = None, device: str | None = None) -> Suspect:
    """Return a suspect."""
    return Suspect(rank, host, device, "likely")


def test_a_device_recurs() -> None:
    """The device that failed in two attempts is named, and its host not again; the rank that had it too."""
    found = recurrences([of(1, 0, who(5, "node-02", "0000:41:00")), of(2, 1, who(5, "node-02", "0000:41:00"), at="10:09:00")])
    assert [(r.who, r.incidents, r.attempts) for r in found] == [
        (Who(host="node-02", device="0000:41:00"), ("i1", "i2"), (0, 1)),
        (Who(rank=5), ("i1", "i2"), (0, 1)),
    ]


def test_a_host_recurs_with_other_ranks() -> None:
    """Other ranks of one host are one host that recurs; equal device addresses of two hosts are two devices."""
    found = recurrences([of(1, 0, who(5, "node-02", "0000:41:00")), of(2, 1, who(4, "node-02", "0000:42:00"))])
    assert [r.who for r in found] == [Who(host="node-02")]
    assert recurrences([of(1, 0, who(None, "node-02", "0000:41:00")), of(2, 1, who(None, "node-03", "0000:41:00"))]) == ()


def test_one_failure_with_two_incidents_does_not_recur() -> None:
    """Two incidents of one attempt, or close together without attempts, may be one failure."""
    assert recurrences([of(1, 0, who(5)), of(2, 0, who(5), at="10:44:00")]) == ()
    assert recurrences([of(1, None, who(5)), of(2, None, who(5), at="10:05:00")]) == ()
    assert len(recurrences([of(1, None, who(5)), of(2, None, who(5), at="10:44:00")])) == 1


def test_candidates_do_not_recur() -> None:
    """Only accusations count."""
    assert recurrences([of(1, 0), of(2, 1)]) == ()
