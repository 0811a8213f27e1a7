"""Names and types of expressions: what a name stands for at this place of a rule, and what may be compared with what."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from attrs import define, evolve, field, frozen

from denpex_rules.constant import RANKS, Typed, a, converted, fit, literal
from denpex_rules.errors import Span
from denpex_rules.functions import FUNCTIONS, Signature
from denpex_rules.mistake import Mistakes, did_you_mean, listed
from denpex_rules.recovery import Node
from denpex_rules.rule import Call, Condition, Constant, Event, Operator, Path, Verb
from denpex_rules.values import ACTOR_FIELDS, NUMERIC, CaptureType

_OPERATORS: Final[tuple[Operator, ...]] = ("==", "!=", "<", "<=", ">", ">=")


def fields_of(event: Event) -> list[str]:
    """Return the names of an event's fields: its captures, then the actor's."""
    return list(dict.fromkeys([*dict(event.captures), *ACTOR_FIELDS]))


@frozen
class Bound:
    """A step's name: what it was bound by, and its event (None when the event did not lower; its fields are then unknown)."""

    name: str
    verb: Verb
    event: Event | None
    silence: bool = False


@define
class Scope:
    """What names stand for inside one rule, as its statements are read in order.

    Args:
        mistakes: takes what is wrong.
        types: the capture types by name.
        signatures: the functions by name; those with the result "bool" are predicates.
        later: the names that steps and lets further down will bind.
        broken: words of statements that did not parse; what they would have defined is not complained about.
    """

    mistakes: Mistakes
    types: Mapping[str, CaptureType]
    signatures: Mapping[str, Signature] = field(factory=lambda: FUNCTIONS)
    later: Collection[str] = ()
    broken: frozenset[str] = frozenset()
    events: dict[str, Event | None] = field(factory=dict)
    steps: dict[str, Bound] = field(factory=dict)
    lets: dict[str, Typed] = field(factory=dict)
    verb: Verb | None = None  # of the step that is being read

    # ---- names

    def step(self, name: str, span: Span) -> Bound | None:
        """Return the step that a name stands for; reports a name that is unknown, not bound yet or never bound here."""
        bound = self.steps.get(name)
        if bound is None:
            self._no_step(name, span)
            return None
        if bound.verb == "unless":
            message = f"`{name}` is a guard: it holds when nothing is seen, so there is nothing to refer to"
            self.mistakes.add("E0201", message, span, "the name of a require or confirm step")
            return None
        if self.verb in {"require", "unless"} and bound.verb in {"confirm", "refute"}:
            message = f"`{name}` is looked for only after the required steps and guards are decided"
            self.mistakes.add("E0206", message, span, "the name of a required step")
            return None
        return bound

    def _no_step(self, name: str, span: Span) -> None:
        if name in self.broken:
            return
        if name in self.later:
            message = f"`{name}` is used before the step that binds it"
            self.mistakes.add("E0206", message, span, "a step written above", "move this below the other")
        elif name in self.lets:
            message = f"`{name}` is a `let`, not a step"
            self.mistakes.add("E0201", message, span, self._steps())
        elif name in self.events:
            hint = f"add a step such as `confirm {name}` above"
            self.mistakes.add("E0201", f"the event `{name}` is not bound by a step", span, self._steps(), hint)
        else:
            hint = did_you_mean(name, self.steps)
            self.mistakes.add("E0201", f"nothing is named `{name}`", span, self._steps(), hint)

    def _steps(self) -> str:
        names = [s.name for s in self.steps.values() if s.verb != "unless"]
        return f"the name of a step: {listed(names)}" if names else "the name of an earlier step"

    def field(self, event: Event, name: str, span: Span) -> str | None:
        """Return the base of a captured or actor field of an event; reports a field that it does not have."""
        kind = event.capture_type(name)
        if kind is not None:
            return self.types[kind].base
        if name in ACTOR_FIELDS:
            return ACTOR_FIELDS[name]
        fields = fields_of(event)
        if name == "time" or event.moment(name) is not None:
            message, hint = f"`{name}` is a moment: it can stand in time windows only", ""
        else:
            message, hint = f"the event `{event.name}` has no field `{name}`", did_you_mean(name, fields)
        self.mistakes.add("E0204", message, span, f"one of {', '.join(fields)}", hint)
        return None

    # ---- expressions

    def expression(self, node: Node, own: Event | None = None, *, inside: bool = False) -> Typed | None:
        """Return an expression with its base.

        Args:
            node: a `dotted`, `call` or literal.
            own: the event whose fields a bare name may mean.
            inside: whether a bare name may be a field of the step's own event at all (in `where`).
        """
        if node.kind == "dotted":
            return self._path(node, own, inside=inside)
        if node.kind == "call":
            return self._call(node, own, inside=inside)
        return literal(node, self.mistakes)

    def _path(self, node: Node, own: Event | None, *, inside: bool) -> Typed | None:
        names = node.leaves()
        if len(names) > 2:
            self.mistakes.add("E0201", f"`{_dotted(node)}` has too many parts", node.span, "a field such as lost.rank")
            return None
        first = names[0].text
        if len(names) == 1:
            return self._bare(first, node.span, own, inside=inside)
        bound = self.step(first, names[0].span)
        if bound is None:
            return None
        path = Path(first, names[1].text, node.span)
        if bound.silence:
            self.mistakes.add("E0204", "silence has no fields", node.span, "a field of a step that was seen")
            return None
        base = self.field(bound.event, names[1].text, names[1].span) if bound.event is not None else None
        return Typed(path, base, frozenset({first}))

    def _bare(self, name: str, span: Span, own: Event | None, *, inside: bool) -> Typed | None:
        let = self.lets.get(name)
        fields = set(fields_of(own)) if own is not None else set(ACTOR_FIELDS) if inside else set()
        if let is not None:
            if name in fields:
                self.mistakes.add("E0202", f"`{name}` is both a `let` and a field of this event", span, "", "rename the `let`")
            for step in sorted(let.steps):
                if self.step(step, span) is None:
                    return None
            return Typed(Path(name, None, span), let.base, let.steps)
        if name in fields:
            base = self.field(own, name, span) if own is not None else ACTOR_FIELDS[name]
            return Typed(Path(name, None, span), base)
        if inside and own is not None and name not in self.steps:
            if name in self.broken:
                return None
            if name in self.later:
                self.mistakes.add("E0206", f"`{name}` is used before it is defined", span, "", "move this below its `let`")
                return None
            hint = did_you_mean(name, {*fields, *self.lets})
            self.mistakes.add("E0204", f"the event `{own.name}` has no field `{name}`", span, _fields(fields, self.lets), hint)
            return None
        self._no_value(name, span)
        return None

    def _no_value(self, name: str, span: Span) -> None:
        if name in self.steps:
            message = f"`{name}` is a step, not a value"
            self.mistakes.add("E0201", message, span, "a field of it", f"did you mean {name}.rank?")
        elif name in self.later and name not in self.broken:
            self.mistakes.add("E0206", f"`{name}` is used before it is defined", span, "", "move this below its `let`")
        elif name not in self.broken:
            hint = did_you_mean(name, self.lets)
            self.mistakes.add("E0201", f"nothing is named `{name}`", span, "a field such as lost.rank, or a `let`", hint)

    def _call(self, node: Node, own: Event | None, *, inside: bool) -> Typed | None:
        name = node.leaves("NAME")[0]
        signature = self.signatures.get(name.text)
        if signature is None:
            hint = did_you_mean(name.text, self.signatures)
            self.mistakes.add("E0205", f"there is no function `{name.text}`", name.span, _functions(self.signatures), hint)
            return None
        wanted = {o[0] for o in signature.overloads if o}
        if wanted == {"step"}:
            arguments = [self._step_argument(n) for n in node.nodes()]
        elif wanted == {"capture"}:
            arguments = [self._capture_argument(n, number=name.text == "lowest") for n in node.nodes()]
        else:
            arguments = [self.expression(n, own, inside=inside) for n in node.nodes()]
        found = [x for x in arguments if x is not None]
        if len(found) < len(arguments):
            return None
        fitted = self._overload(signature, found, node.span)
        if fitted is None:
            return None
        steps = frozenset(s for x in fitted for s in x.steps)
        return Typed(Call(name.text, tuple(x.value for x in fitted), node.span), signature.result, steps)

    def _step_argument(self, node: Node) -> Typed | None:
        names = node.leaves()
        if node.kind != "dotted" or len(names) != 1:
            self.mistakes.add("E0304", "a step is wanted here", node.span, "the name of a step")
            return None
        bound = self.step(names[0].text, node.span)
        if bound is not None and bound.silence:
            self.mistakes.add("E0304", "silence has no lines to look at", node.span, "the name of a step that was seen")
            return None
        return Typed(Path(bound.name, None, node.span), "step", frozenset({bound.name})) if bound is not None else None

    def _capture_argument(self, node: Node, *, number: bool) -> Typed | None:
        if node.kind != "dotted" or len(node.leaves()) != 2:
            self.mistakes.add("E0304", "a field of a step is wanted here", node.span, "a field such as timeout.seq")
            return None
        found = self._path(node, None, inside=False)
        if found is None or found.base is None:
            return found
        if number and found.base not in NUMERIC:
            self.mistakes.add("E0304", f"{a(found.base)} has no order", node.span, "a field that is a number")
            return None
        return evolve(found, base="capture")

    def _overload(self, signature: Signature, found: list[Typed], span: Span) -> list[Typed] | None:
        """Return the arguments fitted to the overload that takes them; reports when none does."""
        for overload in signature.overloads:
            if len(overload) != len(found):
                continue
            fitted = [converted(x, base) for x, base in zip(found, overload, strict=True)]
            sound = [x for x in fitted if x is not None]
            if len(sound) == len(found):
                return sound
        given = ", ".join(a(x.base or "") for x in found) or "nothing"
        wanted = listed([f"{signature.name}({', '.join(o)})" for o in signature.overloads])
        self.mistakes.add("E0304", f"`{signature.name}` can't be called with {given}", span, wanted)
        return None

    # ---- conditions

    def condition(self, node: Node, own: Event | None) -> tuple[Condition, frozenset[str]] | None:
        """Return one condition of a `where` and the steps that it depends on; None when it is not sound."""
        sides = [self.expression(n, own, inside=True) for n in node.nodes()]
        if any(s is None for s in sides):
            return None
        found = [s for s in sides if s is not None]
        if node.kind == "holds":
            return self._holds(found[0], node.span)
        left, right = found
        operator = next(o for o in _OPERATORS if o == node.leaves("OPERATOR")[0].text)
        if isinstance(left.value, Constant) and isinstance(right.value, Constant):
            self.mistakes.add("E0302", "two constants are compared", node.span, "a field on one side")
            return None
        left, right = self.fit(left, right.base), self.fit(right, left.base)
        steps = left.steps | right.steps
        if not self._comparable(left.base, operator, right.base, node.span):
            return None
        return Condition(left.value, operator, right.value, node.span), steps

    def _holds(self, found: Typed, span: Span) -> tuple[Condition, frozenset[str]] | None:
        if found.base != "bool":
            message = f"{a(found.base or '')} is no condition by itself"
            self.mistakes.add("E0302", message, span, "a comparison such as rank == …")
            return None
        return Condition(found.value, "==", Constant(1, "bool", span), span), found.steps

    def fit(self, typed: Typed, base: str | None) -> Typed:
        """Return a constant as a value of `base`, anything else as it is; reports what can't be one."""
        return fit(typed, base, self.types, self.mistakes)

    def _comparable(self, left: str | None, operator: Operator, right: str | None, span: Span) -> bool:
        if left is None or right is None:
            return True
        if operator in {"==", "!="} and {left, right} in ({"rank", "ranks"}, {"ranks"}):
            return True
        if left != right:
            hint = "global, group and local ranks are never the same" if {left, right} <= RANKS else ""
            self.mistakes.add("E0302", f"{a(left)} can't be compared with {a(right)}", span, "", hint)
            return False
        if operator not in {"==", "!="} and left not in NUMERIC:
            self.mistakes.add("E0302", f"{a(left)} has no order: `{operator}` needs numbers", span, "`==` or `!=`")
            return False
        return True


def _dotted(node: Node) -> str:
    return ".".join(leaf.text for leaf in node.leaves())


def _fields(fields: Collection[str], lets: Collection[str]) -> str:
    return f"one of {', '.join([*sorted(fields), *sorted(lets)])}"


def _functions(signatures: Mapping[str, Signature]) -> str:
    return f"one of {', '.join(sorted(signatures))}"
