"""Backends: the same hits from each, for any literals and any bytes."""

from __future__ import annotations

import importlib.util
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules import backend
from denpex_rules.backend import AhoCorasick, Hyperscan, choose
from denpex_rules.errors import UsageError

HYPERSCAN = importlib.util.find_spec("hyperscan") is not None
needs_hyperscan = pytest.mark.skipif(not HYPERSCAN, reason="the extra [hyperscan] is not installed")

_BYTE = st.sampled_from(b"ab\x00\\.*\xff ")
_TEXT = st.lists(_BYTE, min_size=1, max_size=4).map(bytes)


def naive(literals: list[bytes], block: bytes) -> list[tuple[int, int]]:
    """Return all hits, by comparing at every offset."""
    return sorted(
        (end - 1, number)
        for number, literal in enumerate(literals)
        for end in range(len(literal), len(block) + 1)
        if block[end - len(literal) : end] == literal
    )


@given(st.lists(_TEXT, min_size=1, max_size=6, unique=True), st.lists(_BYTE, max_size=40).map(bytes))
def test_pyahocorasick_finds_every_literal(literals: list[bytes], block: bytes) -> None:
    """Overlapping and nested literals, NUL and bytes beyond ASCII are all found, in order of offset."""
    hits = AhoCorasick(literals).hits(block)
    assert sorted(hits) == naive(literals, block)
    assert [end for end, _ in hits] == sorted(end for end, _ in hits)


@needs_hyperscan
@given(st.lists(_TEXT, min_size=1, max_size=6, unique=True), st.lists(_BYTE, max_size=40).map(bytes))
def test_hyperscan_gives_the_same_hits(literals: list[bytes], block: bytes) -> None:
    """Hyperscan finds what pyahocorasick finds, NUL and pattern characters included, in order of offset."""
    hits = Hyperscan(literals).hits(block)
    assert sorted(hits) == sorted(AhoCorasick(literals).hits(block))
    assert [end for end, _ in hits] == sorted(end for end, _ in hits)


@pytest.mark.parametrize("name", ["pyahocorasick", pytest.param("hyperscan", marks=needs_hyperscan)])
def test_no_literals_give_no_hits(name: str) -> None:
    """A program without literals, and an empty block, are fine."""
    assert choose(name, []).hits(b"anything") == []
    assert choose(name, [b"a"]).hits(b"") == []


def test_the_backend_is_chosen_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` takes Hyperscan where it is installed; an unknown or missing one is refused with what to do."""
    assert choose("auto", [b"a"]).name == ("hyperscan" if HYPERSCAN else "pyahocorasick")
    with pytest.raises(UsageError, match="unknown backend 'grep'"):
        choose("grep", [b"a"])
    monkeypatch.setattr(backend, "_hyperscan", lambda: None)
    assert choose("auto", [b"a"]).name == "pyahocorasick"
    with pytest.raises(UsageError, match=r"pip install 'denpex-rules\[hyperscan\]'"):
        choose("hyperscan", [b"a"])


class Taken:
    """Takes hits."""

    def __init__(self) -> None:
        self.found: list[tuple[int, int]] = []

    def hits(self, hits: list[tuple[int, int]]) -> None:
        self.found += hits

    def hit(self, number: int, start: int, end: int, flags: int, context: object) -> None:
        self.found.append((end - 1, number))


@pytest.mark.parametrize("name", ["pyahocorasick", pytest.param("hyperscan", marks=needs_hyperscan)])
def test_hits_are_told(name: str) -> None:
    """What takes the hits of a part of a block gets all of them, with offsets in that part."""
    found = choose(name, [b"ab", b"b"])
    taker = Taken()
    found.tell(memoryview(b"xxabxb")[1:], taker)
    assert sorted(taker.found) == [(2, 0), (2, 1), (4, 1)] == sorted(found.hits(b"xabxb"))
    found.tell(b"", taker)
    assert len(taker.found) == 3


@pytest.mark.parametrize("name", ["pyahocorasick", pytest.param("hyperscan", marks=needs_hyperscan)])
def test_threads_may_look_at_once(name: str) -> None:
    """Each finds the hits of its own blocks."""
    finder = choose(name, [b"step", b"lost"])
    blocks = [b"step " * n + b"x" * 200_000 + b"lost " * (40 - n) for n in range(40)]
    alone = [finder.hits(block) for block in blocks]
    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(finder.hits, blocks)] == alone
