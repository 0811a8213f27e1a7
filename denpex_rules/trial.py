"""What the examples of an event show: the values that each `like` line gives, and whether each `unlike` line is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from attrs import define, field, frozen

from denpex_rules.compiler import miss
from denpex_rules.errors import Span
from denpex_rules.formats import peel
from denpex_rules.parser import Node, Tree
from denpex_rules.pattern import EventPattern, PatternError, Types, compile_event
from denpex_rules.record import NO_HINTS
from denpex_rules.rule import Event
from denpex_rules.values import Value, format_value

LONGEST: Final = 60  # characters of one value that are shown
MOST_KEPT: Final = 5000  # events whose results are remembered


@frozen
class Trial:
    """How one example came out.

    Args:
        span: the example's text, with its quotes.
        sound: whether it came out as its author says.
        shown: the values, or why it is not the event.
    """

    span: Span
    sound: bool
    shown: str


@define
class Trials:
    """Tries examples, each event once."""

    _kept: dict[Event, tuple[tuple[bool, str], ...]] = field(factory=dict, init=False)

    def of(self, tree: Tree, events: Iterable[Event], types: Types, start: int, end: int) -> Iterator[Trial]:
        """Yield the examples that stand between two offsets.

        Args:
            tree: the file.
            events: what it defines.
            types: every capture type that patterns may name.
            start: where to start.
            end: where to stop.
        """
        known = {event.span: event for event in events}
        for node in _events(tree):
            event = known.get(node.leaves("NAME")[0].span)
            if event is None or node.span.end < start or node.span.start > end:
                continue
            examples = [detail.leaves("STRING")[0] for kind in ("like", "unlike") for detail in node.nodes(kind)]
            for leaf, (sound, shown) in zip(examples, self._results(event, types), strict=False):
                if start <= leaf.span.end and leaf.span.start <= end:
                    yield Trial(leaf.span, sound, shown)

    def _results(self, event: Event, types: Types) -> tuple[tuple[bool, str], ...]:
        """Return how the `like` lines and then the `unlike` lines of an event came out; nothing where its pattern is no pattern."""
        if event not in self._kept:
            if len(self._kept) > MOST_KEPT:
                self._kept.clear()
            try:
                pattern = compile_event(event, types)
            except PatternError:
                return ()
            like = [_accepted(pattern, example) for example in event.like]
            self._kept[event] = (*like, *(_refused(pattern, example) for example in event.unlike))
        return self._kept[event]


def _accepted(pattern: EventPattern, example: str) -> tuple[bool, str]:
    reason = miss(pattern, example)
    if reason:
        return False, f"not the event: {reason}"
    hit = pattern.match(b"\n".join(peel(line, NO_HINTS).text for line in example.encode().split(b"\n")))
    values = hit.fields if hit is not None else {}
    return True, ", ".join(f"{name} = {_short(value)}" for name, value in values.items()) or "the event"


def _refused(pattern: EventPattern, example: str) -> tuple[bool, str]:
    reason = miss(pattern, example)
    return bool(reason), f"refused: {reason}" if reason else "not refused: it is the event"


def _short(value: Value) -> str:
    text = format_value(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _events(tree: Tree) -> Iterator[Node]:
    yield from tree.root.nodes("event")
    for rule in tree.root.nodes("rule"):
        for body in rule.nodes("body"):
            yield from body.nodes("event")
