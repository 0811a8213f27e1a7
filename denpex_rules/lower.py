"""From the tree of one file to rules and events, with names, types and bounds checked: every mistake, not the first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

from attrs import define, field, frozen

from denpex_rules.accusation import Accusation
from denpex_rules.clause import Clause, name_of, verb_of
from denpex_rules.declaration import Declaration, duration, new_name
from denpex_rules.errors import Diagnostic, Span
from denpex_rules.functions import FUNCTIONS, Signature
from denpex_rules.gap import check_gaps
from denpex_rules.mistake import Mistakes, did_you_mean
from denpex_rules.parser import Node, Tree, keywords
from denpex_rules.rule import (
    IMPACTS,
    KEYS,
    LEVELS,
    SILENCE,
    STATUSES,
    Event,
    Key,
    Let,
    Rule,
    See,
    Step,
    Text,
)
from denpex_rules.taxonomy import Taxonomy
from denpex_rules.template import plain
from denpex_rules.typecheck import Scope
from denpex_rules.values import BUILTIN, CaptureType

LANGUAGE: Final = 1

T = TypeVar("T")
S = TypeVar("S", bound=str)

_ONCE: Final = (
    *("title", "summary", "class", "impact", "level", "status", "tags", "causes", "scope", "quiet"),
    *("blame", "onset", "victim", "reporter", "why"),
)
_WRITTEN: Final = {"scope": "per"}
_WEB: Final = re.compile(r"[a-z]+://")


@frozen
class World:
    """What a file may refer to beside what it defines.

    `shared` holds the building blocks by their full path (`lib.c10d.timeout`); None stands for one that did not lower.
    """

    taxonomy: Taxonomy
    types: Mapping[str, CaptureType] = field(factory=lambda: BUILTIN)
    signatures: Mapping[str, Signature] = field(factory=lambda: FUNCTIONS)
    shared: Mapping[str, Event | None] = field(factory=dict)


@frozen
class Lowered:
    """What one file defines. `shared` are the events outside of rules, `private` the rules' own, `used` those of `use`.
    `unsound` says that a building block which `use` names did not lower.
    """

    rules: tuple[Rule, ...] = ()
    shared: tuple[Event, ...] = ()
    private: tuple[Event, ...] = ()
    used: tuple[Event, ...] = ()
    unsound: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()


def lower(tree: Tree, world: World, pack: str, place: str) -> Lowered:
    """Check one file and return what it defines.

    Args:
        tree: the file's syntax; its own mistakes are part of the answer.
        world: what the file may refer to.
        pack: the namespace of its rules and events.
        place: the file's dotted path in the pack ("lib.c10d"); shared events are `pack:place#name`.
    """
    return _File(Mistakes(tree.source, list(tree.diagnostics)), world, pack, place).lower(tree.root)


@define
class _File:
    mistakes: Mistakes
    world: World
    pack: str
    place: str
    reserved: frozenset[str] = field(factory=lambda: keywords() | {SILENCE, "time"})
    used: dict[str, Event | None] = field(factory=dict)  # by the name under which the rules know it
    paths: set[str] = field(factory=set)  # of the building blocks in use
    private: list[Event] = field(factory=list)

    def lower(self, root: Node) -> Lowered:
        self._header(root)
        for use in root.nodes("use"):
            for part in use.nodes("used"):
                self._use(part)
        broken = frozenset(w for b in root.broken() for w in b.words)
        shared = self._events(root.nodes("event"), f"{self.pack}:{self.place}", self.used)
        rules = [r for n in root.nodes("rule") if (r := self._rule(n, {**self.used, **shared}, broken)) is not None]
        found = tuple(sorted(self.mistakes.found, key=lambda d: (d.span.start, d.code)))
        own, used = (tuple(e for e in group.values() if e is not None) for group in (shared, self.used))
        unsound = any(p in self.world.shared and self.world.shared[p] is None for p in self.paths)
        return Lowered(tuple(rules), own, tuple(self.private), used, unsound, found)

    def _header(self, root: Node) -> None:
        for header in root.nodes("header"):
            number = header.leaves("INT")[0]
            if number.text != str(LANGUAGE):
                message = f"this release does not know version {number.text} of the language"
                self.mistakes.add("E0104", message, number.span, f"`language {LANGUAGE}`")

    def _use(self, node: Node) -> None:
        dotted = _dotted(node.nodes("dotted")[0])
        alias = node.leaf("NAME")
        leaf = alias or node.nodes("dotted")[0].leaves()[-1]
        name = new_name(leaf, "building block", self.reserved, self.mistakes)
        if dotted not in self.world.shared:
            hint = did_you_mean(dotted, self.world.shared)
            inside = [p for p in self.world.shared if p.startswith(f"{dotted}.")]
            expected = f"one of {', '.join(sorted(inside)[:8])}" if inside else ""
            self.mistakes.add("E0203", f"there is no building block `{dotted}`", node.nodes("dotted")[0].span, expected, hint)
        if name in self.used:
            hint = f"use {dotted} as other_{name}"
            self.mistakes.add("E0202", f"`{name}` is used twice", leaf.span, "", hint)
        self.paths.add(dotted)
        self.used[name] = self.world.shared.get(dotted)

    def _events(self, nodes: tuple[Node, ...], prefix: str, taken: Mapping[str, Event | None]) -> dict[str, Event | None]:
        found: dict[str, Event | None] = {}
        for node in nodes:
            event = Declaration(self.mistakes, self.world.types, self.reserved).lower(node, prefix)
            if event.name in found or event.name in taken:
                self.mistakes.add("E0202", f"there is an event `{event.name}` already", event.span)
            found[event.name] = event
        return found

    def _rule(self, node: Node, events: Mapping[str, Event | None], broken: frozenset[str]) -> Rule | None:
        return _Rule(self, node, dict(events), broken).lower()


@define
class _Rule:
    file: _File
    node: Node
    events: dict[str, Event | None]
    broken: frozenset[str]
    said: dict[str, Node] = field(factory=dict)  # the statements that may stand once, by kind
    torn: frozenset[str] = frozenset()  # keywords of the statements that did not parse

    @property
    def mistakes(self) -> Mistakes:
        return self.file.mistakes

    def lower(self) -> Rule | None:
        """Return the rule; None when a mistake leaves nothing that could be called one."""
        before = len(self.mistakes.found)
        head, body = self.node.node("rule_head"), self.node.nodes("body")[0]
        name = _dotted(head.nodes("dotted")[0]) if head is not None else ""
        self.torn = frozenset(b.keyword for b in body.broken())
        self.broken |= frozenset(w for b in body.broken() for w in b.words)
        self._collect(body)
        own = self.file._events(body.nodes("event"), f"{self.file.pack}:{name}", self.events)
        self.file.private += [e for e in own.values() if e is not None]
        self._required(body)
        keys, span_ns = self._scope()
        scope = self._names(body, {**self.events, **own})
        clause = Clause(scope, self.file.reserved, keys, span_ns, requires=self._requires(body))
        steps, lets = self._ordered(body, scope, clause)
        if span_ns is not None:
            check_gaps(steps, span_ns, self.mistakes)
        rule = self._assemble(name, body, (keys, span_ns or 0), (steps, lets), Accusation(scope, clause))
        sound = len(self.mistakes.found) == before and not self.torn and head is not None
        return rule if sound and any(s.verb == "require" for s in steps) else None

    # ---- structure

    def _collect(self, body: Node) -> None:
        for statement in body.nodes():
            if statement.kind not in _ONCE:
                continue
            written = _WRITTEN.get(statement.kind, statement.kind)
            if statement.kind in self.said or written in self.torn:
                self.mistakes.add("E0405", f"a rule has one `{written}`", statement.span)
            else:
                self.said[statement.kind] = statement

    def _required(self, body: Node) -> None:
        at = self._at()
        for kind, example in (("title", 'title "GPU fell off the bus"'), ("class", "class gpu.fell_off_bus")):
            if kind not in self.said and kind not in self.torn:
                self.mistakes.add("E0406", f"this rule has no `{kind}`", at, f"`{example}`")
        if "scope" not in self.said and "per" not in self.torn:
            message = "this rule has no scope: what one match is about, and over how long"
            self.mistakes.add("E0402", message, at, "`per job within 2h`")
        if not self._requires(body) and "require" not in self.torn:
            self.mistakes.add("E0401", "this rule requires nothing, so it could never start", at, "`require` and an event")

    def _requires(self, body: Node) -> bool:
        return any(verb_of(s) == "require" for s in body.nodes("step"))

    def _at(self) -> Span:
        head = self.node.node("rule_head")
        return head.nodes("dotted")[0].span if head is not None else self.node.span

    def _scope(self) -> tuple[tuple[Key, ...], int | None]:
        node = self.said.get("scope")
        if node is None:
            return (), None
        keys: list[Key] = []
        for leaf in node.leaves("NAME"):
            key = next((k for k in KEYS if k == leaf.text), None)
            if key is None:
                hint = did_you_mean(leaf.text, KEYS)
                self.mistakes.add("E0403", f"`{leaf.text}` is no scope key", leaf.span, f"one of {', '.join(KEYS)}", hint)
            elif key in keys:
                self.mistakes.repeat(f"the scope key `{key}` stands twice", leaf.span)
            else:
                keys.append(key)
        amount = next(iter(node.leaves("DURATION", "INT")), None)
        if amount is None:
            self.mistakes.add("E0402", "this rule has no finite span", node.span, "`within` and a duration", "per job within 2h")
            return tuple(keys), None
        span_ns = duration(amount, self.mistakes)
        if span_ns == 0:
            self.mistakes.add("E0402", "a span of no time holds nothing", amount.span, "a duration such as 2h")
            return tuple(keys), None
        return tuple(keys), span_ns

    def _names(self, body: Node, events: dict[str, Event | None]) -> Scope:
        later = {name_of(s).text for s in body.nodes("step")} | {n.leaves("NAME")[0].text for n in body.nodes("let")}
        world = self.file.world
        return Scope(self.mistakes, world.types, world.signatures, later, self.broken, events)

    def _ordered(self, body: Node, scope: Scope, clause: Clause) -> tuple[tuple[Step, ...], tuple[Let, ...]]:
        """Return steps and lets, which see what stands above them."""
        steps: list[Step] = []
        lets: list[Let] = []
        for statement in body.nodes("step", "let"):
            if statement.kind == "let":
                let = self._let(statement, scope)
                lets += [let] if let is not None else []
            else:
                step = clause.lower(statement)
                steps += [step] if step is not None else []
        return tuple(steps), tuple(lets)

    def _let(self, node: Node, scope: Scope) -> Let | None:
        leaf = node.leaves("NAME")[0]
        name = new_name(leaf, "value", self.file.reserved, self.mistakes)
        typed = scope.expression(node.nodes()[0])
        if name in scope.lets or name in scope.steps or name in scope.events:
            self.mistakes.add("E0202", f"`{name}` is defined already", leaf.span)
            return None
        if typed is None:
            scope.broken |= {name}
            return None
        scope.lets[name] = typed
        return Let(name, typed.value, node.span)

    # ---- the rule

    def _assemble(
        self,
        name: str,
        body: Node,
        bounds: tuple[tuple[Key, ...], int],
        clauses: tuple[tuple[Step, ...], tuple[Let, ...]],
        accusation: Accusation,
    ) -> Rule:
        cls = self._class()
        quiet = self.said.get("quiet")
        quiet_ns = duration(quiet.leaves()[0], self.mistakes) if quiet is not None else None
        status = self.said.get("status")
        since = status.leaf("STRING") if status is not None else None
        return Rule(
            id=name,
            pack=self.file.pack,
            title=self._string("title"),
            cls=cls,
            keys=bounds[0],
            span_ns=bounds[1],
            steps=clauses[0],
            lets=clauses[1],
            summary=self._string("summary"),
            impact=self._choice("impact", IMPACTS, "major"),
            level=self._choice("level", LEVELS, "failure"),
            status=self._choice("status", STATUSES, "preview"),
            since=plain(since, self.mistakes) if since is not None else "",
            tags=self._tags(),
            causes=self._causes(cls),
            quiet_ns=quiet_ns if quiet_ns is not None else 600_000_000_000,
            blame=self._said("blame", accusation.blame),
            onset=self._said("onset", accusation.onset),
            victims=self._said("victim", accusation.actors),
            reporters=self._said("reporter", accusation.actors),
            why=accusation.text(self.said["why"].leaves("STRING")[0]) if "why" in self.said else Text(()),
            do=tuple(accusation.text(n.leaves("STRING")[0]) for n in body.nodes("do")),
            verify=tuple(accusation.verify(n) for n in body.nodes("verify")),
            see=tuple(self._see(body)),
            references=tuple(plain(n.leaves("STRING")[0], self.mistakes) for n in body.nodes("ref")),
            span=self._at(),
        )

    def _said(self, kind: str, read: Callable[[Node], tuple[T, ...]]) -> tuple[T, ...]:
        node = self.said.get(kind)
        return read(node) if node is not None else ()

    def _string(self, kind: str) -> str:
        node = self.said.get(kind)
        if node is None:
            return ""
        leaf = node.leaves("STRING")[0]
        text = plain(leaf, self.mistakes)
        if not text.strip():
            self.mistakes.add("E0305", f"this `{kind}` is empty", leaf.span, "a text")
        return text

    def _choice(self, kind: str, choices: tuple[S, ...], default: S) -> S:
        node = self.said.get(kind)
        if node is None:
            return default
        leaf = node.leaves("NAME")[0]
        found = next((c for c in choices if c == leaf.text), None)
        if found is None:
            hint = did_you_mean(leaf.text, choices)
            self.mistakes.add("E0602", f"`{leaf.text}` is no {kind}", leaf.span, f"one of {', '.join(choices)}", hint)
            return default
        return found

    def _tags(self) -> tuple[str, ...]:
        node = self.said.get("tags")
        found: dict[str, None] = {}
        for leaf in node.leaves() if node is not None else ():
            if leaf.text in found:
                self.mistakes.repeat(f"the tag `{leaf.text}` stands twice", leaf.span)
            found[leaf.text] = None
        return tuple(found)

    def _class(self) -> str:
        node = self.said.get("class")
        return self._known_class(node.nodes("dotted")[0]) if node is not None else ""

    def _known_class(self, node: Node) -> str:
        name, taxonomy = _dotted(node), self.file.world.taxonomy
        if name not in taxonomy:
            hint = did_you_mean(name, taxonomy.classes)
            self.mistakes.add("E0601", f"there is no class `{name}`", node.span, "a class of the taxonomy", hint)
        return name

    def _causes(self, cls: str) -> tuple[str, ...]:
        found: dict[str, None] = {}
        node = self.said.get("causes")
        for part in node.nodes("dotted") if node is not None else ():
            name = self._known_class(part)
            if name == cls:
                self.mistakes.add("E0604", "a rule can't cause its own class", part.span)
            elif name in found:
                self.mistakes.repeat(f"the class `{name}` stands twice", part.span)
            found[name] = None
        return tuple(found)

    def _see(self, body: Node) -> Iterator[See]:
        for node in body.nodes("see"):
            rule, because = (plain(leaf, self.mistakes) for leaf in node.leaves("STRING"))
            if not re.fullmatch(r"(\w+:)?\w+(\.\w+)*", rule):
                hint = 'write `ref "…"` for a link' if _WEB.match(rule) else ""
                self.mistakes.add("E0305", f"`{rule}` is not the path of a rule", node.leaves("STRING")[0].span, "", hint)
            yield See(rule, because)


def _dotted(node: Node) -> str:
    return ".".join(leaf.text for leaf in node.leaves())
