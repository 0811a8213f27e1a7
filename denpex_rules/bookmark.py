"""Where a followed scan stands, on disk: which bytes of which files were read, what was sighted, what was given.

A line of JSON and then a saved scan, written whole or not at all. The scan is used for files that are gone when the state is read
again; what is still there is read again.
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from denpex_rules.codec import MISFITS, make_converter
from denpex_rules.errors import UsageError
from denpex_rules.finding import Incident
from denpex_rules.scanfile import read_scan, write_scan
from denpex_rules.sighting import Scan

FORMAT: Final = "denpex-follow"
VERSION: Final = 1

_CONVERTER: Final = make_converter()


@frozen
class Mark:
    """One file that was read: which it is, and how far.

    `head` is the SHA-256 of its first `known` bytes, unpacked: it tells the file again when it was renamed, copied or packed.
    """

    name: str
    device: int
    inode: int
    known: int
    head: str
    read: int


@frozen
class Log:
    """One followed log: its source's name, its path, and its parts, oldest first."""

    source: str
    path: str
    parts: tuple[Mark, ...]


@frozen
class Bookmark:
    """All that a follower needs to go on after it was stopped in any way.

    `given` are the incidents in their newest revision; `pending` the ids of those that may not have been delivered.
    """

    logs: tuple[Log, ...] = ()
    given: tuple[Incident, ...] = ()
    pending: tuple[str, ...] = ()


def scan_text(scan: Scan) -> str:
    """Return a scan in the form in which `save` takes it."""
    stream = io.StringIO()
    write_scan(scan, stream)
    return stream.getvalue()


def save(bookmark: Bookmark, scan: str, path: Path) -> None:
    """Write a bookmark: to a file beside it that then takes its place, so that no crash leaves half of one.

    Args:
        bookmark: where the follower stands.
        scan: what was sighted, as `scan_text` gives it.
        path: the file.

    Raises:
        UsageError: it can't be written.
    """
    body = {"format": FORMAT, "version": VERSION, **_CONVERTER.unstructure(bookmark)}
    beside = path.with_name(f"{path.name}.new")
    try:
        with beside.open("w", encoding="ascii") as file:
            file.write(json.dumps(body, separators=(",", ":")) + "\n" + scan)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise UsageError(f"{path}: the state can't be written: {error.strerror}") from error


def load(path: Path) -> tuple[Bookmark, Scan]:
    """Return a bookmark and what was sighted; both empty where there is no file yet.

    Raises:
        UsageError: the file is no bookmark of this version, or can't be read.
    """
    try:
        with path.open(encoding="ascii") as file:
            return _bookmark(file.readline(), path), read_scan(file)
    except FileNotFoundError:
        return Bookmark(), Scan()
    except OSError as error:
        raise UsageError(f"{path}: the state can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: this is not the state of a followed scan") from error


def _bookmark(text: str, path: Path) -> Bookmark:
    try:
        body: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: this is not the state of a followed scan") from error
    if not isinstance(body, dict) or body.pop("format", None) != FORMAT:
        raise UsageError(f"{path}: this is not the state of a followed scan")
    version = body.pop("version", None)
    if version != VERSION:
        raise UsageError(f"{path}: the state has version {version!r:.20}, this release reads {VERSION}; remove it to begin anew")
    try:
        return _CONVERTER.structure(body, Bookmark)
    except MISFITS as error:
        raise UsageError(f"{path}: the state is damaged ({error!r:.200}); remove it to begin anew") from error
