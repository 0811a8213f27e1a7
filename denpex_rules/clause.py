"""Steps: verb, event, conditions, time windows and counts, checked against what is bound above them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from attrs import define, evolve

from denpex_rules.clock import format_duration
from denpex_rules.declaration import duration, new_name
from denpex_rules.gap import offset
from denpex_rules.mistake import did_you_mean
from denpex_rules.recovery import Leaf, Node
from denpex_rules.rule import SILENCE, VERBS, Anchor, Condition, Count, Event, Key, Path, Step, Verb, Window
from denpex_rules.typecheck import Bound, Scope

_WINDOWS: Final = ("before", "after", "between", "within_after", "within_before", "at", "for")
_CLAUSES: Final = {"`where`": ("where",), "count": ("count", "distinct"), "time window": _WINDOWS}
MAX_COUNT: Final = 1_000_000


def verb_of(node: Node) -> Verb:
    """Return the verb of a `step` node."""
    written = node.leaves("VERB")[0].text
    return next(v for v in VERBS if v == written)


def name_of(node: Node) -> Leaf:
    """Return the leaf that names a step: its alias, else its event."""
    alias = node.node("alias")
    return (alias or node).leaves("NAME")[0]


@define
class Clause:
    """Lowers the steps of one rule, in written order.

    Args:
        scope: what is bound so far; each step adds its name.
        reserved: the words that can't be names.
        keys: the rule's scope keys (() when they are unknown because of another mistake).
        span_ns: the rule's total span, None when it is unknown.
        requires: whether the rule requires anything.
    """

    scope: Scope
    reserved: frozenset[str]
    keys: tuple[Key, ...]
    span_ns: int | None
    requires: bool
    triggered: bool = False  # whether the trigger was seen
    _referred: frozenset[str] = frozenset()  # the steps that the conditions of the step at hand refer to

    def lower(self, node: Node) -> Step | None:
        """Return the step of a `step` node, and bind its name; None when its event is unknown."""
        scope, verb = self.scope, verb_of(node)
        scope.verb = verb
        self._referred = frozenset()
        before = len(scope.mistakes.found)
        event_leaf, name_leaf = node.leaves("NAME")[0], name_of(node)
        silence = event_leaf.text == SILENCE
        event = None if silence else self._event(event_leaf)
        self._once(node)
        step = self._silence(node, name_leaf) if silence else self._seen(node, name_leaf, event)
        joins = self._joins(step)
        if len(scope.mistakes.found) == before and (silence or event is not None) and not joins:
            self._unjoined(node, name_leaf)
        self.triggered = self.triggered or (verb == "require" and not silence)
        scope.verb = None
        self._bind(name_leaf, Bound(name_leaf.text, verb, event, silence), aliased=name_leaf is not event_leaf)
        return step

    # ---- names

    def _event(self, leaf: Leaf) -> Event | None:
        scope = self.scope
        if leaf.text in scope.events:
            return scope.events[leaf.text]
        if leaf.text in scope.broken:
            return None
        hint = did_you_mean(leaf.text, [*scope.events, SILENCE])
        if not hint and leaf.text in scope.steps:
            hint = f"`{leaf.text}` is a step: name its event"
        scope.mistakes.add("E0201", f"there is no event `{leaf.text}`", leaf.span, "an event of this rule or of `use`", hint)
        return None

    def _bind(self, leaf: Leaf, bound: Bound, *, aliased: bool) -> None:
        scope = self.scope
        if aliased:
            new_name(leaf, "step", self.reserved, scope.mistakes)
        if leaf.text in scope.steps or leaf.text in scope.lets:
            hint = f"give this one a name: `{bound.verb} other = {leaf.text}`" if not aliased else ""
            scope.mistakes.add("E0202", f"two steps are named `{leaf.text}`", leaf.span, "", hint)
        elif aliased and leaf.text in scope.events:
            scope.mistakes.add("E0202", f"`{leaf.text}` is an event; a step of that name would hide it", leaf.span)
        else:
            scope.steps[leaf.text] = bound

    # ---- a step over sightings

    def _seen(self, node: Node, name: Leaf, event: Event | None) -> Step | None:
        mistakes = self.scope.mistakes
        silence_only = node.node("for")
        if silence_only is not None:
            message = "`for … after …` says how long an actor is silent; an event has no length"
            mistakes.add("E0409", message, silence_only.span, "`within … after …`", "or did you mean `silence`?")
        if "group" in self.keys and event is not None and event.capture_type("group") is None:
            message = f"this rule is per process group, and the event `{event.name}` does not capture its `group`"
            mistakes.add("E0204", message, node.span, "an event with `{group:word}` or the like")
        pick: Literal["first", "last"] = "last" if any(p.text == "last" for p in node.leaves("PICK")) else "first"
        step = Step(
            verb=verb_of(node),
            name=name.text,
            event=event.id if event is not None else "",
            where=self._where(node, event),
            window=self._window(node, event),
            count=self._count(node, event),
            pick=pick,
            span=node.span,
        )
        return step if event is not None else None

    def _where(self, node: Node, event: Event | None) -> tuple[Condition, ...]:
        found = []
        for condition in (n for where in node.nodes("where") for n in where.nodes("condition", "holds")):
            lowered = self.scope.condition(condition, event)
            if lowered is not None:
                found.append(lowered[0])
                self._referred |= lowered[1]
        return tuple(found)

    def _once(self, node: Node) -> None:
        for what, kinds in _CLAUSES.items():
            for extra in node.nodes(*kinds)[1:]:
                hint = "join the conditions by `and`" if what == "`where`" else ""
                if what == "time window":
                    hint = "give both bounds at once: `between A and B`, or `within 1m..5m after A`"
                self.scope.mistakes.add("E0405", f"a step has only one {what}", extra.span, "", hint)

    # ---- silence

    def _silence(self, node: Node, name: Leaf) -> Step | None:
        mistakes = self.scope.mistakes
        before = len(mistakes.found)
        verb = verb_of(node)
        if verb == "require" and not self.triggered:
            message = "silence can't be the trigger: the first `require` needs an event"
            mistakes.add("E0409", message, node.span, "the name of an event")
        for span in [n.span for n in node.nodes("count", "distinct")] + [p.span for p in node.leaves("PICK")]:
            mistakes.add("E0409", "silence is one fact: it is neither counted nor picked", span)
        window = self._window(node, None)
        wanted = "`silence where rank == … for 60s after …`"
        clause = node.node("for")
        if clause is None:
            mistakes.add("E0409", "how long the silence lasts is missing", node.span, wanted)
        where = self._silent_actor(node, wanted)
        length = duration(clause.leaves("DURATION", "INT")[0], mistakes) if clause is not None else None
        if clause is not None and length == 0:
            mistakes.add("E0409", "a silence of no length is none", clause.span, "a duration such as 30s")
        if len(mistakes.found) > before or window is None:
            return None
        return Step(verb, name.text, SILENCE, where, window, duration=length, span=node.span)

    def _silent_actor(self, node: Node, wanted: str) -> tuple[Condition, ...]:
        """Return the one condition that names the actor: rank == … or host == …."""
        mistakes = self.scope.mistakes
        before = len(mistakes.found)
        where = self._where(node, None)
        if len(mistakes.found) > before:
            return ()
        named = [c for c in where if isinstance(c.left, Path) and c.left.field is None and c.left.name in {"rank", "host"}]
        if len(where) != 1 or len(named) != 1 or where[0].operator != "==":
            at = next(iter(node.nodes("where")), node).span
            mistakes.add("E0409", "whose silence it is must be said by one condition: rank == … or host == …", at, wanted)
        return where

    # ---- windows

    def _window(self, node: Node, event: Event | None) -> Window | None:
        clause = node.node(*_WINDOWS)
        if clause is None:
            return None
        moment = self._moment(clause, event)
        anchors = [self.anchor(n) for n in clause.nodes("anchor")]
        amounts = self._range(clause)
        if any(anchor is None for anchor in anchors):
            return None
        known = [anchor for anchor in anchors if anchor is not None]
        lo, hi = _sides(clause.kind, known, amounts)
        self._check_order(clause, lo, hi)
        return Window(lo, hi, moment, clause.span)

    def _range(self, clause: Node) -> tuple[int, ...]:
        node = clause.node("range")
        if node is None:
            return ()
        leaves = node.leaves()
        amounts = tuple(duration(leaf, self.scope.mistakes) or 0 for leaf in leaves)
        if clause.kind != "at" and len(amounts) == 2 and amounts[0] > amounts[1]:
            hint = f"did you mean {leaves[1].text}..{leaves[0].text}?"
            self.scope.mistakes.add("E0306", "the minimum of this range is above its maximum", node.span, "", hint)
        return amounts

    def _check_order(self, clause: Node, lo: Anchor | None, hi: Anchor | None) -> None:
        """Report a window whose end is before its start, where both hang on one moment."""
        if clause.kind != "between" or lo is None or hi is None or (lo.step, lo.moment) != (hi.step, hi.moment):
            return
        start, end = offset(lo), offset(hi)
        if start is not None and end is not None and start > end:
            message = f"this window ends {format_duration(start - end)} before it starts"
            self.scope.mistakes.add("E0306", message, clause.span, "the earlier bound first")

    def _moment(self, clause: Node, event: Event | None) -> str:
        leaf = clause.leaf("NAME")
        if leaf is None or leaf.text == "time":
            return "time"
        if event is not None and event.moment(leaf.text) is None:
            self._no_moment(event, leaf)
        return leaf.text

    def _no_moment(self, event: Event, leaf: Leaf) -> None:
        moments = ["time", *(m.name for m in event.moments)]
        hint = did_you_mean(leaf.text, moments)
        if not hint and event.capture_type(leaf.text) is not None:
            hint = f"define one in the event: `moment stalled = time - {leaf.text}`"
        message = f"the event `{event.name}` has no moment `{leaf.text}`"
        self.scope.mistakes.add("E0204", message, leaf.span, f"one of {', '.join(moments)}", hint)

    def anchor(self, node: Node) -> Anchor | None:
        """Return the instant of an `anchor` node; None when it is not sound."""
        scope, dotted = self.scope, node.nodes("dotted")[0]
        names = dotted.leaves()
        if len(names) > 2:
            scope.mistakes.add("E0201", "an instant is a step, or a moment of a step", dotted.span, "lost, or timeout.stalled")
            return None
        bound = scope.step(names[0].text, names[0].span)
        terms = [self._term(n) for n in node.nodes("anchor_term")]
        if bound is None or any(t is None for t in terms):
            return None
        if bound.silence:
            scope.mistakes.add("E0204", "silence has no instant", dotted.span, "a step that was seen")
            return None
        moment = names[1].text if len(names) == 2 else "time"
        if moment != "time" and bound.event is not None and bound.event.moment(moment) is None:
            self._no_moment(bound.event, names[1])
            return None
        return Anchor(names[0].text, moment, tuple(t for t in terms if t is not None), node.span)

    def _term(self, node: Node) -> tuple[int, int | Path] | None:
        scope = self.scope
        sign = -1 if node.leaves("SIGN")[0].text == "-" else 1
        amount = next(iter(node.leaves("DURATION", "INT")), None)
        if amount is not None:
            ns = duration(amount, scope.mistakes)
            return None if ns is None else (sign, ns)
        dotted = node.nodes("dotted")[0]
        if len(dotted.leaves()) == 1:
            name = dotted.leaves()[0].text
            hint = f"for a capture of this step's own event, give the event a moment: `moment due = time - {name}`"
            message = f"`{name}` is no field of an earlier step"
            scope.mistakes.add("E0204", message, dotted.span, "a field such as timeout.ran", hint)
            return None
        typed = scope.expression(dotted)
        if typed is None or typed.base is None or not isinstance(typed.value, Path):
            return None
        if typed.base != "duration":
            message = f"`{dotted.leaves()[-1].text}` is not a duration"
            scope.mistakes.add("E0302", message, dotted.span, "a capture of type ms, s or hms")
            return None
        return (sign, typed.value)

    # ---- counts

    def _count(self, node: Node, event: Event | None) -> Count | None:
        clause = node.node("count", "distinct")
        if clause is None:
            return None
        mistakes = self.scope.mistakes
        operator, number = clause.leaves("OPERATOR")[0], clause.leaves("INT")[0]
        if operator.text not in {">=", ">"}:
            hint = "for an upper bound, write `unless` with the number above it"
            mistakes.add("E0408", f"`{operator.text}` does not fit a count", operator.span, "`>=` or `>`", hint)
        least = int(number.text[:9]) + (operator.text == ">")
        if not 1 <= least <= MAX_COUNT:
            mistakes.add("E0408", f"a count of {number.text} says nothing", number.span, f"a number from 1 to {MAX_COUNT}")
        distinct = clause.leaf("NAME")
        if distinct is not None and event is not None:
            self.scope.field(event, distinct.text, distinct.span)
        amounts = clause.leaves("DURATION", "INT")[1:]
        span_ns = duration(amounts[0], mistakes) if amounts else None
        if span_ns is not None and self.span_ns is not None and span_ns > self.span_ns:
            message = f"{amounts[0].text} is longer than the rule's span of {format_duration(self.span_ns)}"
            mistakes.add("E0407", message, amounts[0].span)
        elif span_ns == 0:
            mistakes.add("E0408", "no two lines lie within no time", amounts[0].span, "a duration such as 10m")
        return Count(least, distinct.text if distinct is not None else None, span_ns, clause.span)

    # ---- joins

    def _joins(self, step: Step | None) -> bool:
        """Whether something ties the step to another: the key, a condition or a window. The trigger needs nothing."""
        if step is None or not self.requires or (step.verb == "require" and not self.triggered) or set(self.keys) != {"job"}:
            return True
        window = step.window
        return bool(self._referred) or (window is not None and (window.lo is not None or window.hi is not None))

    def _unjoined(self, node: Node, name: Leaf) -> None:
        message = f"nothing joins `{name.text}` to the other steps"
        expected = "a condition such as `where rank == lost.rank`, or a window such as `within 5m after lost`"
        self.scope.mistakes.add("E0404", message, node.span, expected)


def _sides(kind: str, anchors: Sequence[Anchor], amounts: Sequence[int]) -> tuple[Anchor | None, Anchor | None]:
    """Return the bounds of a window."""
    anchor = anchors[0]
    if kind == "before":
        return None, anchor
    if kind in {"after", "for"}:
        return anchor, None
    if kind == "between":
        return anchors[0], anchors[1]
    if kind == "at":
        return _shift(anchor, -1, amounts[0]), _shift(anchor, 1, amounts[-1])
    low, high = (0, amounts[0]) if len(amounts) == 1 else amounts
    if kind == "within_after":
        return _shift(anchor, 1, low), _shift(anchor, 1, high)
    return _shift(anchor, -1, high), _shift(anchor, -1, low)


def _shift(anchor: Anchor, sign: int, ns: int) -> Anchor:
    return anchor if ns == 0 else evolve(anchor, terms=(*anchor.terms, (sign, ns)))
