"""Where literals stand in a block of bytes: one interface, two automata that give the same hits.

pyahocorasick is always there. Hyperscan, an optional extra, is many times faster on blocks with few hits.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from typing import Any, Final, Protocol

import ahocorasick

from denpex_rules.errors import UsageError

Bytes = bytes | memoryview
Hits = list[tuple[int, int]]

NAMES: Final = ("auto", "pyahocorasick", "hyperscan")

# Bytes of logs, the most frequent first. A node of pyahocorasick's automaton tries its branches in the order in which they were
# added: this order makes it a tenth faster.
_FREQUENT: Final = b" 01:2estran3pio-6l.][,5yd4c8NIFOu7/9kfm=ghb_v()\"CTERwLPxGSDAM'UWj>+<*q|VBzHX{}!K%#J&;Z?Q@^`~$"
_ORDER: Final = bytes(_FREQUENT.index(byte) if byte in _FREQUENT else 255 for byte in range(256))


class Taker(Protocol):
    """Takes the hits of one block."""

    def hits(self, hits: Hits) -> None:
        """Take several: (offset of its last byte, number) of each."""

    def hit(self, number: int, start: int, end: int, flags: int, context: object) -> None:
        """Take one as Hyperscan tells it: `end` is the offset behind its last byte; start, flags and context tell nothing."""


class Backend(Protocol):
    """Finds all literals in blocks."""

    name: str
    frees_threads: bool  # whether other threads may go on while one looks

    def tell(self, block: Bytes, taker: Taker) -> None:
        """Hand the hits to a taker, all at once or one by one."""

    def hits(self, block: Bytes) -> Hits:
        """Return (offset of its last byte, number) of each literal in a block, overlapping ones included, in order of offset."""


class AhoCorasick:
    """The automaton of pyahocorasick. It takes texts only: read as Latin-1, one character is one byte."""

    name = "pyahocorasick"
    frees_threads = False

    def __init__(self, literals: Sequence[bytes]) -> None:
        """Build the automaton; the number of a literal is its place."""
        self._automaton: Any = ahocorasick.Automaton()
        for number, literal in sorted(enumerate(literals), key=lambda one: one[1].translate(_ORDER)):
            self._automaton.add_word(literal.decode("latin-1"), number)
        self._automaton.make_automaton()
        self._empty = not literals

    def tell(self, block: Bytes, taker: Taker) -> None:
        """Hand over the hits; see `Backend.tell`."""
        taker.hits(self.hits(block))

    def hits(self, block: Bytes) -> Hits:
        """Return the hits; see `Backend.hits`."""
        return [] if self._empty else list(self._automaton.iter(str(block, "latin-1")))


class Hyperscan:
    """The database of Hyperscan (Vectorscan), in block mode. Several threads may look at once."""

    name = "hyperscan"
    frees_threads = True

    def __init__(self, literals: Sequence[bytes]) -> None:
        """Compile the database; the number of a literal is its place."""
        module = _hyperscan()
        self._database: Any = module.Database(mode=module.HS_MODE_BLOCK) if literals else None  # None: nothing to find
        if self._database is not None:
            self._database.compile(
                expressions=[_escaped(literal) for literal in literals],
                ids=list(range(len(literals))),
                elements=len(literals),
                flags=[0] * len(literals),
            )
        self._look = _Look(self._database)

    def hits(self, block: Bytes) -> Hits:
        """Return the hits; see `Backend.hits`."""
        found = _Found()
        self.tell(block, found)
        return found.found

    def tell(self, block: Bytes, taker: Taker) -> None:
        """Hand over the hits; see `Backend.tell`."""
        if self._database is not None and block:
            look = self._look
            look.handler = taker.hit
            self._database.scan(block, match_event_handler=look.handler, scratch=look.scratch)


class _Look(threading.local):
    """What one thread looks with: a scratch space of its own, and the handler, to which the library holds no reference."""

    def __init__(self, database: Any) -> None:
        self.scratch: Any = _hyperscan().Scratch(database) if database is not None else None
        self.handler: Any = None


class _Found:
    """Keeps the hits of one block."""

    def __init__(self) -> None:
        self.found: Hits = []

    def hits(self, hits: Hits) -> None:
        """Take several."""
        self.found += hits

    def hit(self, number: int, start: int, end: int, flags: int, context: object) -> None:
        """Take one."""
        del start, flags, context
        self.found.append((end - 1, number))


def choose(name: str, literals: Sequence[bytes]) -> Backend:
    """Return the backend of this name; `auto` is Hyperscan where it is installed.

    Raises:
        UsageError: there is no such backend, or it is not installed.
    """
    name = checked(name)
    fast = name == "hyperscan" or (name == "auto" and _hyperscan() is not None)
    return Hyperscan(literals) if fast else AhoCorasick(literals)


def checked(name: str) -> str:
    """Return the name of a backend that can be used. Raises UsageError where there is no such one, or it is not installed."""
    if name not in NAMES:
        raise UsageError(f"unknown backend {name!r:.40}; there are {', '.join(NAMES)}")
    if name == "hyperscan" and _hyperscan() is None:
        raise UsageError("the backend hyperscan is not installed; install it with: pip install 'denpex-rules[hyperscan]'")
    return name


def _hyperscan() -> Any:
    """Return the module, None where it is not installed."""
    try:
        return importlib.import_module("hyperscan")
    except ImportError:
        return None


def _escaped(literal: bytes) -> bytes:
    """Return a regex for one text: every byte by its code, since a NUL or a backslash would end or change a pattern."""
    return b"".join(b"\\x%02x" % byte for byte in literal)
