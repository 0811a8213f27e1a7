"""The encyclopedia of a program's rules as Markdown: a page a rule, and indexes by layer, class, message and Xid code."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from attrs import define, field

from denpex_rules.entry import Links, entry
from denpex_rules.markup import bullets, code, link, prose, table, words
from denpex_rules.program import Program
from denpex_rules.rule import Condition, Constant, Event, Path, Rule
from denpex_rules.story import Story
from denpex_rules.taxonomy import FailureClass, Taxonomy

INDEX: Final = "index.md"
CLASSES: Final = "classes.md"
MESSAGES: Final = "messages.md"
XIDS: Final = "xids.md"

MOST_XID: Final = 255
NO_XID: Final = 4095  # a code that no driver prints: an event that takes it takes any
_XID: Final = re.compile(r"NVRM: Xid \([^)\n]*\): (\d+)\b")


def pages(program: Program, taxonomy: Taxonomy, stories: Mapping[str, Sequence[Story]]) -> Mapping[str, str]:
    """Return the pages by their paths, which are relative to one folder.

    Args:
        program: the rules and events.
        taxonomy: the classes, those without a rule too.
        stories: the told cases of each rule by its `pack:path`.
    """
    book = _Book(program, taxonomy)
    found = {INDEX: book.index(stories), CLASSES: book.classes(), MESSAGES: book.messages(), XIDS: book.xids()}
    for rule in program.rules:
        found[place(rule)] = entry(rule, book.events, book.links(rule), stories.get(rule.qualified, ()))
    return found


def place(rule: Rule) -> str:
    """Return the path of a rule's page."""
    return f"{rule.pack}/{rule.id.replace('.', '/')}.md"


def xid_codes(event: Event, program: Program) -> frozenset[int]:
    """Return the codes of NVIDIA's Xid messages that an event is about: none where it takes every code, or no Xid at all."""
    pattern = program.matcher.pattern(program.events.index(event))

    def takes(number: int) -> bool:
        return pattern.match(f"NVRM: Xid (PCI:0000:41:00): {number}, pid=1, name=x, x".encode()) is not None

    if takes(NO_XID):
        return frozenset()
    told = {int(found[1]) for like in event.like if (found := _XID.search(like))}
    return frozenset({number for number in range(1, MOST_XID + 1) if takes(number)} | told)


@define
class _Book:
    """The program with what links its pages."""

    program: Program
    taxonomy: Taxonomy
    events: Mapping[str, Event] = field(init=False)
    by_class: Mapping[str, list[Rule]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.events = {event.id: event for event in self.program.events}
        by_class: dict[str, list[Rule]] = defaultdict(list)
        for rule in sorted(self.program.rules, key=lambda rule: rule.qualified):
            by_class[rule.cls].append(rule)
        self.by_class = dict(by_class)

    # ---- links

    def to(self, rule: Rule, page: str) -> str:
        """Return a link to a rule's page from another page."""
        return link(words(rule.title), _relative(place(rule), page))

    def to_class(self, name: str, page: str) -> str:
        """Return a link to a class in the index of classes; its name alone where the taxonomy lacks it."""
        return link(code(name), f"{_relative(CLASSES, page)}#{_anchor(name)}") if name in self.taxonomy else code(name)

    def links(self, rule: Rule) -> Links:
        """Return what stands around a rule: its class, what it explains and is explained by, what it is confused with."""
        page = place(rule)
        known = self.taxonomy.get(rule.cls)
        titled = f": {words(known.title)}" if known else ""
        causes = [self._with_rules(name, page) for name in rule.causes]
        causing = [r for r in self.program.rules if rule.cls in r.causes and r is not rule]
        seeing = [(r, s) for r in self.program.rules for s in r.see if self._named(s.rule) is rule]
        return Links(
            cls=self.to_class(rule.cls, page) + titled,
            accuse=known.accuse if known else "",
            causes=tuple(causes),
            explained_by=tuple(self.to(r, page) for r in sorted(causing, key=lambda r: r.qualified)),
            see=tuple(f"{self._see(s.rule, page)}: {prose(s.because)}" for s in rule.see),
            seen_from=tuple(f"{self.to(r, page)} says: {prose(s.because)}" for r, s in seeing),
        )

    def _with_rules(self, name: str, page: str) -> str:
        rules = ", ".join(self.to(rule, page) for rule in self.by_class.get(name, ()))
        return self.to_class(name, page) + (f": {rules}" if rules else "")

    def _see(self, name: str, page: str) -> str:
        rule = self._named(name)
        return self.to(rule, page) if rule else code(name)

    def _named(self, name: str) -> Rule | None:
        return next((rule for rule in self.program.rules if name in {rule.id, rule.qualified}), None)

    # ---- indexes

    def index(self, stories: Mapping[str, Sequence[Story]]) -> str:
        """Return the first page: every rule by the layer of its initiator."""
        layers: dict[str, list[Rule]] = defaultdict(list)
        for rule in sorted(self.program.rules, key=lambda rule: rule.qualified):
            layers[rule.id.partition(".")[0]].append(rule)
        count = sum(map(len, stories.values()))
        parts = [
            "# Encyclopedia",
            f"{len(self.program.rules)} rules, proven by {count} cases. A rule is filed under the layer of what failed first.",
            bullets(
                (link("By class", CLASSES), link("By message", MESSAGES), link("By Xid code", XIDS)),
            ),
        ]
        for layer, rules in layers.items():
            rows = [self._row(rule, len(stories.get(rule.qualified, ()))) for rule in rules]
            parts.append(f"## {words(layer)}\n\n" + table(("failure", "class", "level", "status", "cases"), rows))
        return "\n\n".join(parts) + "\n"

    def _row(self, rule: Rule, cases: int) -> tuple[str, ...]:
        return self.to(rule, INDEX), self.to_class(rule.cls, INDEX), rule.level, rule.status, str(cases)

    def classes(self) -> str:
        """Return every class with its rules, or why it has none."""
        parts = ["# By class"]
        for role, title in (("cause", "Causes"), ("symptom", "Symptoms")):
            parts.append(f"## {title}")
            parts += [self._class(one) for one in self.taxonomy.classes.values() if one.role == role]
        return "\n\n".join(parts) + "\n"

    def _class(self, one: FailureClass) -> str:
        rules = bullets(f"{self.to(rule, CLASSES)} ({rule.status})" for rule in self.by_class.get(one.id, ()))
        without = f"No rule: {prose(one.without_rule)}" if one.without_rule else "No rule."
        head = f"### {words(one.title)} {{#{_anchor(one.id)}}}"
        return f"{head}\n\n{code(one.id)}: {prose(one.definition)}\n\n{rules or without}"

    def messages(self) -> str:
        """Return every text that a scan looks for, with the rules that it starts and those that read it for more."""
        starts, reads = self._readers()
        intro = (
            "A log line that holds one of these texts may be the message of a rule. The texts are what a scan looks for first; the "
            "whole pattern stands on the rule's page."
        )
        parts = ["# By message", intro]
        groups: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        for one in self.program.literals:
            first = dict.fromkeys(r for event in one.events for r in starts[event])
            more = dict.fromkeys(r for event in one.events for r in reads[event] if r not in first)
            if first or more:
                initial = one.text.strip()[:1].upper()
                groups[initial if initial.isalpha() else "Other"].append((code(one.text), self._listed(first), self._listed(more)))
        head = ("text", "starts", "is read by")
        ordered = sorted(groups.items(), key=lambda item: (item[0] == "Other", item[0]))
        parts += [f"## {words(initial)}\n\n{table(head, sorted(rows))}" for initial, rows in ordered]
        return "\n\n".join(parts) + "\n"

    def _readers(self) -> tuple[Mapping[str, list[Rule]], Mapping[str, list[Rule]]]:
        """Return the rules that each event starts, and those that read it for more."""
        starts: dict[str, list[Rule]] = defaultdict(list)
        reads: dict[str, list[Rule]] = defaultdict(list)
        for rule in self.program.rules:
            for event in rule.events:
                (starts if event == rule.trigger.event else reads)[event].append(rule)
        return starts, reads

    def _listed(self, rules: Iterable[Rule], shown: int = 8) -> str:
        found = sorted(rules, key=lambda rule: rule.qualified)
        more = f", and {len(found) - shown} more" if len(found) > shown else ""
        return ", ".join(self.to(rule, MESSAGES) for rule in found[:shown]) + more

    def xids(self) -> str:
        """Return every Xid code that a rule is about."""
        rows: dict[int, list[Rule]] = defaultdict(list)
        for rule in sorted(self.program.rules, key=lambda rule: rule.qualified):
            for number in sorted(self._codes(rule)):
                rows[number].append(rule)
        body = [(str(n), ", ".join(self.to(r, XIDS) for r in rules)) for n, rules in sorted(rows.items())]
        intro = "The numbers of NVIDIA's driver (`NVRM: Xid (PCI:…): N, …` in the kernel log) and the rules that they start."
        return "\n\n".join(("# By Xid code", intro, table(("Xid", "failure"), body) or "No rule is about one.")) + "\n"

    def _codes(self, rule: Rule) -> Iterator[int]:
        named = [n for condition in rule.trigger.where for n in _number(condition)]
        event = self.events[rule.trigger.event]
        yield from named if named and any(map(_XID.search, event.like)) else xid_codes(event, self.program)


def _number(condition: Condition) -> Iterator[int]:
    """Yield the number that a condition `code == N` asks for."""
    left, right = condition.left, condition.right
    if isinstance(left, Path) and left.name == "code" and isinstance(right, Constant) and condition.operator == "==":
        yield int(right.value)


def _relative(target: str, page: str) -> str:
    return posixpath.relpath(target, posixpath.dirname(page) or ".")


def _anchor(name: str) -> str:
    return re.sub(r"[^a-z0-9_]", "-", name.lower())
