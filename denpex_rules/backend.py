"""Where literals stand in a block of bytes: one interface, two automata that give the same hits.

pyahocorasick is always there. Hyperscan, an optional extra, is many times faster on blocks with few hits.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Final, Protocol

import ahocorasick

from denpex_rules.errors import UsageError

Hits = list[tuple[int, int]]

NAMES: Final = ("auto", "pyahocorasick", "hyperscan")


class Backend(Protocol):
    """Finds all literals in blocks."""

    name: str

    def hits(self, block: bytes) -> Hits:
        """Return (offset of its last byte, number) of each literal in a block, overlapping ones included, in order of offset."""


class AhoCorasick:
    """The automaton of pyahocorasick. It takes texts only: read as Latin-1, one character is one byte."""

    name = "pyahocorasick"

    def __init__(self, literals: Sequence[bytes]) -> None:
        """Build the automaton; the number of a literal is its place."""
        self._automaton: Any = ahocorasick.Automaton()
        for number, literal in enumerate(literals):
            self._automaton.add_word(literal.decode("latin-1"), number)
        self._automaton.make_automaton()
        self._empty = not literals

    def hits(self, block: bytes) -> Hits:
        """Return the hits; see `Backend.hits`."""
        return [] if self._empty else list(self._automaton.iter(block.decode("latin-1")))


class Hyperscan:
    """The database of Hyperscan (Vectorscan), in block mode."""

    name = "hyperscan"

    def __init__(self, literals: Sequence[bytes]) -> None:
        """Compile the database; the number of a literal is its place."""
        module = _hyperscan()
        self._found: Hits = []
        self._database: Any = module.Database(mode=module.HS_MODE_BLOCK) if literals else None  # None: nothing to find
        if self._database is not None:
            self._database.compile(
                expressions=[_escaped(literal) for literal in literals],
                ids=list(range(len(literals))),
                elements=len(literals),
                flags=[0] * len(literals),
            )
            self._database.scratch = module.Scratch(self._database)
        self._take = self._taken  # one reference, kept: the library holds none while it calls back

    def hits(self, block: bytes) -> Hits:
        """Return the hits; see `Backend.hits`."""
        if self._database is None or not block:
            return []
        self._found = []
        self._database.scan(block, match_event_handler=self._take)
        found, self._found = self._found, []
        return found

    def _taken(self, number: int, _start: int, end: int, _flags: int, _context: object) -> None:
        self._found.append((end - 1, number))


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
