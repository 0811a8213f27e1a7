"""The names in a rule file: what each stands for, where it is defined, and where it is used.

A statement that does not parse gives no names; all others do, so that an editor knows a rule while one line of it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

from attrs import define, field, frozen

from denpex_rules.clause import name_of
from denpex_rules.errors import Source, Span
from denpex_rules.library import block_name
from denpex_rules.parser import Broken, Leaf, Node, Tree
from denpex_rules.rule import SILENCE, Event
from denpex_rules.values import ACTOR_FIELDS

Kind = Literal["rule", "event", "alias", "step", "let", "capture", "moment", "class", "type", "function", "field"]

_TEXTS: Final = frozenset({"why", "do", "verify"})
_HOLE: Final = re.compile(r"\{\{|\}\}|\{(?P<name>[A-Za-z_]\w*)?(?::(?P<type>[A-Za-z_]\w*))?\}")
_FILLED: Final = re.compile(r"\{\{|\}\}|\{(?P<first>[A-Za-z_]\w*)(?:\.(?P<second>[A-Za-z_]\w*))?\}")
_GROUP: Final = re.compile(r"\(\?P?<(?P<name>[A-Za-z_]\w*)>")


@frozen
class Symbol:
    """What a name stands for.

    Args:
        kind: what it is.
        name: how it is called; the path of a building block, a rule or a class.
        home: the file and rule, or the event, inside which the name means this; "" where it means it in all files.
    """

    kind: Kind
    name: str
    home: str = ""


@frozen
class Mention:
    """One place at which a symbol stands."""

    symbol: Symbol
    span: Span
    defines: bool = False


@frozen
class Entry:
    """One line of a file's table of contents; `span` is the whole construct, `at` its name."""

    kind: Kind
    name: str
    detail: str
    span: Span
    at: Span
    inner: tuple[Entry, ...] = ()


@frozen
class Names:
    """What the names of one rule, or of the events outside of rules, stand for.

    Args:
        span: the rule; it reaches to the next one where it has no end.
        events: by name; those that no rule owns too.
        steps: the events of steps by the steps' names, None for silence; in written order.
        lets: the values by name.
    """

    span: Span
    rule: str = ""
    events: Mapping[str, Symbol] = field(factory=dict)
    steps: Mapping[str, Symbol | None] = field(factory=dict)
    named: Mapping[str, Symbol] = field(factory=dict)  # what the name of a step is
    lets: Mapping[str, Symbol] = field(factory=dict)


@frozen
class Outline:
    """All names of a file.

    Args:
        mentions: in the order of their places.
        entries: the table of contents.
        parts: the names of each rule, and first those that belong to none.
        fields: the captures and moments of each event that the file defines or uses.
    """

    mentions: tuple[Mention, ...]
    entries: tuple[Entry, ...]
    parts: tuple[Names, ...]
    captures: Mapping[Symbol, tuple[str, ...]]
    moments: Mapping[Symbol, tuple[str, ...]]
    targets: Mapping[Symbol, Symbol]  # the building blocks that other names stand for

    def at(self, offset: int) -> Mention | None:
        """Return the mention at an offset, or right before it; the shortest where one stands in another."""
        found = [m for m in self.mentions if m.span.start <= offset <= m.span.end]
        return min(found, key=lambda m: (m.span.end == offset, m.span.end - m.span.start), default=None)

    def of(self, symbol: Symbol) -> Iterator[Mention]:
        """Yield the places of a symbol."""
        return (m for m in self.mentions if m.symbol == symbol)

    def names(self, offset: int) -> Names:
        """Return what names stand for at an offset."""
        inside = [part for part in self.parts[1:] if part.span.start <= offset]
        return inside[-1] if inside and offset <= inside[-1].span.end else self.parts[0]


def read(tree: Tree, place: str, blocks: Mapping[str, Event | None]) -> Outline:
    """Return the names of a file.

    Args:
        tree: its syntax.
        place: its dotted path when it holds building blocks, else "".
        blocks: the building blocks that exist, by path.
    """
    return _Reader(tree.source, place, blocks).read(tree.root)


@define
class _Reader:
    source: Source
    place: str
    blocks: Mapping[str, Event | None]
    mentions: list[Mention] = field(factory=list)
    entries: list[Entry] = field(factory=list)
    parts: list[Names] = field(factory=list)
    captures: dict[Symbol, tuple[str, ...]] = field(factory=dict)
    moments: dict[Symbol, tuple[str, ...]] = field(factory=dict)
    targets: dict[Symbol, Symbol] = field(factory=dict)
    # of the rule that is read
    home: str = ""
    events: dict[str, Symbol] = field(factory=dict)
    steps: dict[str, Symbol | None] = field(factory=dict)
    named: dict[str, Symbol] = field(factory=dict)
    lets: dict[str, Symbol] = field(factory=dict)

    def read(self, root: Node) -> Outline:
        self.home = self.source.path
        for use in root.nodes("use"):
            for part in use.nodes("used"):
                self._use(part)
        for node in root.nodes("event"):
            self.entries.append(self._event(node))
        shared = dict(self.events)
        self.parts.append(Names(self.source.span(0, len(self.source.text)), "", shared))
        rules = root.nodes("rule")
        ends = [*(r.span.start for r in rules[1:]), len(self.source.text)] if rules else []
        for number, (node, end) in enumerate(zip(rules, ends, strict=True), 1):
            self.home = f"{self.source.path}#{number}"
            self.events, self.steps, self.named, self.lets = dict(shared), {}, {}, {}
            self._rule(node, end)
        self.mentions.sort(key=lambda m: (m.span.start, m.span.end))
        parts = tuple(self.parts)
        return Outline(tuple(self.mentions), tuple(self.entries), parts, self.captures, self.moments, self.targets)

    def _mention(self, symbol: Symbol, span: Span, *, defines: bool = False) -> None:
        self.mentions.append(Mention(symbol, span, defines))

    # ---- above the rules

    def _use(self, node: Node) -> None:
        dotted, alias = node.nodes("dotted")[0], node.leaf("NAME")
        path = _dotted(dotted)
        block = Symbol("event", path)
        self._mention(block, dotted.span)
        event = self.blocks.get(path)
        symbol = block if alias is None else Symbol("alias", alias.text, self.home)
        for one in {block, symbol}:
            self.captures[one] = tuple(dict(event.captures)) if event is not None else ()
            self.moments[one] = tuple(m.name for m in event.moments) if event is not None else ()
        self.events[symbol.name if alias is not None else dotted.leaves()[-1].text] = symbol
        if alias is not None:
            self.targets[symbol] = block
            self._mention(symbol, alias.span, defines=True)

    # ---- a rule

    def _rule(self, node: Node, end: int) -> None:
        head, body = node.node("rule_head"), node.nodes("body")
        statements = body[0].nodes() if body else ()
        dotted = head.nodes("dotted")[0] if head is not None else None
        name = _dotted(dotted) if dotted is not None else ""
        if dotted is not None:
            self._mention(Symbol("rule", name), dotted.span, defines=True)
        inner = [(s.span.start, self._event(s)) for s in statements if s.kind == "event"]
        for statement in statements:  # a name may be used above the step that binds it, in a statement of the report
            if statement.kind == "step":
                inner.append((statement.span.start, self._bind(statement)))
            elif statement.kind == "let":
                leaf = statement.leaves("NAME")[0]
                self.lets[leaf.text] = Symbol("let", leaf.text, self.home)
                detail = self._shown(statement.span).partition("=")[2].strip()
                inner.append((statement.span.start, Entry("let", leaf.text, detail, statement.span, leaf.span)))
        for statement in statements:
            if statement.kind != "event":
                self._walk(statement, None)
        children = tuple(entry for _, entry in sorted(inner, key=lambda pair: pair[0]))
        span = self.source.span(node.span.start, _end(node, end, self.source.text))
        if dotted is not None:
            title = next((self._shown(s.leaves("STRING")[0].span).strip('"') for s in statements if s.kind == "title"), "")
            self.entries.append(Entry("rule", name, title, span, dotted.span, children))
        self.parts.append(Names(span, name, self.events, self.steps, self.named, self.lets))

    def _shown(self, span: Span) -> str:
        return " ".join(self.source.text[span.start : span.end].split())

    def _bind(self, node: Node) -> Entry:
        event, name = node.leaves("NAME")[0], name_of(node)
        symbol = self.events.get(event.text)
        if name is event and symbol is not None:
            self.named[name.text] = symbol  # a step without a name of its own is called by its event
        else:
            self.named[name.text] = Symbol("step", name.text, self.home)
        self.steps[name.text] = None if event.text == SILENCE else symbol
        return Entry("step", name.text, self._shown(node.span), node.span, name.span)

    # ---- events

    def _event(self, node: Node) -> Entry:
        leaf = node.leaves("NAME")[0]
        outside = self.home == self.source.path
        shared = outside and self.place
        symbol = Symbol("event", block_name(leaf.text, self.place)) if shared else Symbol("event", leaf.text, self.home)
        self.events[leaf.text] = symbol
        self._mention(symbol, leaf.span, defines=True)
        names: dict[str, None] = {}
        for part in _patterns(node):
            for name, start, end in self._captured(part):
                names[name] = None
                self._mention(_inner("capture", name, symbol), self.source.span(start, end), defines=True)
        self.captures[symbol] = tuple(names)
        self.moments[symbol] = tuple(d.leaves("NAME")[0].text for d in node.nodes("moment"))
        for detail in node.nodes("with"):
            name_leaf, kind = detail.leaves("NAME")
            self._mention(_inner("capture", name_leaf.text, symbol), name_leaf.span)
            self._mention(Symbol("type", kind.text), kind.span)
        for detail in node.nodes("moment"):
            first = detail.leaves("NAME")[0]
            self._mention(_inner("moment", first.text, symbol), first.span, defines=True)
            for term in detail.nodes("moment_term"):
                for operand in term.leaves("NAME"):
                    self._mention(_inner("capture", operand.text, symbol), operand.span)
        return Entry("event", leaf.text, self._shown(_patterns(node)[0].span), node.span, leaf.span)

    def _captured(self, leaf: Leaf) -> Iterator[tuple[str, int, int]]:
        """Yield the captures of a part of a pattern with the place of each; mentions the types that it names."""
        base = leaf.span.start
        for match in (_HOLE if leaf.kind == "STRING" else _GROUP).finditer(leaf.text):
            named = match.groupdict()
            if named.get("type"):
                self._mention(Symbol("type", named["type"]), self.source.span(base + match.start("type"), base + match.end("type")))
            if named["name"]:
                yield named["name"], base + match.start("name"), base + match.end("name")

    # ---- statements

    def _walk(self, node: Node, own: Symbol | None) -> None:
        """Mention every name below a node; `own` is the event whose fields a bare name may be."""
        if node.kind in {"step", "lookup"}:
            own = self._sought(node)
        elif node.kind in {"class", "causes"}:
            for dotted in node.nodes("dotted"):
                self._mention(Symbol("class", _dotted(dotted)), dotted.span)
            return
        elif node.kind == "see":
            text = node.leaves("STRING")[0]
            inner = self.source.span(text.span.start + 1, text.span.end - 1)
            self._mention(Symbol("rule", text.text[1:-1].rpartition(":")[2]), inner)
            return
        elif node.kind == "dotted":
            self._path(node, own)
            return
        self._leaves(node, own)
        for child in node.nodes():
            if child.kind == "anchor":
                self._anchor(child)
            elif child.kind != "alias":
                self._walk(child, own)

    def _leaves(self, node: Node, own: Symbol | None) -> None:
        if node.kind == "let":
            leaf = node.leaves("NAME")[0]
            self._mention(self.lets[leaf.text], leaf.span, defines=True)
        elif node.kind == "call":
            leaf = node.leaves("NAME")[0]
            self._mention(Symbol("function", leaf.text), leaf.span)
        elif node.kind == "when":
            for leaf in node.leaves("NAME"):
                self._step(leaf)
        elif node.kind == "distinct" and own is not None:
            self._field(own, node.leaves("NAME")[0], moment=False)
        elif node.kind in {"before", "after", "between", "within_after", "within_before", "at"} and own is not None:
            for leaf in node.leaves("NAME"):
                self._field(own, leaf, moment=True)
        elif node.kind in _TEXTS:
            self._placeholders(node.leaves("STRING")[0])

    def _sought(self, node: Node) -> Symbol | None:
        """Mention the event that a step or a look-up asks for, and the step's own name."""
        event = node.leaves("NAME")[0]
        symbol = self.events.get(event.text)
        if symbol is not None:
            self._mention(symbol, event.span)
        if node.kind == "step" and (name := name_of(node)) is not event:
            self._mention(self.named[name.text], name.span, defines=True)
        return symbol

    def _step(self, leaf: Leaf) -> Symbol | None:
        """Mention a step by its name; return its event."""
        if leaf.text in self.named:
            self._mention(self.named[leaf.text], leaf.span)
        return self.steps.get(leaf.text)

    def _anchor(self, node: Node) -> None:
        names = node.nodes("dotted")[0].leaves()
        event = self._step(names[0])
        if len(names) > 1 and event is not None:
            self._field(event, names[1], moment=True)
        for term in node.nodes("anchor_term"):
            for dotted in term.nodes("dotted"):
                self._path(dotted, None)

    def _path(self, node: Node, own: Symbol | None) -> None:
        names = node.leaves()
        first = names[0]
        if len(names) > 1:
            event = self._step(first)
            if event is not None:
                self._field(event, names[1], moment=False)
        elif first.text in self.lets:
            self._mention(self.lets[first.text], first.span)
        elif own is not None and (first.text in self.captures.get(own, ()) or first.text in ACTOR_FIELDS):
            self._field(own, first, moment=False)
        else:
            self._step(first)

    def _field(self, event: Symbol, leaf: Leaf, *, moment: bool) -> None:
        """Mention a field or a moment of an event; one that it does not have is none."""
        kind: Kind | None = None
        if moment and leaf.text in self.moments.get(event, ()):
            kind = "moment"
        elif not moment and leaf.text in self.captures.get(event, ()):
            kind = "capture"
        if kind is not None:
            self._mention(_inner(kind, leaf.text, self.targets.get(event, event)), leaf.span)
        elif leaf.text in ACTOR_FIELDS:
            self._mention(Symbol("field", leaf.text), leaf.span)

    def _placeholders(self, leaf: Leaf) -> None:
        """Mention the names in the braces of a text."""
        base = leaf.span.start
        for match in _FILLED.finditer(leaf.text):
            if match["first"] is None:
                continue
            names = [
                Leaf("NAME", match[group], self.source.span(base + match.start(group), base + match.end(group)))
                for group in ("first", "second")
                if match[group] is not None
            ]
            self._path(Node("dotted", tuple(names), leaf.span), None)


def captures_in(pattern: str) -> tuple[str, ...]:
    """Return the names that a text or regex of a pattern captures, as it is written, quotes or slashes included."""
    shape = _HOLE if pattern.startswith('"') else _GROUP
    return tuple(match["name"] for match in shape.finditer(pattern) if match["name"])


def _inner(kind: Kind, name: str, event: Symbol) -> Symbol:
    return Symbol(kind, name, f"{event.home}>{event.name}")


def _dotted(node: Node) -> str:
    return ".".join(leaf.text for leaf in node.leaves())


def _patterns(node: Node) -> list[Leaf]:
    """Return the texts and regexes of an event's pattern in order."""
    found: list[Leaf] = []
    for child in node.nodes():
        if child.kind in {"sequence", "any", "all"}:
            found += [*child.leaves("STRING", "REGEX"), *_patterns(child)]
    return found


def _end(node: Node, end: int, text: str) -> int:
    """Return where a rule ends: at its brace, or before what follows it where that is missing."""
    if text[node.span.start : node.span.end].endswith("}"):
        return node.span.end
    last = max((c.span.end for c in _below(node)), default=node.span.end)
    closing = text.find("}", last, end)
    return end if closing < 0 else closing + 1


def _below(node: Node) -> Iterable[Node | Leaf | Broken]:
    return [child for part in node.nodes("body") for child in part.children]
