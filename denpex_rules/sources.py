"""From paths to sources: what to read, in which order, decompressed, in chunks of bounded size.

A caller's mistake (a path that is not there) raises. Whatever a log's state does (no permission, a cut gzip, a binary file)
becomes a note on the source, never an exception.
"""

from __future__ import annotations

import codecs
import io
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import Final, cast

from attrs import define, evolve, field

from denpex_rules import archives, documents, rotation, stores
from denpex_rules.errors import UsageError
from denpex_rules.packed import DAMAGE, Unpacker, unpacked
from denpex_rules.places import hints_for
from denpex_rules.record import NO_HINTS, Hints
from denpex_rules.sighting import Part

CHUNK: Final = 1 << 20
DASH: Final = "-"  # the path that stands for standard input
STDIN: Final = "<stdin>"
SPOOL: Final = 8 << 30  # bytes of an archive that arrives in a stream

# What lies beside logs and never is one.
_MODELS = (
    ".pt",
    ".pth",
    ".bin",
    ".ckpt",
    ".safetensors",
    ".onnx",
    ".npy",
    ".npz",
    ".pkl",
    ".pickle",
    ".h5",
    ".hdf5",
    ".parquet",
    ".arrow",
)
_PROGRAMS = (".so", ".o", ".a", ".pyc", ".whl", ".jar", ".db", ".sqlite", ".7z", ".rar", ".nsys-rep", ".qdrep")
_MEDIA = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".pdf", ".mp4")
JUNK: Final = frozenset(_MODELS + _PROGRAMS + _MEDIA)


@define(eq=False)
class Source:
    """One stream of log bytes.

    Args:
        name: how reports name it: the path inside the one folder that was given, else the path as given.
        hints: what its place claims.
        mtime_ns: when it was last written, ns UTC; None where nothing tells.
        opener: gives its raw bytes, None for a source that is named only to say why it was not read.
        path: the file, None for what is none of its own.
        pieces: the files of a rotated log, oldest first; empty: it is one file.
        notes: what went wrong; grows while it is read.
        parts: where in the stream each piece begins; grows while it is read.
        truncated: whether bytes are missing; known once it is read.
    """

    name: str
    hints: Hints = NO_HINTS
    mtime_ns: int | None = None
    opener: Callable[[], io.RawIOBase] | None = None
    path: Path | None = None
    pieces: tuple[Source, ...] = ()
    notes: list[str] = field(factory=list)
    parts: list[Part] = field(factory=list)
    truncated: bool = False

    def open(self) -> Generator[bytes]:
        """Yield its bytes, decompressed, in chunks of at most CHUNK. What can't be read ends the stream with a note."""
        if self.pieces:
            yield from self._in_turn()
        if self.opener is None:
            return
        try:
            with cast("io.BufferedReader", io.BufferedReader(self.opener(), CHUNK)) as raw:
                yield from self._read(raw)
        except DAMAGE as error:
            self.truncated = True
            self.notes.append(f"reading ended early: {str(error) or type(error).__name__}")

    def _in_turn(self) -> Iterator[bytes]:
        lines = size = 0
        for piece in self.pieces:
            self.parts.append(Part(piece.name, lines, size))
            for chunk in piece.open():
                lines += chunk.count(b"\n")
                size += len(chunk)
                yield chunk
            self.notes += [f"{piece.name}: {note}" for note in piece.notes]
            self.truncated |= piece.truncated
        self.notes.append(f"read as one log from its parts: {', '.join(p.name for p in self.pieces)}")

    def _read(self, raw: io.BufferedReader) -> Iterator[bytes]:
        # read1 hands out what one step gave, so that a cut stream loses nothing of what came before the cut.
        chunks = iter(partial(unpacked(raw).read1, CHUNK), b"")
        first = next(chunks, b"")
        kind = archives.kind_of(first[: archives.BLOCK])
        if kind:
            self.truncated = True
            self.notes.append(f"not read: a {kind} archive inside another one or a stream; unpack it first")
            return
        text = self._transcoded(chain([first] if first else [], chunks))
        if documents.holds_records(first):
            self.notes.append("read as JSON records; lines and byte offsets are those of one record a line")
            text = documents.split(text)
        yield from text

    def _transcoded(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield UTF-16 (by its mark) as UTF-8, everything else as it is."""
        transcoder = Transcoder()
        for chunk in chunks:
            if data := transcoder.feed(chunk):
                yield data
        if data := transcoder.finish():
            yield data
        if transcoder.note:
            self.notes.append(transcoder.note)


class Transcoder:
    """Turns UTF-16, told by its mark, into UTF-8 as it arrives; everything else stays as it is."""

    def __init__(self) -> None:
        self.note = ""  # what a report should say about it
        self._held: bytes | None = b""  # the first bytes, while they are too few to tell; None once it is told
        self._decoder: codecs.IncrementalDecoder | None = None

    def feed(self, data: bytes) -> bytes:
        """Return what the next bytes stand for."""
        if self._held is not None:
            data = self._held + data
            if len(data) < len(codecs.BOM_UTF16):
                self._held = data
                return b""
            self._held = None
            if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                self.note = "read as UTF-16; byte offsets are those of its UTF-8 form"
                self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        return data if self._decoder is None else self._decoder.decode(data).encode("utf-8", "replace")

    def finish(self) -> bytes:
        """Return what is left at the end."""
        if self._decoder is None:
            return self._held or b""
        return self._decoder.decode(b"", True).encode("utf-8", "replace")


def expand(paths: Iterable[str | os.PathLike[str]]) -> list[Source]:
    """Return the sources that paths stand for: files, folders (all files below, sorted by path), `-` for standard input.

    A file is read once, however often it is reached. Links inside a folder are not followed: what they point to inside is read
    by its own name, what lies outside is named in a note.

    The parts of a rotated log are one source.

    Raises:
        UsageError: a path does not exist.
    """
    return joined(apart(paths))


def apart(paths: Iterable[str | os.PathLike[str]], *, alone: bool | None = None) -> list[Source]:
    """Return what `expand` does, with each part of a rotated log a source of its own.

    Args:
        paths: files and folders.
        alone: whether names are those inside the one folder that was given; None: where one path is given.
    """
    given = [os.fspath(p) for p in paths]
    sources: list[Source] = []
    seen: set[tuple[int, int]] = set()
    for text in given:
        for key, source in _named(text, alone=len(given) == 1 if alone is None else alone):
            if key is None or key not in seen:
                sources.append(source)
                seen |= {key} if key else set()
    return sources


def joined(sources: Iterable[Source]) -> list[Source]:
    """Return sources with the parts of each rotated log put together, where their stamps show that they are parts of one."""
    kept = list(sources)
    by_name = {s.name: s for s in kept if s.opener is not None}
    for log, names in rotation.groups(by_name).items():
        pieces = tuple(by_name[name] for name in names)
        ends = [rotation.ends_of(evolve(piece, notes=[]).open(), piece.hints) for piece in pieces]
        if rotation.follows(ends):
            current = by_name[log]
            whole = Source(log, current.hints, current.mtime_ns, path=current.path, pieces=pieces)
            kept = [whole if s is current else s for s in kept if s is current or s not in pieces]
    return kept


_Found = tuple[tuple[int, int] | None, Source]  # a file's identity, None where it has none, and its source


def _named(text: str, *, alone: bool) -> list[_Found]:
    """Return the sources of one path that the caller gave."""
    if text == DASH:
        read = _piped(STDIN, Hints(domain=STDIN), _stdin)
        return [((-1, -1) if i == 0 else None, source) for i, source in enumerate(read)]  # given twice it is read once
    path = Path(text)
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        raise UsageError(f"no such file or folder: {text}") from error
    if stat.S_ISDIR(status.st_mode):
        own_name = path.resolve().name
        return [source for found in _below(path) for source in _inside(found, path, own_name, alone=alone)]
    if stat.S_ISREG(status.st_mode):
        return _file(path, _shown(path), _shown(path), status)
    shown = _shown(path)
    return [(None, source) for source in _piped(shown, hints_for(shown), partial(io.FileIO, path))]


def _piped(name: str, hints: Hints, opener: Callable[[], io.RawIOBase]) -> list[Source]:
    """Return the sources of a stream that can be read once: an archive is kept in an unnamed temporary file first."""
    raw = cast("io.BufferedReader", io.BufferedReader(opener(), CHUNK))
    try:
        start, kind = _begun(raw)
    except DAMAGE as error:
        return [_unread(name, str(error) or type(error).__name__, lost=True)]
    if not kind:
        return [Source(name, hints, None, lambda: stores.raw(start, raw))]
    with raw, tempfile.TemporaryFile(buffering=0) as kept:
        for chunk in chain([start], iter(partial(raw.read, CHUNK), b"")):
            if kept.tell() + len(chunk) > SPOOL:
                why = f"a {kind} archive of more than {SPOOL >> 30} GiB in a stream; save it to a file first"
                return [_unread(name, why, lost=True)]
            kept.write(chunk)
        return [source for _, source in _members(stores.of_open(kept), name, name, kind)]


def _begun(raw: io.BufferedReader) -> tuple[bytes, str]:
    """Read as little of a stream as tells whether it is an archive; return that and which kind it is of, "" for none."""
    start, unpacker, plain = b"", Unpacker(), b""
    while len(plain) < archives.BLOCK and b"\n" not in plain:  # the first block of an archive is no line
        data = raw.read1(CHUNK)
        start += data
        plain += b"".join(islice(unpacker.feed(data), 1)) if data else b"".join(unpacker.finish())
        if not data or unpacker.note:
            break
    return start, archives.kind_of(plain)


def _stdin() -> io.RawIOBase:
    try:
        return io.FileIO(os.dup(sys.stdin.fileno()))  # a copy: closing it leaves standard input open
    except OSError:  # a stand-in without a descriptor
        return stores.raw(sys.stdin.buffer.read())


def from_bytes(name: str, data: bytes) -> Source:
    """Return a source over bytes in memory; its name claims what a path of that name would."""
    return Source(name, hints_for(name), None, partial(stores.raw, data))


def held_in(name: str, data: bytes) -> list[Source]:
    """Return the sources of bytes in memory: of an archive its members, else the bytes themselves."""
    kind = archives.kind_of(next(Unpacker().feed(data[:CHUNK]), b"")[: archives.BLOCK])
    if kind:
        return [source for _, source in _members(stores.in_memory(data), name, name, kind)]
    return [from_bytes(name, data)]


def _below(folder: Path) -> Iterator[Path]:
    """Yield all files and links below a folder in sorted order; folders that can't be listed are yielded themselves."""
    denied: list[Path] = []
    files: list[Path] = []
    for root, folders, names in os.walk(folder, onerror=lambda e: denied.append(Path(str(e.filename)))):
        here = Path(root)
        files += [here / name for name in names]
        files += [here / name for name in folders if (here / name).is_symlink()]
    yield from sorted((*files, *denied), key=lambda p: p.relative_to(folder).parts if p != folder else ())


def _inside(path: Path, folder: Path, own_name: str, *, alone: bool) -> list[_Found]:
    """Return the sources of what was found below a folder, whose own name is given too: it may be a host's."""
    inside = path.relative_to(folder)
    name = _shown(inside if alone else path)
    try:
        status = path.lstat()
    except OSError as error:
        return [(None, _unread(name, error.strerror or "gone", lost=True))]
    if stat.S_ISLNK(status.st_mode):
        outside = not path.resolve().is_relative_to(folder.resolve())
        why = "a link out of the folder" if outside else "a link; its target is read by its own name"
        return [(None, _unread(name, why, lost=outside))]
    if stat.S_ISDIR(status.st_mode):
        return [(None, _unread(name, "the folder can't be listed", lost=True))]
    if not stat.S_ISREG(status.st_mode):
        return [(None, _unread(name, "no regular file"))]
    return _file(path, name, _shown(Path(own_name) / inside), status)  # what lies above the folder says nothing


def _file(path: Path, name: str, place: str, status: os.stat_result) -> list[_Found]:
    """Return the source of a regular file, or one that says why it is not read; of an archive those of its members."""
    key = (status.st_dev, status.st_ino)
    why = _no_log(path.name)
    if why:
        return [(key, _unread(name, why))]
    kind = archives.sniff(path)
    if kind:
        return _members(stores.at_path(path), name, place, kind)
    hints = evolve(hints_for(place), domain=name)
    return [(key, Source(name, hints, status.st_mtime_ns, partial(io.FileIO, path), path))]


def _no_log(name: str) -> str:
    """Return why a file of that name is no log, "" where it may be one."""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in JUNK or ".tfevents." in name:
        return f"{suffix} files are no logs"
    return "torchrun's error file; its text is in stderr.log too" if name == "error.json" else ""


def _members(store: stores.Store, name: str, place: str, kind: str) -> list[_Found]:
    """Return the sources of an archive: `logs.tar.gz!node-07/kern.log`, with the hints of that place inside."""
    found: list[_Found] = []
    for member in archives.members(store, kind):
        inside = _printable(member.name)
        shown = f"{name}!{inside}" if inside else name
        why = member.refused or _no_log(PurePosixPath(inside).name)
        if why:
            found.append((None, _unread(shown, why, lost=member.lost)))
            continue
        hints = evolve(hints_for(f"{archives.stem(place)}/{inside}"), domain=shown)
        found.append((None, Source(shown, hints, member.mtime_ns, member.opener)))
    return found


def _unread(name: str, why: str, *, lost: bool = False) -> Source:
    return Source(name, notes=[f"not read: {why}"], truncated=lost)


def _shown(path: Path) -> str:
    """Return a path as text with `/`; bytes that are no UTF-8 are escaped, so that every report can print it."""
    return _printable(path.as_posix())


def _printable(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
