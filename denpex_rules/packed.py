"""Compressed streams: which compression bytes are, and a stream that unpacks them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from typing import Any, Final

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

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
