"""Exports and answers of log services as one record a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules.documents import LIMIT, holds_records, split
from denpex_rules.sources import from_bytes

EXPORT = [{"timestamp": "2026-11-30T10:04:10Z", "textPayload": f"step {n} €"} for n in range(5)]


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[i : i + size] for i in range(0, len(data), size))


def records(data: bytes) -> list[object]:
    """Return the lines of a split document as objects."""
    return [json.loads(line) for line in b"".join(split(iter([data]))).splitlines()]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_array_is_its_elements(indent: int | None, size: int) -> None:
    """An array gives one line an element, however it is printed and in whatever pieces it comes."""
    data = json.dumps(EXPORT, indent=indent, ensure_ascii=False).encode() + b"\n"
    assert holds_records(data)
    assert [json.loads(line) for line in b"".join(split(pieces(data, size))).splitlines()] == EXPORT


def test_events_of_cloudwatch() -> None:
    """The events of get-log-events are records."""
    events = [{"timestamp": 1796033050123, "message": "step 10", "ingestionTime": 1796033052000}]
    assert records(json.dumps({"events": events, "nextForwardToken": "f/1"}).encode()) == events


def test_answer_of_loki() -> None:
    """Each value of each stream is a record with the stream's labels."""
    answer = {"status": "success", "data": {"result": [{"stream": {"pod": "train-3"}, "values": [["1796033050123456789", "x"]]}]}}
    assert records(json.dumps(answer).encode()) == [
        {"labels": {"pod": "train-3"}, "timestamp": "1796033050123456789", "line": "x"},
    ]


def test_requests_of_otlp() -> None:
    """Each log record of each request is a record with its resource."""
    resource = {"attributes": [{"key": "rank", "value": {"intValue": "3"}}]}
    logs = [{"timeUnixNano": "1796033050123456789", "body": {"stringValue": "x"}}, {"body": {"stringValue": "y"}}]
    line = json.dumps({"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": logs}]}]}).encode() + b"\n"
    assert records(line + line) == [{**log, "resource": resource} for log in logs] * 2


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_table_of_cloudwatch_insights(size: int, end: bytes) -> None:
    """Each row of the CSV file is a record, its first row names the columns; a message may have lines, commas and quotes."""
    rows = [b"@timestamp,@message,@logStream", b'2026-11-30 10:04:10.123,"it says ""a, b""\nand goes on",job/algo-1-1796033000']
    data = end.join([*rows, b"", b"2026-11-30 10:04:11.000,plain \xe2\x82\xac,"])
    assert holds_records(data)
    first = next(iter([data]))[:40]
    found = b"".join(split(chain([first], pieces(data[40:], size))))
    assert [json.loads(line) for line in found.splitlines()] == [
        {
            "@timestamp": "2026-11-30 10:04:10.123",
            "@message": 'it says "a, b"\nand goes on',
            "@logStream": "job/algo-1-1796033000",
        },
        {"@timestamp": "2026-11-30 10:04:11.000", "@message": "plain €", "@logStream": ""},
    ]


def test_what_is_no_row_is_kept() -> None:
    """From the first thing that is no row on, the bytes are text."""
    data = b'@timestamp,@message\n2026-11-30 10:04:10,x\nthis "is" text\n'
    assert b"".join(split(iter([data]))).endswith(b'\nthis "is" text\n')


def test_kernel_log_is_lines() -> None:
    """The JSON of dmesg becomes the lines of its raw form."""
    data = json.dumps({"dmesg": [{"pri": 3, "time": 12345.678901, "msg": "NVRM: Xid"}, {"pri": 6, "time": 7.5, "msg": "x"}]})
    assert b"".join(split(iter([data.encode()]))) == b"<3>[12345.678901] NVRM: Xid\n<6>[    7.500000] x\n"


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_export_of_journald(size: int) -> None:
    """Entries of the export format are records, values of many lines too; the last one needs no blank line."""
    text = b"first line\nsecond line"
    data = b"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1796033050123456\n_HOSTNAME=node-07\nMESSAGE=x=y\n\n_HOSTNAME=node-07\nMESSAGE\n"
    data += len(text).to_bytes(8, "little") + text + b"\n"
    assert holds_records(data)
    assert [json.loads(line) for line in b"".join(split(chain([data[:30]], pieces(data[30:], size)))).splitlines()] == [
        {"__REALTIME_TIMESTAMP": "1796033050123456", "_HOSTNAME": "node-07", "MESSAGE": "x=y"},
        {"_HOSTNAME": "node-07", "MESSAGE": text.decode()},
    ]


@given(st.binary(max_size=100), st.integers(1, 50))
def test_any_export(tail: bytes, size: int) -> None:
    """Whatever follows an entry, it comes out and nothing fails."""
    data = b"__CURSOR=1\nMESSAGE=x\n\n" + tail
    assert b"".join(split(chain([data[:30]], pieces(data[30:], size)))).startswith(b'{"MESSAGE": "x"}\n')


@pytest.mark.parametrize(
    "data",
    [
        b'{"timestamp": "2026-11-30T10:04:10Z", "message": "x"}\n',
        b"[rank3]: RuntimeError",
        b'[{"loss": 2.1}]\n',
        b'[2026-11-30 10:04:10] {"time": 1}',
        b"{\n  lr: 1\n}\n",
        b"step,loss,@message\n1,2,3\n",
        b"@timestamp @message\n",
        b"message\n",
        b"",
    ],
)
def test_other_beginnings_are_left_alone(data: bytes) -> None:
    """Lines of records, text and other JSON are not split."""
    assert not holds_records(data)


def test_text_behind_a_document_is_kept() -> None:
    """What follows that is no document comes as it is, brackets and all."""
    text = b"[rank3]: RuntimeError\n{ not json\n" * 3
    data = json.dumps(EXPORT).encode() + b"\n" + text
    assert b"".join(split(pieces(data, 16))).endswith(text)


def test_document_that_never_ends_is_text() -> None:
    """A broken document is given as it is once it is too long, and memory stays bounded."""
    data = b'[{"time": "' + b"x" * (LIMIT + (3 << 20))
    assert b"".join(split(pieces(data, 1 << 20))) in {data, data[1:]}


def test_source_splits_and_says_so() -> None:
    """A source that is an export is read as records, with a note about its offsets."""
    source = from_bytes("export.json", json.dumps(EXPORT).encode())
    assert len(b"".join(source.open()).splitlines()) == len(EXPORT)
    assert "one record a line" in source.notes[0]


@given(st.binary(max_size=200), st.integers(1, 50))
def test_any_bytes(tail: bytes, size: int) -> None:
    """Whatever follows a document's beginning, the elements before it come out and nothing fails."""
    data = b'[{"time": 1},' + tail
    assert b"".join(split(pieces(data, size))).startswith(b'{"time": 1}\n')
