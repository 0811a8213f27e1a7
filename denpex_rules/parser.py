"""`.rule` text to a tree with spans. The only module that imports Lark; the syntax itself is in grammar/denpex.lark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from attrs import frozen
from lark import Lark, Token, UnexpectedInput
from lark import Tree as LarkTree
from lark.lexer import Pattern, PatternStr
from lark.parsers.lalr_interactive_parser import InteractiveParser

from denpex_rules.errors import Diagnostic, Source
from denpex_rules.mistake import Failure
from denpex_rules.recovery import Broken, Leaf, Node, Words, recover
from denpex_rules.shipped import shipped

__all__ = ["Broken", "Leaf", "Node", "Tree", "follow", "grammar", "keywords", "parse", "symbols", "words"]

_STARTS: Final = ("start", "header", "use", "rule_head", "body", "event", "detail")
MAX_DEPTH: Final = 50  # of calls in calls; more is an attack on the stack, not a rule


@frozen
class Tree:
    """The syntax of one file: `root` holds the header, building blocks, rules and events; a part that did not parse is
    `Broken` and has its mistake among `diagnostics`.
    """

    source: Source
    root: Node
    diagnostics: tuple[Diagnostic, ...] = ()

    def pretty(self) -> str:
        """Return the tree as indented text, one construct or symbol a line."""
        return "\n".join(_pretty(self.root, 0)) + "\n"


def _pretty(item: Node | Leaf | Broken, depth: int) -> list[str]:
    indent = "  " * depth
    if isinstance(item, Leaf):
        return [f"{indent}{item.kind} {item.text}"]
    if isinstance(item, Broken):
        return [f"{indent}broken {item.keyword}"]
    return [f"{indent}{item.kind}", *(line for c in item.children for line in _pretty(c, depth + 1))]


@cache
def grammar() -> str:
    """Return the text of the grammar file."""
    return (shipped("grammar") / "denpex.lark").read_text(encoding="utf-8")


@cache
def _lark() -> Lark:
    return Lark(grammar(), parser="lalr", start=list(_STARTS), propagate_positions=True, maybe_placeholders=False)


@cache
def _words() -> Words:
    patterns = {t.name: t.pattern for t in _lark().terminals}
    text = {name: p.to_regexp() for name, p in patterns.items()}
    tokens = re.compile(
        rf"(?P<comment>{text['COMMENT']})|(?P<string>{text['STRING']})|(?P<regex>{text['REGEX']})"
        rf'|(?P<unclosed>["/][^\n]*)|(?P<word>{text["NAME"]})|(?P<number>\d+(?:\.\d+)?\w*)'
        r"|(?P<sign>==|!=|>=|<=|\.\.|&&|\|\||\S)"
    )
    written = frozenset(w for p in patterns.values() for w in _written(p) if w.isalpha())
    return Words(written, _first("body"), _first("detail"), tokens)


def _written(pattern: Pattern) -> tuple[str, ...]:
    """Return the words that a terminal stands for, () when it is a kind with many spellings."""
    if isinstance(pattern, PatternStr):
        return (pattern.value,)
    listed = re.fullmatch(r"\(([a-z|]+)\)\\b", pattern.value)
    return tuple(listed[1].split("|")) if listed else ()


def keywords() -> frozenset[str]:
    """Return every reserved word of the language."""
    return _words().keywords


def words() -> Words:
    """Return the words of the grammar, by the place at which they may stand, and how a text is cut into pieces."""
    return _words()


def follow(text: str, construct: str) -> frozenset[str]:
    """Return what may stand behind the start of a construct.

    Args:
        text: the start of the construct; it ends where a piece ends.
        construct: what it is the start of: a name of the grammar, such as `body`.

    Returns:
        Words and signs as they are written, and kinds with many spellings by their names in the grammar (`NAME`). Nothing where
        the text itself does not parse.
    """
    run = _lark().parse_interactive(text, start=construct)
    try:
        for _ in run.iter_parse():
            pass
    except UnexpectedInput:
        return frozenset()
    terminals = {t.name: t.pattern for t in _lark().terminals}
    accepted = _accepted(run) & terminals.keys()
    return frozenset(word for name in accepted for word in _written(terminals[name]) or (name,))


def _first(construct: str) -> frozenset[str]:
    """Return the words with which a construct may start."""
    terminals = {t.name: t.pattern for t in _lark().terminals}
    accepted = _accepted(_lark().parse_interactive("", start=construct))
    return frozenset(w for name in accepted if name in terminals for w in _written(terminals[name]))


def _accepted(run: InteractiveParser) -> frozenset[str]:
    """Return the terminals that a parser would take now."""
    return frozenset(run.accepts())  # type: ignore[no-untyped-call]


def _symbols(terminals: Iterable[str]) -> frozenset[str]:
    """Return terminals as `mistake` names them: a keyword or sign as it is written, else its kind."""
    written = {t.name: t.pattern.value for t in _lark().terminals if isinstance(t.pattern, PatternStr)}
    return frozenset(written.get(name, name) for name in terminals)


def parse(source: Source) -> Tree:
    """Parse one rule file; never raises on any text."""
    result = _attempt(source, 0, len(source.text), "start")
    if isinstance(result, Node):
        return Tree(source, result)
    root, found = recover(source, lambda start, end, construct: _attempt(source, start, end, construct), _words())
    return Tree(source, root, found or (_odd_space(source, result),))


def _odd_space(source: Source, failure: Failure) -> Diagnostic:
    """Report the one thing between statements that recovery passes over: a space that is none of the grammar's."""
    char = source.text[failure.at]
    message = f"the character U+{ord(char):04X} can't stand here"
    return source.diagnostic("E0101", message, source.span(failure.at, failure.at + 1), "a space", "replace it by a plain space")


def symbols(tree: Tree) -> tuple[Leaf, ...]:
    """Return every symbol of a file in order: the leaves of its tree, and the keywords and signs between them.

    What stands between two symbols is only spaces and comments.
    """
    text, pattern = tree.source.text, _words().tokens
    found: list[Leaf] = []
    end = 0
    for leaf in (*_leaves(tree.root), Leaf("", "", tree.source.span(len(text), len(text)))):
        between = (match for match in pattern.finditer(text, end, leaf.span.start) if match.lastgroup != "comment")
        found += [Leaf(str(match.lastgroup), match[0], tree.source.span(*match.span())) for match in between]
        found.append(leaf)
        end = leaf.span.end
    return tuple(found[:-1])


def _leaves(node: Node) -> Iterator[Leaf]:
    for child in node.children:
        if isinstance(child, Leaf):
            yield child
        elif isinstance(child, Node):
            yield from _leaves(child)


def _attempt(source: Source, start: int, end: int, construct: str) -> Node | Failure:
    text = source.text[start:end]
    try:
        tree = _lark().parse(text, start=construct)
    except UnexpectedInput:
        return _failure(text, start, construct)
    return _convert(source, tree, start)


def _failure(text: str, offset: int, construct: str) -> Failure:
    """Return where the parser gets stuck in `text`, and what it would take there."""
    run = _lark().parse_interactive(text, start=construct)
    at = len(text)
    try:
        for _ in run.iter_parse():
            pass
    except UnexpectedInput as error:
        at = len(text) if error.pos_in_stream is None else error.pos_in_stream
    return Failure(offset + at, _symbols(_accepted(run)))


def _convert(source: Source, tree: LarkTree[Token], offset: int, depth: int = 0) -> Node | Failure:
    """Return a Lark tree as our own, with spans of the file; calls nested too deeply are a failure at their place."""
    meta = tree.meta
    start, end = (0, 0) if meta.empty else (meta.start_pos, meta.end_pos)
    if depth > MAX_DEPTH:
        return Failure(offset + start, frozenset({"NAME"}))
    children: list[Node | Leaf | Broken] = []
    for child in tree.children:
        if isinstance(child, Token):
            at = offset + (child.start_pos or 0)
            children.append(Leaf(child.type, str(child), source.span(at, at + len(child))))
            continue
        node = _convert(source, child, offset, depth + 1)
        if isinstance(node, Failure):
            return node
        children.append(node)
    return Node(str(tree.data), tuple(children), source.span(offset + start, offset + end))
