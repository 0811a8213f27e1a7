"""Parcels: a scan comes out of one as it went in."""

from __future__ import annotations

import pickle

from denpex_rules.clock import UNKNOWN, Instant
from denpex_rules.parcel import pack, unpack
from denpex_rules.sighting import Activity, Actor, Dropped, Emitter, ErrorLine, Part, Scan, Sighting, SourceCoverage

AT = Instant(5, 9, "arrival", "", year=False)
RANK = Emitter("a é.log", "rank3")
WHO = Actor(rank=3, host="node-07", pid=9)
ONE = Sighting("lib.x#died", RANK, 4, 7, 100, 150, AT, WHO, {"r": 3, "ratio": 0.5, "ranks": (1, 2)}, "rank", "error", "a\udcff")
OTHER = Sighting("lib.x#step", Emitter("b.log"), 1, 1, 0, 9)
SCAN = Scan(
    (ONE, OTHER, ONE),
    (
        SourceCoverage(
            "a é.log",
            "python",
            150,
            7,
            notes=("cut",),
            activities=(Activity(RANK, WHO, "rank", 7, 1, 10**9, ((1, 2), (5, 9)), AT),),
            mtime=12,
            dropped=(Dropped("lib.x#step", None, 3, UNKNOWN),),
            parts=(Part("a.log.1", 0, 0),),
        ),
    ),
    (ErrorLine("boom #", RANK, 7, 100, 150, AT, WHO, "boom 3", 2, 4),),
)


def travelled(scan: Scan) -> Scan:
    """Return a scan as another process gets it."""
    return unpack(pickle.loads(pickle.dumps(pack(scan))))


def test_a_scan_comes_out_as_it_went_in() -> None:
    """Sightings, coverage and errors are equal, in their order; so is an empty scan."""
    assert travelled(SCAN) == SCAN
    assert travelled(Scan()) == Scan()


def test_what_sightings_share_they_share_again() -> None:
    """An instant, actor or emitter of many sightings is one object, before and after."""
    first, _, last = travelled(SCAN).sightings
    assert first.instant is last.instant
    assert first.emitter is last.emitter
    assert first.actor is last.actor
