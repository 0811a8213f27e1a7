"""Advice about the text of a rule file: what stands there and does nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from denpex_rules.errors import Diagnostic, Edit, Patch, Span
from denpex_rules.literals import event_literals
from denpex_rules.parser import Leaf, Node, Tree, words
from denpex_rules.rule import Event
from denpex_rules.usage import advice

_STOP: Final = re.compile(r'(?<!\.)\."$')


def lint_text(tree: Tree, events: Mapping[Span, Event]) -> Iterator[Diagnostic]:
    """Yield advice about one file that is free of mistakes.

    Args:
        tree: the file.
        events: its events, by the span of their names.
    """
    yield from _unused(tree)
    bodies = [body for rule in tree.root.nodes("rule") for body in rule.nodes("body")]
    for body in bodies:
        for title in body.nodes("title"):
            yield from _headline(title.leaves("STRING")[0])
    for node in (n for place in (tree.root, *bodies) for n in place.nodes("event")):
        event = events.get(node.leaves("NAME")[0].span)
        if event is not None:
            yield from _event(node, event)


def _unused(tree: Tree) -> Iterator[Diagnostic]:
    """Yield advice about building blocks whose name stands nowhere but in `use`; a name in a text counts as its use."""
    uses = tree.root.nodes("use")
    if not uses:
        return
    last = max(use.span.end for use in uses)
    tokens = words().tokens.finditer(tree.source.text, last)
    said = {word for t in tokens if t.lastgroup != "comment" for word in re.findall(r"\w+", t[0])}
    for use in uses:
        blocks = use.nodes("used")
        for number, block in enumerate(blocks):
            name = (block.leaf("NAME") or block.nodes("dotted")[0].leaves()[-1]).text
            if name not in said:
                patch = Patch(f"remove `{name}`", (Edit(_with_comma(use, blocks, number), ""),), safe=True)
                yield advice("L0110", f"no rule of this file uses the building block `{name}`", block.span, "leave it out", patch)


def _with_comma(use: Node, blocks: tuple[Node, ...], number: int) -> Span:
    """Return what goes with one building block: its comma, or the whole statement where it is the only one."""
    own = blocks[number].span
    if len(blocks) == 1:
        return use.span
    if number:
        before = blocks[number - 1].span
        return Span(own.path, own.line, own.column, before.end, own.end)
    return Span(own.path, own.line, own.column, own.start, blocks[1].span.start)


def _headline(title: Leaf) -> Iterator[Diagnostic]:
    if _STOP.search(title.text):
        patch = Patch("remove the full stop", (Edit(title.span, f'{title.text[:-2]}"'),), safe=True)
        yield advice("L0126", "a title is a headline: no full stop ends it", title.span, "leave the full stop out", patch)


def _event(node: Node, event: Event) -> Iterator[Diagnostic]:
    expensive = node.leaf("EXPENSIVE")
    if expensive is not None and event_literals(event) is not None:
        patch = Patch("remove `expensive`", (Edit(expensive.span, ""),), safe=True)
        message = f"event `{event.name}` is found by its fixed text, so `expensive` only makes it slow"
        yield advice("L0111", message, expensive.span, "leave `expensive` out", patch)
    for kind in ("like", "unlike"):
        seen: set[str] = set()
        for example in node.nodes(kind):
            text = example.leaves("STRING")[0].text
            if text in seen:
                patch = Patch("remove the second one", (Edit(example.span, ""),), safe=True)
                message = f"event `{event.name}` has this `{kind}` example already"
                yield advice("L0112", message, example.span, "leave it out", patch)
            seen.add(text)
