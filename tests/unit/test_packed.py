"""Which compression bytes are."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable

import pytest

from denpex_rules.packed import CHUNK, DAMAGE, Unpacker, is_packed, unpacked, zstd

PACK = [gzip.compress, lzma.compress, bz2.compress, zstd.compress]
NAMES = ["gz", "xz", "bz2", "zst"]


@pytest.mark.parametrize("pack", PACK, ids=NAMES)
def test_told_by_the_first_bytes(pack: Callable[[bytes], bytes]) -> None:
    """Each compression is known by its magic and undone; several streams behind each other are one."""
    data = pack(b"one\n") + pack(b"two\n")
    assert is_packed(data)
    assert unpacked(io.BufferedReader(io.BytesIO(data))).read() == b"one\ntwo\n"


def test_plain_bytes_come_as_they_are() -> None:
    """Bytes of no compression are read from the stream itself."""
    assert not is_packed(b"step 10")
    assert unpacked(io.BufferedReader(io.BytesIO(b"step 10"))).read() == b"step 10"


@pytest.mark.parametrize("pack", PACK, ids=NAMES)
def test_damage_has_known_exceptions(pack: Callable[[bytes], bytes]) -> None:
    """A cut stream raises what callers catch, never ends as if it were whole."""
    data = pack(b"".join(b"line %d\n" % n for n in range(10_000)))
    with pytest.raises(DAMAGE):
        unpacked(io.BufferedReader(io.BytesIO(data[: len(data) // 2]))).read()


def test_pieces_give_the_same_as_the_whole() -> None:
    """An unpacker that gets a bomb in one piece gives it in pieces of bounded size."""
    data = b"\0" * (5 << 20)
    unpacker = Unpacker()
    pieces = list(unpacker.feed(gzip.compress(data)))
    assert b"".join(pieces) == data
    assert max(map(len, pieces)) <= CHUNK


def test_padding_between_streams_is_skipped() -> None:
    """Zeros between packed streams are no stream of their own."""
    unpacker = Unpacker()
    assert b"".join(unpacker.feed(gzip.compress(b"a") + b"\0" * 100 + gzip.compress(b"b") + b"\0")) == b"ab"
    assert list(unpacker.finish()) == []
    assert unpacker.note == ""
