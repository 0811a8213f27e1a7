"""The bytes of a source that arrives in pieces, as text: unpacked and transcoded, archives refused."""

from __future__ import annotations

from collections.abc import Iterator

from denpex_rules import archives
from denpex_rules.packed import Unpacker
from denpex_rules.sources import Transcoder


class Intake:
    """Turns what a source sends, in any pieces, into the bytes of its lines.

    Compression is told by the first bytes, UTF-16 by its mark. An archive is not read: its members would be sources of their own.
    """

    def __init__(self) -> None:
        self.truncated = False  # whether bytes are missing
        self._unpacker = Unpacker()
        self._transcoder = Transcoder()
        self._held: bytes | None = b""  # the first unpacked bytes, while they may be an archive's; None once that is told
        self._archive = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a report should say about the source."""
        refused = f"not read: a {self._archive} archive in a stream; scan it as a file" if self._archive else ""
        return tuple(filter(None, (refused, self._unpacker.note, self._transcoder.note)))

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the next bytes stand for."""
        for piece in self._unpacker.feed(data):
            yield from self._text(piece)
        self.truncated = bool(self._unpacker.note or self._archive)

    def finish(self) -> Iterator[bytes]:
        """Yield what is left at the end."""
        for piece in self._unpacker.finish():
            yield from self._text(piece)
        if self._held:
            yield from self._told(self._held)
        yield self._transcoder.finish()
        self.truncated = bool(self._unpacker.note or self._archive)

    def _text(self, piece: bytes) -> Iterator[bytes]:
        if self._held is not None:
            piece = self._held + piece
            self._held = piece
            if len(piece) < archives.BLOCK and b"\n" not in piece:  # an archive's first block is no line
                return
            yield from self._told(piece)
        elif not self._archive:
            yield self._transcoder.feed(piece)

    def _told(self, start: bytes) -> Iterator[bytes]:
        self._archive, self._held = archives.kind_of(start), None
        if not self._archive:
            yield self._transcoder.feed(start)
