"""Reading ahead: the same chunks in the same order, and no thread or open file is left behind."""

from __future__ import annotations

import threading
from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules.readahead import DEPTH, read_ahead

CLOSED: list[str] = []


def chunks(count: int, error: BaseException | None = None) -> Generator[bytes]:
    """Yield some chunks, then raise; note that it was closed."""
    try:
        for number in range(count):
            yield b"%d" % number
        if error is not None:
            raise error
    finally:
        CLOSED.append(threading.current_thread().name)


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "denpex read-ahead"]


@given(st.integers(0, 20), st.integers(0, 20))
def test_chunks_come_in_order(count: int, taken: int) -> None:
    """With what a look at each gives; however many are taken, the thread ends, and it closes what it read."""
    CLOSED.clear()
    ahead = read_ahead(chunks(count), len)
    found = [chunk for chunk, _ in zip(ahead, range(taken), strict=False)]
    ahead.close()
    assert found == [(b"%d" % number, len(b"%d" % number)) for number in range(min(count, taken))]
    assert not readers()
    assert CLOSED in ([], ["denpex read-ahead"])  # none where nothing was taken


def test_it_is_read_by_another_thread_and_not_far_ahead() -> None:
    """A few chunks wait at most: memory stays bounded however slow the scan is."""
    seen: list[bytes] = []
    ahead = read_ahead(chunks(100), seen.append)
    next(ahead)
    for _ in range(50):
        readers()[0].join(0.001)
    assert len(seen) <= DEPTH + 2
    assert sum(1 for _ in ahead) == 99
    assert len(seen) == 100


@pytest.mark.parametrize("error", [OSError("gone"), MemoryError(), KeyboardInterrupt()])
def test_what_reading_raises_is_raised(error: BaseException) -> None:
    """After the chunks before it, as if they were read here."""
    ahead = read_ahead(chunks(3, error), None)
    assert [next(ahead) for _ in range(3)] == [(b"0", None), (b"1", None), (b"2", None)]
    with pytest.raises(type(error)) as raised:
        next(ahead)
    assert raised.value is error
    assert not readers()


def test_what_a_look_raises_is_raised() -> None:
    """Nothing is lost in silence."""

    def refuse(chunk: bytes) -> None:
        raise ValueError(chunk)

    with pytest.raises(ValueError, match="0"):
        list(read_ahead(chunks(3), refuse))
    assert not readers()
