"""A rule file that is edited: cut into blocks that parse alone, of which only the changed ones are parsed again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from attrs import define, evolve, field

from denpex_rules.errors import Diagnostic, Source
from denpex_rules.parser import Broken, Leaf, Node, Tree, parse

HEADER: Final = "language 1\n"  # makes a block a file of its own

# A line that starts a rule, or a shared event. Above the first rule only: below, an event may be a rule's own.
_START: Final = re.compile(r"^[^\S\n]*(?P<word>rule|(?:identity\s+)?event)\b(?!\s*\.)", re.MULTILINE)
_BLANK: Final = re.compile(r"(?:\s|#[^\n]*)*")


def cuts(text: str) -> list[int]:
    """Return the offsets at which blocks start, the first of them 0.

    A block starts with a line on which nothing else than a rule or a shared event can start, so that a mistake in one block
    changes nothing in another, and blocks parsed alone say what the whole file says.
    """
    found = [0]
    ruled = False
    for match in _START.finditer(text):
        if ruled and match["word"] != "rule":
            continue
        before = text[found[-1] : match.start()]
        if before.rstrip().endswith(",") or (len(found) == 1 and _BLANK.fullmatch(before)):
            continue  # the line goes on, or there is nothing that a header could be missed in
        ruled = ruled or match["word"] == "rule"
        found.append(match.start())
    return found


@define
class Blocks:
    """The blocks of one file as they were parsed last. `parsed` counts how many were parsed since the start."""

    parsed: int = 0
    _known: dict[str, Tree] = field(factory=dict, init=False)
    _placed: dict[tuple[str, int, int], Tree] = field(factory=dict, init=False)

    def parse(self, source: Source) -> Tree:
        """Return the tree of a file, as `parser.parse` would."""
        known: dict[str, Tree] = {}
        placed: dict[tuple[str, int, int], Tree] = {}
        for text, start, line in _pieces(source.text):
            alone = HEADER + text if start else text
            tree = known[alone] = self._known.get(alone) or known.get(alone) or self._parse(source.path, alone)
            key = (text, start, line)
            placed[key] = self._placed.get(key) or _place(tree, source, start)
        self._known, self._placed = known, placed
        children = tuple(child for tree in placed.values() for child in tree.root.children)
        diagnostics = tuple(found for tree in placed.values() for found in tree.diagnostics)
        return Tree(source, Node("start", children, source.span(0, len(source.text))), diagnostics)

    def _parse(self, path: str, text: str) -> Tree:
        self.parsed += 1
        return parse(Source(path, text))


def _pieces(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each block's text, its offset and the number of lines above it."""
    starts = cuts(text)
    line = 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        piece = text[start:end]
        yield piece, start, line
        line += piece.count("\n")


def _place(tree: Tree, source: Source, start: int) -> Tree:
    """Return a block's tree with the spans of the file that it stands in, without the header that it was given."""
    if start == 0:
        return tree
    by = start - len(HEADER)
    children = tuple(
        _moved(child, source, by) for child in tree.root.children if not (isinstance(child, Node) and child.kind == "header")
    )
    diagnostics = tuple(_told(found, source, by) for found in tree.diagnostics)
    return Tree(source, Node("start", children, source.span(start, start + len(tree.source.text))), diagnostics)


def _told(found: Diagnostic, source: Source, by: int) -> Diagnostic:
    span = source.span(found.span.start + by, found.span.end + by)
    if found.patch is None:
        return evolve(found, span=span)
    edits = tuple(evolve(e, span=source.span(e.span.start + by, e.span.end + by)) for e in found.patch.edits)
    return evolve(found, span=span, patch=evolve(found.patch, edits=edits))


def _moved(item: Node | Leaf | Broken, source: Source, by: int) -> Node | Leaf | Broken:
    span = source.span(item.span.start + by, item.span.end + by)
    if isinstance(item, Leaf):
        return Leaf(item.kind, item.text, span)
    if isinstance(item, Broken):
        return Broken(item.keyword, item.words, span)
    return Node(item.kind, tuple([_moved(child, source, by) for child in item.children]), span)
