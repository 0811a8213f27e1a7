"""Events: from the tree to `rule.Event`, with captures, types and moments checked. Regexes are compiled later, elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from attrs import define, field

from denpex_rules.clock import DAY, format_duration, parse_duration
from denpex_rules.errors import Span
from denpex_rules.mistake import Mistakes, did_you_mean
from denpex_rules.recovery import Leaf, Node
from denpex_rules.rule import KINDS, SEVERITIES, Alternative, Capture, Event, Kind, Moment, Regex, Sequence, Template
from denpex_rules.template import plain, template, unknown_type
from denpex_rules.values import ACTOR_FIELDS, CaptureType

MAX_DURATION: Final = 366 * DAY
MAX_DIGITS: Final = 18  # of a number; all such integers fit into 64 bits

# A group in a regex; escapes and character classes are skipped because a parenthesis in them opens none.
_GROUP: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*(?:\]|$)|\(\?P<(?P<name>[A-Za-z_][A-Za-z0-9_]*)>", re.DOTALL)


def duration(leaf: Leaf, mistakes: Mistakes) -> int | None:
    """Return a duration in ns; a missing unit or more than a year is reported."""
    ns = parse_duration(leaf.text) if len(leaf.text) <= MAX_DIGITS else MAX_DURATION + 1
    if ns is None:
        message = f"`{leaf.text}` has no unit"
        mistakes.add("E0303", message, leaf.span, "a duration such as 30s", f"did you mean {leaf.text}s?")
    elif ns > MAX_DURATION:
        mistakes.add("E0305", f"`{leaf.text[:20]}` is longer than a year", leaf.span, f"at most {format_duration(MAX_DURATION)}")
        return None
    return ns


def new_name(leaf: Leaf, what: str, reserved: frozenset[str], mistakes: Mistakes) -> str:
    """Return a name that is being defined; a reserved word is reported."""
    if leaf.text in reserved:
        hint = f"did you mean {leaf.text}_seen?" if what == "event" else ""
        mistakes.add("E0207", f"`{leaf.text}` is a word of the language and can't name this {what}", leaf.span, "", hint)
    return leaf.text


@define
class Declaration:
    """Lowers one event.

    Args:
        mistakes: takes what is wrong.
        types: the capture types by name.
        reserved: the words that can't be names.
    """

    mistakes: Mistakes
    types: Mapping[str, CaptureType]
    reserved: frozenset[str]
    _captures: dict[str, str] = field(factory=dict, init=False)
    _spans: dict[str, Span] = field(factory=dict, init=False)
    _regexes: set[str] = field(factory=set, init=False)  # captures that a regex gives

    def lower(self, node: Node, prefix: str) -> Event:
        """Return the event of an `event` node; its id is `prefix` and `#` and its name."""
        names = node.leaves("NAME")
        name = new_name(names[0], "event", self.reserved, self.mistakes)
        typed = self._typed(node)
        pattern = next(n for n in node.nodes() if n.kind in {"sequence", "any", "all"})
        alternatives = tuple(self._alternative(a, typed) for a in (pattern.nodes() if pattern.kind == "any" else (pattern,)))
        for capture, (leaf, _) in typed.items():
            if capture not in self._regexes:
                self.mistakes.add("E0204", f"no regex of this event captures `{capture}`", leaf.span, "(?P<name>...) in a regex")
        self._check_captures()
        severity = node.leaf("SEVERITY")
        return Event(
            id=f"{prefix}#{name}",
            name=name,
            alternatives=alternatives,
            severity=next((s for s in SEVERITIES if severity is not None and s == severity.text), None),
            kinds=self._kinds(node.node("kinds")),
            captures=tuple(self._captures.items()),
            moments=self._moments(node),
            like=tuple(self._examples(node, "like")),
            unlike=tuple(self._examples(node, "unlike")),
            expensive=node.leaf("EXPENSIVE") is not None,
            identity=node.leaf("IDENTITY") is not None,
            span=names[0].span,
        )

    def _examples(self, node: Node, kind: str) -> Iterator[str]:
        return (plain(n.leaves("STRING")[0], self.mistakes) for n in node.nodes(kind))

    def _kinds(self, node: Node | None) -> tuple[Kind, ...]:
        found: list[Kind] = []
        for leaf in node.leaves("NAME") if node else ():
            kind = next((k for k in KINDS if k == leaf.text), None)
            if kind is None:
                message = f"`{leaf.text}` is not a kind of log"
                self.mistakes.add("E0602", message, leaf.span, f"one of {', '.join(KINDS)}", did_you_mean(leaf.text, KINDS))
            elif kind in found:
                self.mistakes.repeat(f"`{kind}` is named twice", leaf.span)
            else:
                found.append(kind)
        return tuple(found)

    def _typed(self, node: Node) -> dict[str, tuple[Leaf, str]]:
        """Return the types that `with` lines give to the captures of regexes."""
        typed: dict[str, tuple[Leaf, str]] = {}
        for detail in node.nodes("with"):
            name, kind = detail.leaves("NAME")
            if name.text in typed:
                self.mistakes.add("E0405", f"`{name.text}` gets its type twice", name.span)
            elif kind.text not in self.types:
                unknown_type(kind.text, kind.span, self.types, self.mistakes)
                typed[name.text] = (name, "text")
            else:
                typed[name.text] = (name, kind.text)
        return typed

    # ---- patterns

    def _alternative(self, node: Node, typed: Mapping[str, tuple[Leaf, str]]) -> Alternative:
        sequences = node.nodes("sequence") if node.kind == "all" else (node,)
        seen: set[str] = set()
        return Alternative(tuple(self._sequence(s, typed, seen) for s in sequences))

    def _sequence(self, node: Node, typed: Mapping[str, tuple[Leaf, str]], seen: set[str]) -> Sequence:
        parts: list[Template | Regex] = []
        for leaf in node.leaves("STRING", "REGEX"):
            if leaf.kind == "STRING":
                part = template(leaf, self.types, self.mistakes)
                for piece in part.pieces:
                    if isinstance(piece, Capture) and piece.name:
                        self._note(piece.name, piece.type, piece.span, seen)
                parts.append(part)
            else:
                parts.append(self._regex(leaf, typed, seen))
        return Sequence(tuple(parts))

    def _regex(self, leaf: Leaf, typed: Mapping[str, tuple[Leaf, str]], seen: set[str]) -> Regex:
        text = leaf.text[1:-1].replace("\\/", "/")
        types: list[tuple[str, str]] = []
        for match in _GROUP.finditer(text):
            name = match["name"]
            if not name:
                continue
            kind = typed[name][1] if name in typed else "text"
            self._regexes.add(name)
            self._note(name, kind, leaf.span, seen)
            types.append((name, kind))
        return Regex(text, tuple(types), leaf.span)

    def _note(self, name: str, kind: str, span: Span, seen: set[str]) -> None:
        """Remember a capture; one name has one type in an event and stands once in an alternative."""
        if name in seen:
            self.mistakes.add("E0202", f"`{name}` is captured twice on one line", span, "", "give the second a name of its own")
        elif self._captures.setdefault(name, kind) != kind:
            message = f"`{name}` is {self._captures[name]} in one place and {kind} in another"
            self.mistakes.add("E0307", message, span, f"{{{name}:{self._captures[name]}}}")
        seen.add(name)
        self._spans.setdefault(name, span)

    def _check_captures(self) -> None:
        for name, kind in self._captures.items():
            base = ACTOR_FIELDS.get(name)
            if base is not None and self.types[kind].base != base:
                fitting = [t.name for t in self.types.values() if t.base == base]
                message = f"a capture named `{name}` is the actor's {name}, and {kind} is not"
                hint = f"did you mean {{{name}:{fitting[0]}}}? Otherwise give it another name."
                self.mistakes.add("E0308", message, self._spans[name], f"one of the types {', '.join(fitting)}", hint)
            elif name == "time":
                self.mistakes.add("E0207", "`time` is the time of the line and can't name a capture", self._spans[name])

    # ---- moments

    def _moments(self, node: Node) -> tuple[Moment, ...]:
        found: dict[str, Moment] = {}
        for detail in node.nodes("moment"):
            leaf = detail.leaves("NAME")[0]
            name = new_name(leaf, "moment", self.reserved, self.mistakes)
            if name in found or name in self._captures or name in ACTOR_FIELDS:
                self.mistakes.add("E0202", f"this event has a `{name}` already", leaf.span)
                continue
            terms = tuple(t for n in detail.nodes("moment_term") if (t := self._term(n)) is not None)
            found[name] = Moment(name, terms, leaf.span)
        return tuple(found.values())

    def _term(self, node: Node) -> tuple[int, int | str] | None:
        sign, operand = node.leaves()
        factor = -1 if sign.text == "-" else 1
        if operand.kind != "NAME":
            ns = duration(operand, self.mistakes)
            return None if ns is None else (factor, ns)
        kind = self._captures.get(operand.text)
        if kind is None:
            hint = did_you_mean(operand.text, self._captures)
            self.mistakes.add("E0204", f"this event captures no `{operand.text}`", operand.span, "", hint)
            return None
        if self.types[kind].base != "duration":
            message = f"`{operand.text}` is captured as {kind}, which is not a duration"
            self.mistakes.add("E0302", message, operand.span, "a capture of type ms, s, min or hms")
            return None
        return (factor, operand.text)
