"""Forms: what is learned of plain lines, and what is never taken for one."""

from __future__ import annotations

import pytest

from denpex_rules.clock import SECOND, whole_seconds
from denpex_rules.formats import peel
from denpex_rules.forms import FORMS, OFTEN, Forms, shape

TEE = b"[default%d]:2026-11-30 10:00:%02d,%03d INFO loader: shard %d read"


def learned(*lines: bytes) -> Forms:
    """Return forms that have seen each line often, and take them into use."""
    forms = Forms(peel)
    for line in lines:
        for _ in range(OFTEN + 1):
            forms.learn(line, peel(line))
    forms.refresh()
    return forms


def test_numbers_are_told_apart_by_what_they_change() -> None:
    """The rank and the second are captured, the fraction varies freely, and so does the message."""
    forms = learned(TEE % (3, 7, 125, 9))
    rows = forms.lines(
        b"".join(TEE % (r, s, f, 1) + b"\n" for r, s, f in ((3, 7, 1), (12, 7, 2), (3, 7, 999), (3, 8, 0))), 0, 1 << 20
    )
    keys = forms.keys(rows)
    assert all(row[0] for row in rows)
    assert keys[0] == keys[2]
    assert len(set(keys)) == 3
    assert forms.look_up(rows, keys) == set()
    assert {forms.plains[who].actor.local_rank for who, _ in keys} == {3, 12}
    assert {instant.hi - instant.lo for instant in forms.seconds.values()} == {SECOND}


def test_a_form_is_learned_the_second_time() -> None:
    """One line tells nothing yet, and what is learned is used from the next refresh on."""
    forms = Forms(peel)
    line = TEE % (3, 7, 125, 9)
    forms.learn(line, peel(line))
    forms.refresh()
    assert not forms.any
    forms.learn(line, peel(line))
    assert not forms.any
    forms.refresh()
    assert forms.any


@pytest.mark.parametrize(
    "line",
    [
        b"no prefix at all",
        b"[rank3]: no stamp here",
        b"[default3]:Traceback (most recent call last):",
        b'{"time": "2026-11-30T10:00:07Z", "message": "x"}',
        b"\x1b[32m2026-11-30 10:00:07,125 INFO x\x1b[0m",
        b"2026-11-30 10:00:07,125 INFO " + b"x" * 5_000,
    ],
)
def test_some_lines_have_no_form(line: bytes) -> None:
    """Without a wall time or a prefix, inside JSON, over-long: such lines are read one by one."""
    assert not learned(line).any


@pytest.mark.parametrize(
    "message",
    [
        b"ValueError: boom",
        b"  indented",
        b"",
        b"[rank3]: x",
        b"rank 3",
        b"time: 3",
    ],
)
def test_a_message_that_may_tell_more_is_not_plain_or_asks_for_care(message: bytes) -> None:
    """What a known prefix stands before can still be more than a message."""
    forms = learned(TEE % (3, 7, 125, 9))
    prefix = b"[default3]:2026-11-30 10:00:07,125 INFO "
    (row,) = forms.lines(prefix + message + b"\n", 0, 1 << 20)
    assert row[0] == b"" or b"Error" in message or b"[rank" in message


def test_errors_have_forms_too() -> None:
    """Their emitters are told, so that each such line is counted as an error."""
    line = b"[default3]:2026-11-30 10:00:07,125 ERROR loader: failed"
    forms = learned(line, TEE % (3, 7, 125, 9))
    rows = forms.lines(line + b"\n" + TEE % (3, 7, 125, 9) + b"\n", 0, 1 << 20)
    keys = forms.keys(rows)
    forms.look_up(rows, keys)
    assert forms.bad(keys) == {keys[0][0]}


def test_a_logger_that_tells_all_settles_the_message() -> None:
    """Behind it no word of the message changes kind or severity; behind a level alone some do."""
    line = TEE % (3, 7, 125, 9)
    assert learned(line).settled
    assert not learned(b"2026-11-30 10:00:07 shard index 3 read").settled


def test_other_words_in_the_prefix_are_another_form() -> None:
    """A level or a logger's name is fixed text; several forms are known at once."""
    info, warning = TEE % (3, 7, 125, 9), (TEE % (3, 7, 125, 9)).replace(b"INFO", b"WARNING")
    forms = learned(info)
    assert forms.head(info + b"\n", 0)[0] is not None
    assert forms.head(warning + b"\n", 0)[0] is None
    forms = learned(info, warning)
    assert forms.head(info + b"\n", 0)[0] != forms.head(warning + b"\n", 0)[0] is not None


def test_a_bare_stamp_takes_the_first_words_along() -> None:
    """Behind a stamp alone another prefix may stand: the form holds only for messages that begin alike."""
    forms = learned(b"2026-11-30T10:00:07Z shard index 3 read")
    assert forms.head(b"2026-11-30T10:00:08Z shard index 4 read\n", 0)[0] is not None
    assert forms.head(b"2026-11-30T10:00:08Z ERROR it broke\n", 0)[0] is None


def test_forms_are_bounded() -> None:
    """A source in which every line has another prefix gives few forms."""
    forms = learned(
        *(b"2026-11-30 10:00:07,125 INFO [logger%c%c] x" % (a, b) for a in b"abcdefgh" for b in b"abcdefgh" for _ in range(2))
    )
    block = b"".join(b"2026-11-30 10:00:07,125 INFO [logger%c%c] x\n" % (a, b) for a in b"abcdefgh" for b in b"abcdefgh")
    assert sum(bool(row[0]) for row in forms.lines(block, 0, len(block))) <= FORMS or forms.any


def test_a_shape_has_no_digits() -> None:
    """Texts that differ in their digits alone have one shape."""
    assert shape(b"step 12 of 900") == shape(b"step 98 of 765") != shape(b"step 9 of 765")


@pytest.mark.parametrize(
    "stamp",
    [
        b"2026-11-30 10:%02d:%02d,125 INFO loader: read",
        b"2026-11-30T10:%02d:%02d.125Z node-07 trainer[412]: loader read it",
        b"[rank3]:[E1130 10:%02d:%02d.125000000 ProcessGroupNCCL.cpp:616] [Rank 3] read",
        b"Nov 30 10:%02d:%02d node-07 trainer[412]: loader read it",
        b"[2026-11-30 10:%02d:%02d,125] [INFO] [logging.py:96:log_dist] [Rank 3] read",
    ],
)
def test_the_seconds_of_a_minute_follow_from_one_of_them(stamp: bytes) -> None:
    """A second that was told by another one of its minute is the one that its own line tells."""
    forms = learned(stamp % (4, 7))
    lines = [stamp % (minute, second) for minute in (4, 5) for second in (9, 0, 59, 30)]
    rows = forms.lines(b"".join(line + b"\n" for line in lines), 0, 1 << 20)
    keys = forms.keys(rows)
    assert forms.look_up(rows, keys) == set()
    assert [forms.seconds[when] for _, when in keys] == [whole_seconds(peel(line).instant) for line in lines]


def test_seconds_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of many hours keeps few of its seconds; those that are asked for again are looked up again."""
    monkeypatch.setattr("denpex_rules.forms.SECONDS", 5)
    forms = learned(TEE % (3, 7, 125, 9))
    for second in (*range(20), 3):
        rows = forms.lines(TEE % (3, second, 0, 1) + b"\n", 0, 1 << 20)
        (key,) = keys = forms.keys(rows)
        forms.refresh()
        assert forms.look_up(rows, keys) == set()
        assert forms.seconds[key[1]] == whole_seconds(peel(rows[0][0][:-1]).instant)
        assert len(forms.seconds) <= 6


def test_lines_without_a_time_are_learned_when_they_are_frequent() -> None:
    """They are no lines of the regexes; a user's own formats may begin with any word, so there they are never learned."""
    line = b"step 10 done"
    forms, own = Forms(peel), Forms(peel)
    own.untimed = False
    for seen in range(OFTEN):
        assert forms.fresh() is None, seen
        forms.learn(line, peel(line))
        own.learn(line, peel(line))
    (prefix,) = forms.fresh() or []
    assert not prefix.timed
    assert [tail.words for tail in prefix.tails] == [b"step "]
    assert own.fresh() is None
    forms.refresh()
    assert not forms.any
