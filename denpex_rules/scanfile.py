"""Saved scans: sightings, coverage and error records as JSON lines, so that logs stay where they are and evidence travels.

A file has one or more sections: a header line with format and version, one line an item, and an end line with their number,
which shows that nothing is missing. Files that are put together stay readable. Instants are closed intervals in ns UTC.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TextIO

from denpex_rules.codec import MISFITS, make_converter
from denpex_rules.errors import UsageError
from denpex_rules.sighting import SCAN_VERSION, ErrorLine, Scan, Sighting, SourceCoverage

FORMAT: Final = "denpex-scan"

_CONVERTER: Final = make_converter()
_ITEMS: Final[dict[str, type]] = {"sighting": Sighting, "source": SourceCoverage, "error": ErrorLine}


def write_scan(scan: Scan, stream: TextIO) -> None:
    """Write a scan as one section of JSON lines."""
    items = [(name, item) for name, found in _parts(scan) for item in found]
    _write(stream, {"type": "header", "format": FORMAT, "version": SCAN_VERSION})
    for name, item in items:
        _write(stream, {"type": name, **_CONVERTER.unstructure(item)})
    _write(stream, {"type": "end", "items": len(items)})


def read_scan(stream: Iterable[str]) -> Scan:
    """Return the union of all sections of a stream.

    Raises:
        UsageError: a line is damaged, items are missing, or the version is another; the message says which line.
    """
    found: dict[str, list[Any]] = {name: [] for name in _ITEMS}
    expected: int | None = None  # items of the open section so far; None outside of one
    sections = 0
    for number, name, body in _read(stream):
        if name == "header":
            _check_header(body, number, inside=expected is not None)
            expected, sections = 0, sections + 1
        elif expected is None:
            raise UsageError(f"line {number}: no header stands above it; this is not a saved scan")
        elif name == "end":
            if body.get("items") != expected:
                raise UsageError(f"line {number}: {body.get('items')} items were written, {expected} are there")
            expected = None
        else:
            found[name].append(_item(name, body, number))
            expected += 1
    if expected is not None or not sections:
        raise UsageError("the saved scan is cut short: its end line is missing" if sections else "this is not a saved scan")
    return Scan(tuple(found["sighting"]), tuple(found["source"]), tuple(found["error"]))


def save_scan(scan: Scan, path: str | Path) -> None:
    """Write a scan to a file. Raises UsageError when the file can't be written."""
    try:
        with Path(path).open("w", encoding="ascii", newline="\n") as stream:
            write_scan(scan, stream)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def load_scan(path: str | Path) -> Scan:
    """Read a file that `save_scan` wrote. Raises UsageError when it can't be read; the message says why."""
    try:
        with Path(path).open(encoding="ascii") as stream:
            return read_scan(stream)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: this is not a saved scan") from error
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def _parts(scan: Scan) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    return ("source", scan.sources), ("sighting", scan.sightings), ("error", scan.errors)


def _write(stream: TextIO, line: dict[str, Any]) -> None:
    stream.write(json.dumps(line, separators=(",", ":")) + "\n")


def _read(stream: Iterable[str]) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield (line number, type, the rest) of each line that is not blank."""
    for number, text in enumerate(stream, 1):
        if not text.strip():
            continue
        try:
            line = json.loads(text)
            name = line.pop("type")
        except MISFITS as error:
            raise UsageError(f"line {number}: this is no line of a saved scan") from error
        if name not in {"header", "end", *_ITEMS}:
            raise UsageError(f"line {number}: unknown type {name!r:.40}")
        yield number, name, line


def _check_header(body: dict[str, Any], number: int, *, inside: bool) -> None:
    if body.get("format") != FORMAT:
        raise UsageError(f"line {number}: this is not a saved scan")
    if body.get("version") != SCAN_VERSION:
        other = f"{body.get('version')!r:.20}"
        raise UsageError(f"line {number}: the scan has version {other}, this release reads {SCAN_VERSION}; scan the logs again")
    if inside:
        raise UsageError(f"line {number}: the section above is cut short: its end line is missing")


def _item(name: str, body: dict[str, Any], number: int) -> Any:
    try:
        return _CONVERTER.structure(body, _ITEMS[name])
    except MISFITS as error:
        raise UsageError(f"line {number}: this {name} can't be read: {error!r:.200}") from error
