"""The canonical layout of a `.rule` file: spaces, breaks and columns change, symbols and comments never do."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from attrs import define, evolve, field, frozen

from denpex_rules.errors import RuleError, Source
from denpex_rules.parser import Leaf, Node, Tree, parse, symbols

WIDTH: Final = 132  # of a line; a text or regex is never broken, so a line that holds one may be longer
INDENT: Final = 2
GAP: Final = 2  # spaces between the clauses of a step, and before a comment at the end of a line
FIELD: Final = 8  # columns of a keyword with the spaces up to its value
EXAMPLE: Final = 7  # the same for `like` and `unlike`

LISTS: Final = frozenset({"tags", "causes", "victim", "reporter"})
FIELDS: Final = frozenset({"title", "summary", "class", "impact", "level", "status", "why", "do", "verify", "see", "ref"})
GROUPS: Final = frozenset({"any", "all"})


def format_text(text: str, name: str = "<text>") -> str:
    """Return the text of a rule file in the canonical layout, with its comments.

    Args:
        text: the file's text.
        name: what diagnostics call the file.

    Raises:
        RuleError: the text does not follow the grammar; it carries every syntax mistake.
    """
    return format_tree(parse(Source(name, text)))


def format_tree(tree: Tree) -> str:
    """Return the text of a parsed rule file in the canonical layout, with its comments.

    Raises:
        RuleError: the tree has syntax mistakes; it carries them.
    """
    if tree.diagnostics:
        raise RuleError(tree.diagnostics)
    return _File(_commented(tree), _signs(tree.root)).lay_out(tree.root)


# ------------------------------------------------------------------ symbols and their comments


@frozen
class _Symbol:
    """One symbol with the comments above it ("" is a blank line) and the comment behind it on its line, "" for none."""

    text: str
    start: int
    above: tuple[str, ...]
    behind: str = ""


@frozen
class _Cell:
    """Symbols that stay on one line, with the comments above that line and the one at its end."""

    text: str
    above: tuple[str, ...]
    behind: str


@frozen
class _Step:
    """A step up to its clauses, and the symbols of each clause."""

    head: _Cell
    clauses: tuple[tuple[Node, Sequence[_Symbol]], ...]


def _commented(tree: Tree) -> tuple[_Symbol, ...]:
    """Return the symbols of a file with their comments, and an empty one at its end."""
    text = tree.source.text
    found: list[_Symbol] = []
    end = 0
    for leaf in (*symbols(tree), Leaf("", "", tree.source.span(len(text), len(text)))):
        gap = text[end : leaf.span.start]
        lines = [line.strip() for line in gap.split("\n")] if "\n" in gap or not leaf.text else [""]
        if found and (behind := lines.pop(0)):
            found[-1] = evolve(found[-1], behind=behind)
        if leaf.text:
            lines = lines[:-1]  # what stands before a symbol on its line is only its indent
        above = tuple(line for line, before in zip(lines, ["#", *lines], strict=False) if line or before)
        found.append(_Symbol(leaf.text, leaf.span.start, above))
        end = leaf.span.end
    return tuple(found)


def _comments(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(line for line in lines if line)


def _signs(node: Node) -> frozenset[int]:
    """Return the offsets at which a number starts, maybe with a sign: no space stands behind that."""
    own = frozenset({node.span.start} if node.kind in {"integer", "decimal"} else ())
    return own.union(*(_signs(child) for child in node.nodes()))


def _split(here: Sequence[_Symbol], starts: Iterable[int]) -> Iterator[Sequence[_Symbol]]:
    """Yield the symbols in parts, of which all but the first begin at these offsets."""
    done = 0
    for start in starts:
        cut = bisect_left(here, start, key=lambda symbol: symbol.start)
        yield here[done:cut]
        done = cut
    yield here[done:]


def _quiet(here: Sequence[_Symbol | _Cell]) -> bool:
    """Whether no comment stands between these symbols or cells."""
    return not any(one.behind for one in here[:-1]) and not any(_comments(one.above) for one in here[1:])


# ------------------------------------------------------------------ the file


@define
class _File:
    """The lines of one file, as they are written."""

    symbols: tuple[_Symbol, ...]
    signs: frozenset[int]
    rows: list[str] = field(factory=list)
    opened: bool = True  # nothing was written yet below the start of a block: no blank line stands there

    def lay_out(self, root: Node) -> str:
        """Return the text of a whole file."""
        previous = ""
        for item in root.nodes():
            if previous and (previous, item.kind) != ("use", "use"):
                self._blank()
            previous = item.kind
            if item.kind == "rule":
                self._rule(item)
            else:
                self._statement(item, 0)
        self._close(self.symbols[-1].above, 0)
        return "\n".join(self.rows) + "\n"

    # ---- rows

    def _blank(self) -> None:
        if not self.opened and self.rows[-1]:
            self.rows.append("")

    def _above(self, lines: Iterable[str], indent: int) -> None:
        for line in lines:
            if line:
                self.rows.append(" " * indent + line)
                self.opened = False
            else:
                self._blank()

    def _row(self, cell: _Cell, indent: int, *, opens: bool = False) -> None:
        self._above(cell.above, indent)
        self.rows.append(" " * indent + cell.text + (" " * GAP + cell.behind if cell.behind else ""))
        self.opened = opens

    def _close(self, above: Iterable[str], indent: int) -> None:
        """Write the comments at the end of a block; no blank line stands there."""
        self._above(above, indent)
        if not self.rows[-1]:
            self.rows.pop()

    def _fill(self, opening: str, cells: Sequence[_Cell], indent: int, hang: int) -> None:
        """Write cells side by side behind `opening`, as many a line as fit; lines below the first one start `hang` further."""
        line = evolve(cells[0], text=opening + cells[0].text)
        for cell in cells[1:]:
            above = _comments(cell.above)
            joined = f"{line.text} {cell.text}"
            if not line.behind and not above and indent + len(joined) <= WIDTH:
                line = evolve(line, text=joined, behind=cell.behind)
            else:
                self._row(line, indent)
                line = evolve(cell, above=above)
                indent, hang = indent + hang, 0
        self._row(line, indent)

    # ---- cells

    def _of(self, node: Node) -> Sequence[_Symbol]:
        lo, hi = (bisect_left(self.symbols, at, key=lambda symbol: symbol.start) for at in (node.span.start, node.span.end))
        return self.symbols[lo:hi]

    def _cell(self, here: Sequence[_Symbol], keyword: int = 0) -> _Cell:
        """Return symbols as one cell, the first padded to `keyword` columns. Comments among them move above it."""
        first = here[0].text
        text = f"{first:<{keyword - 1}}" if keyword else first
        for i, symbol in enumerate(here[1:], 1):
            text += symbol.text if self._touches(here, i) else f" {symbol.text}"
        inside = [line for a, b in pairwise(here) for line in (a.behind, *b.above)]
        return _Cell(text, (*here[0].above, *_comments(inside)), here[-1].behind)

    def _touches(self, here: Sequence[_Symbol], i: int) -> bool:
        """Whether no space stands before this symbol."""
        before, after = here[i - 1], here[i]
        signed = before.text in {"+", "-"} and before.start in self.signs
        return signed or before.text in {"(", ".", ".."} or after.text in {")", ",", ":", ".", "..", "("}

    def _cells(self, here: Sequence[_Symbol], starts: Iterable[int], keyword: int = 0) -> list[_Cell]:
        return [self._cell(part, 0 if i else keyword) for i, part in enumerate(_split(here, starts))]

    def _joints(self, nodes: Iterable[Node], *words: str) -> list[int]:
        """Return where these constructs start, together with the word before each if it is one of `words`."""
        found = []
        for node in nodes:
            at = bisect_left(self.symbols, node.span.start, key=lambda symbol: symbol.start)
            found.append(self.symbols[at - 1 if self.symbols[at - 1].text in words else at].start)
        return found

    # ---- statements

    def _rule(self, node: Node) -> None:
        head, body = node.nodes()
        self._row(self._cell(self._of(head)), 0, opens=True)
        run: list[Node] = []
        for statement in body.nodes():
            if run and (statement.kind != "step" or "" in self._of(statement)[0].above):
                self._steps(run, INDENT)
                run = []
            if statement.kind == "step":
                run.append(statement)
            else:
                self._statement(statement, INDENT)
        if run:
            self._steps(run, INDENT)
        brace = self._of(node)[-1]
        self._close(brace.above, INDENT)
        self._row(_Cell(brace.text, (), brace.behind), 0)

    def _statement(self, node: Node, indent: int) -> None:
        here = self._of(node)
        starts = (item.span.start for item in node.children[1:])
        if node.kind == "event":
            self._event(node, indent)
        elif node.kind == "use":
            self._fill("", self._cells(here, starts), indent, len("use "))
        elif node.kind in LISTS:
            self._fill("", self._cells(here, starts, FIELD), indent, max(FIELD, len(f"{node.kind} ")))
        elif node.kind == "blame" or (node.kind == "onset" and not self._onset_fits(node, indent)):
            self._alternatives(node, indent)
        else:
            self._row(self._cell(here, FIELD if node.kind in {*FIELDS, "onset"} else 0), indent)

    def _onset_fits(self, node: Node, indent: int) -> bool:
        here = self._of(node)
        parts = self._cells(here, self._joints(node.nodes()[1:], "else"))
        return _quiet(parts) and indent + len(self._cell(here, FIELD).text) <= WIDTH

    def _alternatives(self, node: Node, indent: int) -> None:
        """Write `blame` or `onset`, each `else` on a line of its own."""
        first, *others = node.nodes()
        parts = _split(self._of(node), self._joints(others, "else"))
        for alternative, part in zip((first, *others), parts, strict=True):
            starts = self._joints(alternative.nodes("role", "when")[1:])
            if alternative is first:
                self._fill("", self._cells(part, starts, FIELD), indent, FIELD)
            else:
                self._fill("", self._cells(part, starts, FIELD - INDENT), indent + INDENT, FIELD - INDENT)

    # ---- events

    def _event(self, node: Node, indent: int) -> None:
        patterns = node.nodes("any", "all", "sequence")
        details = node.nodes("like", "unlike", "with", "moment")
        head, *parts = _split(self._of(node), (part.span.start for part in (*patterns, *details)))
        self._row(self._cell(head), indent, opens=True)
        self._pattern(patterns[0], parts[0], indent + INDENT)
        for detail, part in zip(details, parts[1:], strict=True):
            self._row(self._cell(part, EXAMPLE if detail.kind in {"like", "unlike"} else 0), indent + INDENT)

    def _pattern(self, node: Node, here: Sequence[_Symbol], indent: int) -> None:
        """Write a pattern and the comma behind it: on one line if it fits there, else each part of it on a line."""
        whole = self._cell(here)
        if _quiet(here[1:] if node.kind in GROUPS else here) and indent + len(whole.text) <= WIDTH:
            self._row(whole, indent)
        elif node.kind in GROUPS:
            closing = max(i for i, symbol in enumerate(here) if symbol.text == ")")
            self._row(self._cell(here[:2]), indent, opens=True)
            for child, part in zip(node.nodes(), _split(here[2:closing], (c.span.start for c in node.nodes()[1:])), strict=True):
                self._pattern(child, part, indent + INDENT)
            end = self._cell(here[closing:])
            self._above(_comments(end.above), indent + INDENT)
            self._row(evolve(end, above=()), indent)
        else:
            first, *others = self._cells(here, (symbol.start for symbol in here if symbol.text == "&"))
            self._row(first, indent)
            for cell in others:
                self._row(evolve(cell, above=_comments(cell.above)), indent + INDENT)

    # ---- steps

    def _steps(self, run: Sequence[Node], indent: int) -> None:
        """Write steps that follow each other: their clauses start in one column."""
        steps = [self._step(node) for node in run]
        column = max((len(step.head.text) for step in steps if step.clauses), default=0) + GAP
        for step in steps:
            cells = [self._cell(part) for _, part in step.clauses]
            text = f"{step.head.text:<{column}}" + (" " * GAP).join(cell.text for cell in cells)
            if not cells:
                self._row(step.head, indent)
            elif _quiet([step.head, *cells]) and indent + len(text) <= WIDTH:
                self._row(_Cell(text, step.head.above, cells[-1].behind), indent)
            else:
                self._long_step(step, indent, column)

    def _step(self, node: Node) -> _Step:
        clauses = [c for c in node.nodes() if c.kind != "alias"]
        head, *parts = _split(self._of(node), (c.span.start for c in clauses))
        return _Step(self._cell(head, FIELD), tuple(zip(clauses, parts, strict=True)))

    def _long_step(self, step: _Step, indent: int, column: int) -> None:
        """Write a step that does not fit on one line, or that has comments inside: each clause on a line of its own."""
        rows = [self._cells(part, self._joints(c.nodes()[1:], "and") if c.kind == "where" else ()) for c, part in step.clauses]
        rows = [[evolve(row[0], above=_comments(row[0].above)), *row[1:]] for row in rows]
        if step.head.behind or rows[0][0].above:
            self._row(step.head, indent)
        else:
            first, *others = rows.pop(0)
            opening = f"{step.head.text:<{column}}"
            self._fill(opening, [evolve(first, above=step.head.above), *others], indent, column + len("where "))
        for row in rows:
            self._fill("", row, indent + column, len("where "))
