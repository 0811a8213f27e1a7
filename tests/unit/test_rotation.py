"""Which files are parts of one log, by name and by stamps."""

from __future__ import annotations

import pytest

from denpex_rules.record import NO_HINTS
from denpex_rules.rotation import EMPTY, ends_of, follows, groups, rotated, unpacked_name


def ends(*texts: bytes) -> list[object]:
    return [ends_of(iter([text]), NO_HINTS) for text in texts]


@pytest.mark.parametrize(
    ("name", "log"),
    [
        ("a.log.1", "a.log"),
        ("logs/a.log.12.gz", "logs/a.log"),
        ("a.log.old", "a.log"),
        ("a.log-20261130.zst", "a.log"),
        ("a.log.2026-11-30_10-00", "a.log"),
        ("0.log.20261130-100000.gz", "0.log"),
    ],
)
def test_names_of_parts(name: str, log: str) -> None:
    """Numbers, dates and `old` behind a name, packed or not, name a part."""
    found = rotated(name)
    assert found is not None
    assert found.log == log


@pytest.mark.parametrize("name", ["a.log", "a.log.gz", "train.1234", "rank_3.log", "host.example"])
def test_other_names(name: str) -> None:
    """A compressed log alone, a pid and a rank are no parts."""
    assert rotated(name) is None


def test_oldest_first_and_the_log_itself_last() -> None:
    """Dated parts come by date, then numbered ones from the highest number; without the log itself there is no set."""
    names = ["x/a.log", "x/a.log.1", "x/a.log.10.gz", "x/a.log.2", "x/a.log-20261201", "x/a.log-20261130", "b.log.1", "c.log"]
    assert groups(names) == {
        "x/a.log": ["x/a.log-20261130", "x/a.log-20261201", "x/a.log.10.gz", "x/a.log.2", "x/a.log.1", "x/a.log"]
    }


def test_parts_follow_each_other() -> None:
    """Parts are one log where none begins before the one in front of it ends; empty ones do not count."""
    first, second = b"2026-11-30T10:00:00Z a\n2026-11-30T10:01:00Z b\n", b"text\n2026-11-30T10:01:00Z c\n2026-11-30T10:02:00Z d\n"
    assert follows(ends(first, b"", second))  # type: ignore[arg-type]
    assert ends(b"") == [EMPTY]


@pytest.mark.parametrize(
    "second",
    [
        b"2026-11-30T10:00:30Z at the same time\n2026-11-30T10:02:00Z\n",
        b"no stamp at all\n",
        b"[  100.000000] a clock that counts from a boot\n",
        b"2026-11-30 10:05:00,000 a stamp without a zone\n",
    ],
)
def test_what_is_not_proven_is_not_joined(second: bytes) -> None:
    """Files of one time, without stamps, or of other clocks stay apart: they may be ranks."""
    first = b"2026-11-30T10:00:00Z a\n2026-11-30T10:01:00Z b\n"
    assert not follows(ends(first, second))  # type: ignore[arg-type]


def test_stamps_without_a_year() -> None:
    """A part that ends in glog's stamps follows one with years; January follows December."""
    dated = b"2026-11-30 10:00:00,000 INFO step 1\n"
    glog = b"E1130 10:14:50.500123 4242 a.cpp:1] x\n"
    assert follows(ends(dated, glog))  # type: ignore[arg-type]
    december, january = b"Dec 31 23:59:59 node-07 kernel: a\n", b"Jan  1 00:00:01 node-07 kernel: b\n"
    assert follows(ends(december, january))  # type: ignore[arg-type]
    assert not follows(ends(b"Jan  3 00:00:01 node-07 kernel: b\n", january))  # type: ignore[arg-type]


def test_name_without_compression() -> None:
    """Only what says that a file is packed goes."""
    assert unpacked_name("a.log.1.gz") == "a.log.1"
