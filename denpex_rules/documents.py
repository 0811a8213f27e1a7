"""Documents as lines: an export that is one JSON array or CSV, an answer of a log service, an OTLP request, journald's export.

They are split into one record a line, which is what the rest reads. Memory is bounded: a document that is not whole within the
limit, or of no such form, is given as it is.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Final

LIMIT: Final = 8 << 20  # characters of one element of an array, or of one document
SNIFF: Final = 4096

# An array of objects, or an object that is known to hold records; one record a line begins otherwise.
_BEGINS: Final = re.compile(
    rb'\s*(?:\[\s*\{\s*"|\{\s*"(?:events|resourceLogs|dmesg)"\s*:\s*\[|\{\s*"status"\s*:\s*"success"|\{\r?\n\s*"(?:body|insertId)"\s*:)'
)
_DATED: Final = re.compile(rb'"(?:timestamp|time|timeUnixNano|date|dmesg|values|events|observedTimeUnixNano)"\s*:')
_JOURNAL: Final = (b"__CURSOR=", b"__REALTIME_TIMESTAMP=")  # how journald's export format begins
_JOURNAL_FIELDS: Final = frozenset(
    b"__REALTIME_TIMESTAMP _SOURCE_REALTIME_TIMESTAMP _HOSTNAME _TRANSPORT PRIORITY SYSLOG_IDENTIFIER SYSLOG_PID _COMM _PID "
    b"_SYSTEMD_UNIT MESSAGE".split()
)
_TABLE: Final = re.compile(  # the first row of a CSV file by CloudWatch Insights
    rb'(?:\xef\xbb\xbf)?(?=[^\r\n]{0,4000}@message\b)(?=[^\r\n]{0,4000}@timestamp\b)(?:"?@?\w+"?,)+"?@?\w+"?\r?\n'
)
_CELL: Final = re.compile(r'(?:"((?:[^"]|"")*+)"|([^",\r\n]*+))(,|\r?\n)')
_BETWEEN: Final = re.compile(r"(?:[\s,]|\[(?=\s*(?:\{|\Z))|\](?=\s|\Z))*+")
_DECODER: Final = json.JSONDecoder(parse_float=str)  # a double has too few digits for an epoch


def holds_records(start: bytes) -> bool:
    """Whether a source that begins with these bytes is one of the documents that are split."""
    head = start[:SNIFF].removeprefix(b"\xef\xbb\xbf")
    if head.startswith(_JOURNAL) or _TABLE.match(head):
        return True
    return _BEGINS.match(head) is not None and _DATED.search(head) is not None


def split(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield documents as records, one a line; from the first thing that is none on, the bytes as they came."""
    first = next(chunks, b"")
    chunks = chain([first], chunks)
    if first.startswith(_JOURNAL):
        yield from _journal(chunks)
    else:
        yield from _documents(chunks, _Table().take if _TABLE.match(first) else _whole)


def _documents(chunks: Iterator[bytes], take: Callable[[str], tuple[list[bytes], str]]) -> Iterator[bytes]:
    decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
    text, enough = "", 0
    for chunk in chunks:
        text = (text + decode(chunk)).removeprefix("\ufeff")
        if len(text) < enough:
            continue
        lines, text = take(text)
        yield from lines
        if (take is _whole and text and text[0] != "{") or len(text) > LIMIT:
            break
        enough = 2 * len(text)  # what is not whole is tried again when there is twice as much
    else:
        lines, text = take(text if take is _whole or text.endswith("\n") else text + "\n")
        yield from lines
    text += decode(b"", True)
    if text:
        yield text.encode("utf-8", "surrogateescape")
    yield from chunks


def _journal(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the entries of journald's export format as its JSON form has them.

    A field is `NAME=value`, or, where its value has bytes that are no text, the name, eight bytes of length, and the value.
    """
    data, entry = b"", {}
    for chunk in chunks:
        data += chunk
        position = 0
        while (found := _field(data, position)) is not None:
            name, value, position = found
            if name in _JOURNAL_FIELDS:
                entry[name.decode()] = value.decode("utf-8", "surrogateescape")
            elif not name and entry:
                yield _line(entry)
                entry = {}
        data = data[position:]
        if len(data) > LIMIT:
            yield data
            data = b""
    if entry:
        yield _line(entry)
    yield data


def _field(data: bytes, position: int) -> tuple[bytes, bytes, int] | None:
    """Return the name and value of the whole field at a position, and where it ends; a blank line has neither."""
    end = data.find(b"\n", position)
    if end < 0:
        return None
    name, equals, value = data[position:end].partition(b"=")
    if equals or not name:
        return name, value, end + 1
    begin = end + 9
    last = begin + int.from_bytes(data[end + 1 : begin], "little")
    return (name, data[begin:last], last + 1) if len(data) > last >= begin else None


class _Table:
    """Rows of a CSV file as records; its first row names the columns."""

    def __init__(self) -> None:
        self._names: list[str] = []

    def take(self, text: str) -> tuple[list[bytes], str]:
        """Return the lines of the whole rows at the start of a text, and what follows them."""
        lines: list[bytes] = []
        row: list[str] = []
        position = end = 0
        while (cell := _CELL.match(text, position)) is not None:
            row.append(cell[2] if cell[1] is None else cell[1].replace('""', '"'))
            position = cell.end()
            if cell[3] != ",":
                if self._names and any(row):
                    lines.append(_line(dict(zip(self._names, row, strict=False))))
                self._names = self._names or row
                row, end = [], position
        return lines, text[end:]


def _whole(text: str) -> tuple[list[bytes], str]:
    """Return the lines of the whole objects at the start of a text, and what follows them."""
    lines: list[bytes] = []
    position = _skip(text, 0)
    while text.startswith("{", position):
        try:
            document, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        lines += [_line(record) for record in _flat(document)]
        position = _skip(text, position)
    return lines, text[position:]


def _skip(text: str, position: int) -> int:
    return _BETWEEN.match(text, position).end()  # type: ignore[union-attr]  # it matches the empty text


def _line(record: dict[str, Any] | str) -> bytes:
    return record.encode("utf-8", "replace") if isinstance(record, str) else json.dumps(record).encode() + b"\n"


def _flat(document: dict[str, Any]) -> Iterator[dict[str, Any] | str]:
    """Yield the records of one document: those that it holds, or itself. The kernel's are lines of text."""
    if isinstance(document.get("events"), list):
        yield from (e for e in document["events"] if isinstance(e, dict))
    elif isinstance(document.get("resourceLogs"), list):
        yield from _otlp(document["resourceLogs"])
    elif isinstance(document.get("dmesg"), list):
        yield from (_kernel(e) for e in document["dmesg"] if isinstance(e, dict))
    elif isinstance(document.get("data"), dict) and isinstance(document["data"].get("result"), list):
        yield from _loki(document["data"]["result"])
    else:
        yield document


def _objects(values: Any) -> Iterator[dict[str, Any]]:
    yield from (v for v in values if isinstance(v, dict)) if isinstance(values, list) else ()


def _otlp(resources: Any) -> Iterator[dict[str, Any]]:
    for resource in _objects(resources):
        for scope in _objects(resource.get("scopeLogs")):
            for record in _objects(scope.get("logRecords")):
                yield {**record, "resource": resource.get("resource", {})}


def _loki(streams: Any) -> Iterator[dict[str, Any]]:
    for stream in _objects(streams):
        for pair in stream.get("values") or ():
            if isinstance(pair, list) and len(pair) >= 2:
                yield {"labels": stream.get("stream", {}), "timestamp": pair[0], "line": pair[1]}


def _kernel(entry: dict[str, Any]) -> str:
    """Return an entry of `dmesg -J` as `dmesg -r` prints it."""
    seconds, _, fraction = str(entry.get("time", "")).partition(".")
    priority = entry.get("pri")
    lead = f"<{priority}>" if isinstance(priority, int) else ""
    said = str(entry.get("msg", "")).replace("\n", "\n" + " " * 15)
    return f"{lead}[{seconds:>5}.{fraction[:6].ljust(6, '0')}] {said}\n"
