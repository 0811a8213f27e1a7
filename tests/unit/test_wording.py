"""Actors, instants, intervals and counts in plain words."""

from __future__ import annotations

import pytest

from denpex_rules.finding import ClauseResult, Group, Interval, Moment, Suspect, Who
from denpex_rules.wording import format_interval, format_moment, name_actor, name_group, name_ranks, nearest_miss, plural


@pytest.mark.parametrize(
    ("who", "name"),
    [
        (Who(), "unknown"),
        (Who(rank=0), "rank 0"),
        (Who(rank=5, host="node-02", device="0000:41:00", local_rank=1, pid=7), "rank 5, host node-02, device 0000:41:00"),
        (Who(local_rank=1, host="node-02"), "local rank 1, host node-02"),
        (Who(pid=7), "pid 7"),
        (Who(pid=7, host="node-02"), "host node-02"),
        (Suspect(5, None, "0000:41:00", "certain"), "rank 5, device 0000:41:00"),
        (Suspect(None, None, None, "undecided"), "unknown"),
    ],
)
def test_name_actor(who: Who | Suspect, name: str) -> None:
    """An actor is named by rank, host and device; a local rank is never called a rank, a pid stands in for nothing better."""
    assert name_actor(who) == name


@pytest.mark.parametrize(
    ("lo", "hi", "text"),
    [
        ("2026-11-30T10:04:10Z", "2026-11-30T10:04:10Z", "2026-11-30 10:04:10 UTC"),
        ("2026-11-30T10:04:10Z", "2026-11-30T10:04:12.5Z", "2026-11-30 10:04:10 .. 10:04:12.5 UTC"),
        ("2026-11-30T10:04:10Z", "2026-11-30T10:04:10.999999999Z", "2026-11-30 10:04:10 UTC"),
        ("2026-11-30T10:04:10.455Z", "2026-11-30T10:04:12.455999999Z", "2026-11-30 10:04:10.455 .. 10:04:12.455 UTC"),
        ("2026-11-30T10:04:10.079Z", "2026-11-30T10:04:10.079999999Z", "2026-11-30 10:04:10.079 UTC"),
        ("2026-11-30T10:04:10.999Z", "2026-11-30T10:04:10.999999999Z", "2026-11-30 10:04:10.999 UTC"),
        ("2026-11-30T10:04:10.482122Z", "2026-11-30T10:04:10.482122999Z", "2026-11-30 10:04:10.482122 UTC"),
        ("2026-11-30T10:04:10Z", "2026-11-30T10:04:11.999999999Z", "2026-11-30 10:04:10 .. 10:04:11 UTC"),
        ("2026-11-30T10:04:12.455999999Z", "2026-11-30T10:24:10.101Z", "2026-11-30 10:04:12.455 .. 10:24:10.101 UTC"),
        ("2026-11-30T10:04:10.5Z", "2026-11-30T10:04:10.7Z", "2026-11-30 10:04:10.5 .. 10:04:10.7 UTC"),
        ("2026-11-30T23:59:59Z", "2026-12-01T00:00:01Z", "2026-11-30 23:59:59 .. 2026-12-01 00:00:01 UTC"),
    ],
)
def test_format_interval(lo: str, hi: str, text: str) -> None:
    """The date is said once where both ends share it."""
    assert format_interval(Interval(lo, hi)) == text


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (Moment("2026-11-30T10:04:10Z", "2026-11-30T10:04:10Z", "wall"), "2026-11-30 10:04:10Z"),
        (Moment("2026-11-30T10:04:10Z", "2026-11-30T10:04:11Z", "wall"), "2026-11-30 10:04:10Z +1 s"),
        (Moment("2026-11-30T10:04:10Z", "2026-11-30T10:04:15Z", "arrival"), "2026-11-30 10:04:10Z +5 s (arrival)"),
        (Moment("2026-11-30T10:04:10Z", "2026-11-30T10:04:10Z", "local"), "2026-11-30 10:04:10 (zone unknown)"),
        (Moment("2026-11-30T10:04:10.455Z", "2026-11-30T10:04:10.455999999Z", "wall"), "2026-11-30 10:04:10.455Z"),
        (Moment("2026-11-30T10:04:59Z", "2026-11-30T10:04:59.999999999Z", "wall"), "2026-11-30 10:04:59Z"),
        (Moment("2026-11-30T10:04:10.2Z", "2026-11-30T10:04:15.199999999Z", "wall"), "2026-11-30 10:04:10.2Z +5 s"),
        (Moment(None, None, "monotonic"), "no time (uptime)"),
        (Moment(None, None, "none"), "no time"),
        (Moment("2026-11-30T10:04:10Z", None, "none"), "after 2026-11-30 10:04:10Z"),
        (Moment(None, "2026-11-30T10:04:10Z", "none"), "before 2026-11-30 10:04:10Z"),
    ],
)
def test_format_moment(moment: Moment, text: str) -> None:
    """An instant shows its width, an open side, and the clock where it is not a wall clock."""
    assert format_moment(moment) == text


@pytest.mark.parametrize(
    ("ranks", "text"),
    [([3], "rank 3"), ([3, 3], "rank 3"), ([4, 3], "ranks 3, 4"), ([0, 1, 2, 3, 7, 9, 10], "ranks 0-3, 7, 9, 10")],
)
def test_name_ranks(ranks: list[int], text: str) -> None:
    """Ranks are sorted, and three or more in a row become a range."""
    assert name_ranks(ranks) == text


def test_name_group_of_ranks() -> None:
    """Ranks are gathered by host, and those beyond the ones that the report holds are counted."""
    actors = (Who(rank=0, host="node-01"), Who(rank=4, host="node-02"), Who(rank=1, host="node-01"), Who(rank=9))
    assert name_group(Group(4, actors)) == "4: ranks 0, 1 on host node-01; rank 4 on host node-02; rank 9"
    assert name_group(Group(1024, tuple(Who(rank=r) for r in range(32)))) == "1,024: ranks 0-31; and 992 more"


def test_name_group_of_others() -> None:
    """Where an actor has no rank, the first few are named one by one and all the others counted."""
    actors = tuple(Who(host=f"node-{n}") for n in range(10, 20))
    assert name_group(Group(1, actors[:1])) == "1: host node-10"
    assert name_group(Group(10, actors)).endswith("; host node-15; and 4 more")
    assert name_group(Group(2, ())) == "2"


@pytest.mark.parametrize(("count", "text"), [(0, "0 lines"), (1, "1 line"), (2, "2 lines"), (12_000, "12,000 lines")])
def test_plural(count: int, text: str) -> None:
    """Nouns agree with their count."""
    assert plural(count, "line") == text


def test_plural_of_its_own() -> None:
    """A noun whose plural takes more than an s brings it."""
    assert (plural(1, "fix", "fixes"), plural(2, "fix", "fixes")) == ("1 fix", "2 fixes")


def test_nearest_miss() -> None:
    """A miss is shown in seconds, without a sign; a clause that has none shows nothing."""
    clause = ClauseResult("require", "timeout", "timeout after lost", "false", "too late", -12.25)
    assert nearest_miss(clause) == "nearest miss 12.25 s"
    assert nearest_miss(ClauseResult("require", "timeout", "timeout after lost", "false")) == ""
    near = ClauseResult("require", "timeout", "timeout after lost", "false", "", 3.0, "rank0.log:7")
    assert nearest_miss(near) == "nearest miss 3 s at rank0.log:7"
    assert nearest_miss(ClauseResult("unless", "again", "again", "false", "", None, "rank0.log:7")) == "see rank0.log:7"
