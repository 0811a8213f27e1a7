"""Bytes that are opened as streams, more than once where they can be."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from denpex_rules import stores
from denpex_rules.stores import Store

DATA = b"0123456789" * 100


def of(kind: str, tmp_path: Path) -> Store:
    path = tmp_path / "data"
    path.write_bytes(DATA)
    if kind == "memory":
        return stores.in_memory(DATA)
    if kind == "path":
        return stores.at_path(path)
    with io.FileIO(path) as file:
        return stores.of_open(file)


@pytest.mark.parametrize("kind", ["memory", "path", "descriptor"])
def test_readers_do_not_disturb_each_other(kind: str, tmp_path: Path) -> None:
    """Two readers of one store have a position each, from any seek."""
    store = of(kind, tmp_path)
    assert store.size == len(DATA)
    with store.open() as one, store.open() as other:
        assert one.read(15) == DATA[:15]
        other.seek(-3, io.SEEK_END)
        assert other.read() == DATA[-3:]
        one.seek(5, io.SEEK_CUR)
        assert one.read(2) == DATA[20:22]


def test_first_bytes_that_were_read_come_again() -> None:
    """A stream whose start was looked at gives its start and then the rest, and is closed with it."""
    rest = io.BytesIO(b"rest")
    stream = io.BufferedReader(stores.raw(b"start ", io.BufferedReader(rest)))  # type: ignore[arg-type]
    assert stream.read() == b"start rest"
    stream.close()
    assert rest.closed
