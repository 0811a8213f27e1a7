"""JSON records around a line; their goldens stand in tests/formats/json.log."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import shown

from denpex_rules.clock import MINUTE
from denpex_rules.envelopes import DEPTH, LIMIT, SHAPES, Shape, instant, read
from denpex_rules.formats import peel
from denpex_rules.prefix import Prefixes
from denpex_rules.record import NO_HINTS


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_example(shape: Shape) -> None:
    """The example of every shape is read as that shape, and its message is what is left."""
    into = Prefixes(NO_HINTS)
    message = read(shape.example.encode(), into)
    assert into.layout == (shape.name,)
    assert message in {b"message", b"step 10", b"step 10\n"}


@pytest.mark.parametrize(
    "text",
    [
        '{"loss": 2.1, "step": 10}',
        '{"message": "neither level nor time"}',
        '{"log": 17}',
        '{"level": "info", "message": {"deep": {"er": 1}}}',
        '{"timestamp": "2026-11-30T10:04:10Z", "level": "error"}',
        '{"resourceLogs": []}',
        '["level", "message"]',
        '{"level": "info", "message": "cut',
        '{"level": "info", "message": "x"} and more',
        "{}",
        "{" * 5000,
        '{"a":' * 100_000,
        '{"level": "info", "message": ' + "[" * 100_000,
        '{"ts": ' + "9" * 5000 + ', "message": "x"}',
    ],
    ids=range(14),
)
def test_other_json_is_text(text: str) -> None:
    """What is no record of a known shape stays as it is, and nothing is taken from it."""
    into = Prefixes(NO_HINTS)
    assert read(text.encode(), into) is None
    assert vars(into) == {"hints": NO_HINTS}


def test_record_of_too_many_bytes_is_text() -> None:
    """A record beyond the limit is not parsed."""
    record = json.dumps({"level": "info", "message": "x" * LIMIT}).encode()
    assert read(record, Prefixes(NO_HINTS)) is None
    assert read(record[:-100] + record[-2:], Prefixes(NO_HINTS)) is not None


@pytest.mark.parametrize(
    ("value", "time"),
    [
        (1796033050, "wall 2026-11-30T10:04:10Z"),
        (1796033050123, "wall 2026-11-30T10:04:10.123Z for 1000000"),
        ("1796033050123456", "wall 2026-11-30T10:04:10.123456Z for 1000"),
        ("1796033050123456789", "wall 2026-11-30T10:04:10.123456789Z for 1"),
        ("1796033050.25", "wall 2026-11-30T10:04:10.25Z for 10000000"),
        ("2026-11-30T10:04:10.5Z", "wall 2026-11-30T10:04:10.5Z for 100000000"),
        ("2026-11-30T18:04:10+08:00", "wall 2026-11-30T10:04:10Z"),
        ("2026-11-30 10:04:10 UTC", "wall 2026-11-30T10:04:10Z"),
        ("2026-11-30 10:04:10,222", "local 2026-11-30T10:04:10.222Z for 1000000"),
        (5, "-"),
        (True, "-"),
        (None, "-"),
        ("yesterday", "-"),
        ("2026-13-30T10:04:10Z", "-"),
        ([1796033050], "-"),
    ],
)
def test_times(value: object, time: str) -> None:
    """An epoch's unit is told by its size; text is ISO; anything else is no time."""
    assert shown(instant(value)) == time


def test_records_inside_each_other() -> None:
    """Records are read inwards up to the bound; what is deeper stays text."""
    line = '{"level": "error", "message": "x"}'
    for _ in range(DEPTH + 2):
        line = json.dumps({"level": "info", "message": line})
    got = peel(line.encode())
    assert got.layout == ("json_logger",) * DEPTH
    assert got.text.startswith(b'{"level": "info"')


def test_carrier_after_logger_is_an_upper_bound_only() -> None:
    """The logger's own time goes before the carrier's arrival."""
    inner = json.dumps({"time": "2026-11-30T10:03:10Z", "level": "info", "msg": "x"})
    line = peel(json.dumps({"log": inner + "\n", "stream": "stderr", "time": "2026-11-30T10:04:10Z"}).encode())
    arrived = peel(json.dumps({"log": "x\n", "stream": "stderr", "time": "2026-11-30T10:04:10Z"}).encode())
    assert (line.instant.clock, arrived.instant.clock) == ("wall", "arrival")
    assert arrived.instant.hi - line.instant.hi == MINUTE


def test_severity_of_a_stream_is_none() -> None:
    """What a cloud's agent or journald derives from the stream is no level; what a program gave is one."""
    cloud = {
        "timestamp": "2026-11-30T10:04:10Z",
        "severity": "ERROR",
        "textPayload": "step 10",
        "logName": "projects/p/logs/stderr",
    }
    assert peel(json.dumps(cloud).encode()).severity is None
    assert peel(json.dumps({**cloud, "logName": "projects/p/logs/trainer"}).encode()).severity == "error"
    unit = {"MESSAGE": "step 10", "PRIORITY": "6", "_HOSTNAME": "node-07", "_TRANSPORT": "stdout"}
    assert peel(json.dumps(unit).encode()).severity is None
    assert peel(json.dumps({**unit, "_TRANSPORT": "syslog"}).encode()).severity == "info"


def test_bytes_that_are_no_utf8_survive() -> None:
    """A message's bytes come out as they went in."""
    assert peel(b'{"level": "info", "message": "a \xff b"}').text == b"a \xff b"


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["2026-11-30T10:04:10Z", "error"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
_KEYS = sorted(
    {key for shape in SHAPES for key in json.loads(shape.example)} | {"event", "exception", "rank", "pid", "host", "pod"}
)


@given(st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=8))
def test_any_record(record: dict[str, object]) -> None:
    """Whatever stands where a known key's value is expected, reading never fails."""
    line = peel(json.dumps(record).encode())
    assert line.instant.lo <= line.instant.hi


@pytest.mark.parametrize(
    "record",
    [
        {"logStreamName": "job/algo-2-1796033000", "timestamp": 1796033050123, "message": "step 10"},
        {"@logStream": "job/algo-2-1796033000", "@timestamp": "2026-11-30 10:04:10.123", "@message": "step 10"},
    ],
)
def test_log_streams_of_sagemaker_hold_the_host(record: dict[str, object]) -> None:
    """The name of a log stream tells emitters apart, and where SageMaker gave it, the host."""
    line = peel(json.dumps(record).encode())
    assert (line.text, line.actor.host, line.label) == (b"step 10", "algo-2", "job/algo-2-1796033000")
