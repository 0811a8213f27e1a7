"""Compressed streams: which compression bytes are, a stream that unpacks them, and an unpacker of pieces as they arrive."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHUNK: Final = 1 << 20  # bytes of one unpacked piece at most
MAGIC: Final = 6  # bytes that tell the compression
DAMAGE: Final = (OSError, EOFError, zlib.error, lzma.LZMAError, zstd.ZstdError)  # what reading a broken stream raises
_GZIP, _XZ, _BZ2, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh", b"\x28\xb5\x2f\xfd"


def is_packed(start: bytes) -> bool:
    """Whether bytes that begin so are compressed."""
    return start.startswith((_GZIP, _XZ, _BZ2, _ZSTD))


def unpacked(raw: io.BufferedReader) -> Any:
    """Return the stream that unpacks `raw`, or `raw` itself where its first bytes are of no compression."""
    start = raw.peek(MAGIC)[:MAGIC]
    if start.startswith(_GZIP):
        return gzip.GzipFile(fileobj=raw)
    if start == _XZ:
        return lzma.LZMAFile(raw)
    if start.startswith(_BZ2):
        return bz2.BZ2File(raw)
    return zstd.ZstdFile(raw) if start.startswith(_ZSTD) else raw


class Unpacker:
    """Unpacks a stream that arrives in pieces, told by its first bytes; what is of no compression passes as it is.

    What comes out comes in pieces of at most CHUNK, so that a bomb costs time and no memory. Damage ends the stream with a note.
    """

    def __init__(self) -> None:
        self.note = ""  # why bytes are missing
        self._held = b""  # the first bytes, while they are too few to tell
        self._told = False
        self._make: Callable[[], _Decoder] | None = None
        self._decoder: _Decoder | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the next bytes stand for."""
        if not self._told:
            data = self._held + data
            self._held = data
            if len(data) < MAGIC and any(magic.startswith(data) for magic in _DECODERS):
                return
            self._tell()
        if self._make is None:
            yield from [data] if data else []
        elif not self.note:
            yield from self._unpacked(data)

    def finish(self) -> Iterator[bytes]:
        """Yield what is left at the end."""
        if not self._told and self._held:
            yield self._held
        if self._decoder is not None and not self.note:
            self.note = "reading ended early: the compressed stream is cut"

    def _tell(self) -> None:
        self._make = next((make for magic, make in _DECODERS.items() if self._held.startswith(magic)), None)
        self._told, self._held = True, b""

    def _unpacked(self, data: bytes) -> Iterator[bytes]:
        assert self._make is not None
        try:
            while data:
                if self._decoder is None:  # several packed streams may follow each other; zeros between them are padding
                    data = data.lstrip(b"\0")
                    self._decoder = self._make() if data else None
                if self._decoder is not None:
                    yield from self._drained(self._decoder, data)
                    ended = self._decoder.eof
                    data = self._decoder.unused_data if ended else b""
                    self._decoder = None if ended else self._decoder
        except DAMAGE as error:
            self.note = f"reading ended early: {str(error) or type(error).__name__}"

    @staticmethod
    def _drained(decoder: _Decoder, data: bytes) -> Iterator[bytes]:
        while True:
            if piece := decoder.decompress(data, CHUNK):
                yield piece
            if decoder.eof or (decoder.needs_input and len(piece) < CHUNK):
                return
            data = b""


class _Decoder(Protocol):
    """What the decoders of the standard library have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gunzip:
    """The decoder of zlib for gzip in the form of the others."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


_DECODERS: Final[dict[bytes, Callable[[], _Decoder]]] = {
    _GZIP: _Gunzip,
    _XZ: lzma.LZMADecompressor,
    _BZ2: bz2.BZ2Decompressor,
    _ZSTD: zstd.ZstdDecompressor,
}
