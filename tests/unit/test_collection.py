"""Many sources together: what is kept stays bounded, whatever their order, and verdicts survive it."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from denpex_rules import collection, retain
from denpex_rules.collection import ALL, LEAST, Collection, least, tighter, total
from denpex_rules.compiler import compile_rules
from denpex_rules.engine import Session, scan_bytes
from denpex_rules.library import load_pack
from denpex_rules.places import hints_for
from denpex_rules.program import Program
from denpex_rules.recorder import Size
from denpex_rules.sighting import Scan
from layouts import Job, bare, split

STEP = "denpex:lib.progress#step"


@pytest.fixture(scope="module")
def pack() -> Program:
    return compile_rules(load_pack())


def lines(rank: int, count: int, apart: int = 10) -> bytes:
    start = datetime(2026, 11, 30, tzinfo=UTC)
    text = "{:%Y-%m-%d %H:%M:%S},{:03} INFO [train.py:60] step {} loss 2.5\n"
    return "".join(text.format(start + timedelta(seconds=apart * n), rank, n) for n in range(count)).encode()


def collected(logs: dict[str, bytes], pack: Program, chance: random.Random) -> Scan:
    """Scan the logs interleaved at random, 500 bytes at a time."""
    whole = Collection(pack)
    places = [name for name, data in logs.items() for _ in range(0, len(data), 500)]
    chance.shuffle(places)
    read = dict.fromkeys(logs, 0)
    for name in logs:
        whole.begin(name, hints_for(name))
    for name in places:
        whole.feed(name, logs[name][read[name] : read[name] + 500])
        read[name] += 500
    return whole.close()


def test_all_sources_share_one_bound(pack: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all keep too much together, each keeps less: the first and the newest; the interleaving makes no difference."""
    monkeypatch.setattr(collection, "ALL", Size(100, 100, 100))
    logs = {f"rank{rank}.log": lines(rank, 40) for rank in range(10)}
    found = collected(logs, pack, random.Random(1))
    steps = [s for s in found.sightings if s.event == STEP]
    assert len(found.sightings) <= 100
    assert {s.source for s in steps} == set(logs)
    for log in logs:
        kept = [s.fields["step"] for s in steps if s.source == log]
        assert (kept[0], kept[-1]) == (0, 39)
    assert sum(len(a.runs) for s in found.sources for a in s.activities) <= 100
    assert collected(logs, pack, random.Random(2)) == found
    assert all(s.evicted == sum(d.count for d in s.dropped) > 0 for s in found.sources)


def test_error_records_share_one_bound(pack: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first shapes of each source stay, the others are counted."""
    monkeypatch.setattr(collection, "ALL", Size(1000, 40, 1000))
    words = [f"{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(30)]
    logs = {f"rank{r}.log": "".join(f"ERROR: no {word} here\n" for word in words).encode() for r in range(5)}
    found = collected(logs, pack, random.Random(1))
    assert [e.text for e in found.errors if e.emitter.source == "rank0.log"] == [f"ERROR: no {word} here" for word in words[:7]]
    assert "23 error records of further shapes were not kept" in found.sources[0].notes


def test_dropped_progress_leaves_the_verdict(pack: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress lines that were dropped long before the fault don't make its guard or its proof open."""
    logs = split(Job(4, ("node-01",), 2, "out of memory"))
    whole = scan_bytes(logs, pack)
    assert whole.incidents[0].outcome == "confirmed"
    monkeypatch.setattr(retain, "PER_EMITTER", 20)
    fewer = scan_bytes(logs, pack)
    assert all(s.evicted for s in fewer.coverage.sources if s.source.startswith("rank"))
    assert bare(fewer)["incidents"] == bare(whole)["incidents"]
    session = Session(pack)
    for name, data in logs.items():
        session.feed(name, data)
    assert session.close() == fewer


def test_a_limit_can_come_from_outside(pack: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection that is told to keep less is one that found out by itself, and never keeps more again."""
    logs = {f"rank{rank}.log": lines(rank, 40) for rank in range(10)}
    told = Collection(pack)
    for name, data in logs.items():
        told.begin(name, hints_for(name))
        told.feed(name, data)
        told.end(name)
    before = told.kept
    with monkeypatch.context() as patch:
        patch.setattr(collection, "ALL", Size(100, 100, 100))
        limit = told.limit
        while limit != (lower := tighter(told.kept, limit)):
            limit = lower
            told.shrink(limit)
        found = collected(logs, pack, random.Random(1))
    kept = told.kept
    assert kept.sightings < before.sightings
    assert told.limit == limit
    told.shrink(Size(1000, 1000, 1000))
    assert (told.limit, told.kept) == (limit, kept)
    assert told.close() == found


def test_limits_are_halved_each_for_itself() -> None:
    """What is within its bound stays, what is not is halved, down to the least."""
    limit = Size(100, 100, 100)
    assert tighter(Size(0, 0, 0), limit) == limit
    assert tighter(ALL, limit) == limit
    assert tighter(Size(ALL.sightings + 1, 0, ALL.runs + 1), limit) == Size(50, 100, 50)
    assert tighter(total([ALL, ALL]), Size(3, 5, 3)) == LEAST
    assert least(Size(1, 9, 5), Size(2, 8, 5)) == Size(1, 8, 5)
    assert total([]) == Size(0, 0, 0)
