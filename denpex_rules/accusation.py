"""What a rule says about a match: whom it blames, when the fault began, who reported, and texts with filled values."""

from __future__ import annotations

from typing import Final, Literal

from attrs import define

from denpex_rules.clause import Clause
from denpex_rules.constant import a
from denpex_rules.errors import Span
from denpex_rules.mistake import did_you_mean, listed
from denpex_rules.recovery import Leaf, Node
from denpex_rules.rule import Anchor, Blame, Certainty, Constant, LookUp, Path, Role, Text, Verify
from denpex_rules.template import Hole, pieces
from denpex_rules.typecheck import Scope, fields_of
from denpex_rules.values import ACTOR_FIELDS

_BASES: Final[dict[str, frozenset[str]]] = {
    "rank": frozenset({"rank", "ranks"}),
    "host": frozenset({"host"}),
    "device": frozenset({"device"}),
}
_ROLES: Final[tuple[Literal["rank", "host", "device"], ...]] = ("rank", "host", "device")
_PICKS: Final[tuple[Literal["first", "last", "next"], ...]] = ("first", "last", "next")


@define
class Accusation:
    """Lowers the report statements of one rule, once all its steps are bound."""

    scope: Scope
    clause: Clause

    # ---- blame

    def blame(self, node: Node) -> tuple[Blame, ...]:
        """Return the alternatives of a `blame` node; reports one that can never be reached."""
        found: list[Blame] = []
        ended = False
        for alternative in node.nodes("accuse", "nobody"):
            lowered = self._alternative(alternative)
            shape = [(b.roles, b.when) for b in found]
            if ended or (lowered.roles, lowered.when) in shape:
                before = "an alternative above always applies" if ended else "it says the same as one above"
                self.scope.mistakes.add("E0410", f"this alternative is never reached: {before}", alternative.span)
            ended = ended or (not lowered.roles and not lowered.when and alternative.kind == "nobody")
            found.append(lowered)
        return tuple(found)

    def _alternative(self, node: Node) -> Blame:
        certainty = node.leaf("CERTAINTY")
        sure: Certainty = "likely" if certainty is not None and certainty.text == "likely" else "certain"
        roles: dict[str, Role] = {}
        for part in node.nodes("role"):
            role = self._role(part)
            if role is None:
                continue
            if role.role in roles:
                self.scope.mistakes.add("E0405", f"`{role.role}` stands twice in one accusation", part.span, "", "use `else`")
            roles[role.role] = role
        when = tuple(self._when(leaf) for w in node.nodes("when") for leaf in w.leaves("NAME"))
        return Blame(tuple(roles.values()), sure, when, node.leaf("EACH") is not None, node.span)

    def _role(self, node: Node) -> Role | None:
        word = node.leaves("ROLE")[0].text
        typed = self.scope.expression(node.nodes()[0])
        if typed is None:
            return None
        role = next(r for r in _ROLES if r == word)
        if isinstance(typed.value, Constant):
            message = "an accusation must come from the evidence, and this is a constant"
            self.scope.mistakes.add("E0302", message, node.span, f"a field such as lost.{role}")
        elif typed.base is not None and typed.base not in _BASES[role]:
            self.scope.mistakes.add("E0302", f"{a(typed.base)} can't be blamed as {a(role)}", node.span, a(role))
        return Role(role, typed.value, node.span)

    def _when(self, leaf: Leaf) -> str:
        self.scope.step(leaf.text, leaf.span)
        return leaf.text

    # ---- onset

    def onset(self, node: Node) -> tuple[LookUp | Anchor, ...]:
        """Return the alternatives of an `onset` node."""
        found: list[LookUp | Anchor] = []
        for alternative in node.nodes("lookup", "anchor"):
            lowered = self._look_up(alternative) if alternative.kind == "lookup" else self.clause.anchor(alternative)
            if lowered is None:
                continue
            if lowered in found:
                message = "this alternative is never reached: it says the same as one above"
                self.scope.mistakes.add("E0410", message, alternative.span)
            found.append(lowered)
        return tuple(found)

    def _look_up(self, node: Node) -> LookUp | None:
        scope = self.scope
        name = node.leaves("NAME")[0]
        event = scope.events.get(name.text)
        if name.text not in scope.events and name.text not in scope.broken:
            hint = did_you_mean(name.text, scope.events)
            scope.mistakes.add("E0201", f"there is no event `{name.text}`", name.span, "an event of this rule or of `use`", hint)
        pick = next(p for p in _PICKS if p == node.leaves("LOOK")[0].text)
        conditions = [scope.condition(n, event) for w in node.nodes("where") for n in w.nodes("condition", "holds")]
        relation = node.node("look_before", "look_after")
        anchor = self.clause.anchor(relation.nodes("anchor")[0]) if relation is not None else None
        if pick == "next" and (relation is None or relation.kind != "look_after"):
            scope.mistakes.add("E0406", "`next` needs to know after what", node.span, f"`next {name.text} after lost`")
        if event is None or (relation is not None and anchor is None):
            return None
        side: Literal["before", "after"] | None = None
        if relation is not None:
            side = "before" if relation.kind == "look_before" else "after"
        return LookUp(pick, event.id, tuple(c[0] for c in conditions if c is not None), side, anchor, node.span)

    # ---- reporters and victims

    def actors(self, node: Node) -> tuple[Path, ...]:
        """Return the paths of a `victim` or `reporter` node: fields that name an actor."""
        found = []
        for part in node.nodes("dotted"):
            if len(part.leaves()) == 1 and part.leaves()[0].text in {*self.scope.steps, *self.scope.lets}:
                name = part.leaves()[0].text
                hint = f"did you mean {name}.rank?" if name in self.scope.steps else ""
                self.scope.mistakes.add("E0204", f"`{name}` is not a field", part.span, "a field such as timeout.rank", hint)
                continue
            typed = self.scope.expression(part)
            if typed is None or not isinstance(typed.value, Path):
                continue
            if typed.base is not None and typed.base not in set(ACTOR_FIELDS.values()) - {"job"}:
                self.scope.mistakes.add("E0302", f"{a(typed.base)} is nobody", part.span, "a rank, host, device or process id")
            found.append(typed.value)
        return tuple(found)

    # ---- texts

    def text(self, leaf: Leaf) -> Text:
        """Return a text with its placeholders resolved."""
        found: list[str | Path] = []
        for piece in pieces(leaf, self.scope.mistakes):
            if isinstance(piece, str):
                found.append(piece)
            elif (path := self._placeholder(piece)) is not None:
                found.append(path)
        return Text(tuple(found))

    def _placeholder(self, hole: Hole) -> Path | None:
        scope = self.scope
        names = hole.text.split(".")
        if not all(n.isidentifier() for n in names) or len(names) > 2:
            hint = "double the braces of a literal: {{ and }}"
            self._unfilled(f"`{{{hole.text}}}` is no placeholder", hole.span, "{step.field} or {let}", hint)
            return None
        if len(names) == 1:
            if names[0] in scope.lets:
                return Path(names[0], None, hole.span)
            if names[0] not in scope.broken:
                hint = f"did you mean {{{names[0]}.rank}}?" if names[0] in scope.steps else did_you_mean(names[0], scope.lets)
                self._unfilled(f"nothing fills `{{{hole.text}}}`", hole.span, "{step.field} or {let}", hint)
            return None
        return self._field(names[0], names[1], hole)

    def _field(self, step: str, name: str, hole: Hole) -> Path | None:
        bound = self.scope.steps.get(step)
        if bound is None or bound.silence or bound.verb == "unless":
            if step not in self.scope.broken:
                seen = [s.name for s in self.scope.steps.values() if not s.silence and s.verb != "unless"]
                expected = f"a field of {listed(seen)}" if seen else ""
                message = f"nothing fills `{{{hole.text}}}`: `{step}` is no step that was seen"
                self._unfilled(message, hole.span, expected, did_you_mean(step, seen))
            return None
        fields = fields_of(bound.event) if bound.event is not None else [name]
        if bound.event is not None and name not in fields:
            message = f"nothing fills `{{{hole.text}}}`: the event `{bound.event.name}` has no field `{name}`"
            self._unfilled(message, hole.span, f"one of {', '.join(fields)}", did_you_mean(name, fields))
            return None
        return Path(step, name, hole.span)

    def _unfilled(self, message: str, span: Span, expected: str, hint: str) -> None:
        self.scope.mistakes.add("E0603", message, span, expected, hint)

    def verify(self, node: Node) -> Verify:
        """Return a `verify` node: a command, and the host that it runs on."""
        command = self.text(node.leaves("STRING")[0])
        place = node.nodes()
        typed = self.scope.expression(place[0]) if place else None
        if typed is None:
            return Verify(command)
        fitted = self.scope.fit(typed, "host")
        if fitted.base not in {None, "host"}:
            self.scope.mistakes.add("E0302", f"{a(fitted.base or '')} is no place to run a command", place[0].span, "a host")
        return Verify(command, fitted.value)
