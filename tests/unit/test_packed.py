"""Which compression bytes are."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable

import pytest

from denpex_rules.packed import DAMAGE, is_packed, unpacked, zstd

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
