"""From checked rules to a Program: patterns that compile, literals that announce them, examples that hold, bounds that exist.

All mistakes of all rules are collected. What is found here is what needs a pattern to run or a rule as a whole to see; names
and types were checked before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from denpex_rules.clock import MAX, format_duration
from denpex_rules.digits import seeing
from denpex_rules.errors import Diagnostic, RuleError, Source
from denpex_rules.formats import peel
from denpex_rules.literals import alternative_literals, check_literals
from denpex_rules.pattern import EventPattern, PatternError, Types, compile_event
from denpex_rules.program import LiteralEntry, Pack, Program, RootClass
from denpex_rules.record import NO_HINTS
from denpex_rules.rule import SEVERITIES, SILENCE, Alternative, Event, Regex, Rule, RuleSet, Sequence, Step
from denpex_rules.taxonomy import Taxonomy, shipped_taxonomy
from denpex_rules.values import BUILTIN

LANGUAGE: Final = 1
MOST_COUNTED: Final = 10_000  # a count above what the scanner keeps for certain could never be decided

Sources = Mapping[str, Source]


def compile_rules(
    rules: RuleSet,
    taxonomy: Taxonomy | None = None,
    *,
    types: Types = BUILTIN,
    packs: Mapping[str, str] | None = None,
    sources: Sources | None = None,
) -> Program:
    """Return the program of a rule set.

    Args:
        rules: checked rules and the events that they use.
        taxonomy: the classes that rules may name, the shipped ones by default; what it says about those that they do name goes
            into the program.
        types: every capture type that patterns may name; those of plug-ins included.
        packs: versions of the packs by name.
        sources: the texts of the rule files by path, for diagnostics that quote them.

    Raises:
        RuleError: with all mistakes that were found.
    """
    diagnostics = check_rules(rules, types=types, sources=sources)
    if diagnostics:
        raise RuleError(diagnostics)
    versions = packs or {}
    names = sorted({r.pack for r in rules.rules} | set(versions))
    return Program(
        rules.rules,
        rules.events,
        tuple(_literal_table(rules.events)),
        tuple(_classes(rules.rules, shipped_taxonomy() if taxonomy is None else taxonomy)),
        tuple(Pack(name, versions.get(name, "")) for name in names),
        LANGUAGE,
        types,
    )


def check_rules(rules: RuleSet, *, types: Types = BUILTIN, sources: Sources | None = None) -> list[Diagnostic]:
    """Return all mistakes of the rules' patterns, examples and bounds, in the order of the rule files.

    Args:
        rules: checked rules and the events that they use.
        types: every capture type that patterns may name.
        sources: the texts of the rule files by path, to quote them.
    """
    found = [d for e in rules.events for d in _check_event(e, types)]
    found += [d for r in rules.rules for d in _check_bounds(r)]
    found.sort(key=lambda d: (d.span.path, d.span.start))
    return [_quoted(d, sources or {}) for d in found]


def _quoted(found: Diagnostic, sources: Sources) -> Diagnostic:
    source = sources.get(found.span.path)
    return source.diagnostic(found.code, found.message, found.span, found.expected, found.hint) if source else found


def _literal_table(events: tuple[Event, ...]) -> Iterator[LiteralEntry]:
    """Yield each literal with the events that it announces: of an event, the alternatives whose best literal it is."""
    table: dict[bytes, dict[str, int]] = {}
    seen = {event.id: seeing(event) for event in events}
    for event in events:
        if event.expensive:  # tried on every record anyway
            continue
        for number, alternative in enumerate(event.alternatives):
            for literal in alternative_literals(alternative) or ():
                masks = table.setdefault(literal, {})
                masks[event.id] = masks.get(event.id, 0) | 1 << number
    for literal, masks in sorted(table.items()):
        yield LiteralEntry(literal.decode("utf-8"), tuple(masks), tuple(masks.values()), tuple(seen[name] for name in masks))


def _classes(rules: Iterable[Rule], taxonomy: Taxonomy) -> Iterator[RootClass]:
    for name in sorted({name for r in rules for name in (r.cls, *r.causes)}):
        known = taxonomy.get(name)
        if known is not None:
            yield RootClass(known.id, known.title, known.role, known.layer)


# ------------------------------------------------------------------ events


def _check_event(event: Event, types: Types) -> list[Diagnostic]:
    refused = [d for part in _regexes(event) for d in _check_regex(part)]
    if refused:
        return refused
    try:
        pattern = compile_event(event, types)
    except PatternError as error:
        code = "E0501" if isinstance(error.part, Regex) else "E0301"
        return [Diagnostic(code, f"event `{event.name}`: {error}", error.part.span)]
    literal = check_literals(event)
    return [literal] if literal else list(_check_examples(event, pattern))


def _regexes(event: Event) -> Iterator[Regex]:
    parts = (p for a in event.alternatives for s in a.sequences for p in s.parts)
    return (p for p in parts if isinstance(p, Regex))


# What RE2 leaves out because it can't be matched in linear time, as it is written, and in words.
_BEYOND: Final = (
    (re.compile(r"\(\?<?[=!]"), "lookaround", "match the text in front or behind as a part of its own, joined by &"),
    (re.compile(r"(?<!\\)(?:\\\\)*\\[1-9]|\(\?P="), "a back-reference", "capture both texts and compare them in `where`"),
    (re.compile(r"\(\?>|[*+?}]\+"), "a possessive repeat or atomic group", "leave it out: RE2 never backtracks"),
)
_NAMED: Final = re.compile(r"\(\?P?<([A-Za-z_]\w*)>")


def _check_regex(part: Regex) -> Iterator[Diagnostic]:
    names = Counter(_NAMED.findall(part.text))
    for name, count in names.items():
        if count > 1:
            yield Diagnostic("E0501", f"two groups of one regex are named `{name}`", part.span)
    if not part.text.isascii():
        hint = "write that text as a template part, joined by &"
        yield Diagnostic("E0501", "a regex sees bytes, so a character outside ASCII can't stand in it", part.span, hint=hint)
        return
    try:
        compile_event(_alone(part))
    except PatternError as error:
        for shape, name, hint in _BEYOND:
            found = shape.search(part.text)
            if found:
                where = f"`{found[0]}` at character {found.start() + 1}"
                message = f"the regex uses {name} ({where}), which takes more than linear time"
                yield Diagnostic("E0501", message, part.span, expected="RE2 syntax", hint=hint)
                return
        yield Diagnostic("E0501", f"the regex is not RE2 syntax: {error}", part.span, expected="RE2 syntax")


def _alone(part: Regex) -> Event:
    """Return an event of one regex whose groups are plain text."""
    bare = Regex(part.text)
    return Event("", "", (Alternative((Sequence((bare,)),)),))


# ------------------------------------------------------------------ examples


def _check_examples(event: Event, pattern: EventPattern) -> Iterator[Diagnostic]:
    for example in event.like:
        reason = miss(pattern, example)
        if reason:
            message = f"event `{event.name}` does not match its own example: {reason}"
            yield Diagnostic("E0503", message, event.span, hint=_shown(example))
    for example in event.unlike:
        if not miss(pattern, example):
            message = f"event `{event.name}` matches a text that it declares to be unlike"
            yield Diagnostic("E0504", message, event.span, hint=_shown(example))


def _shown(example: str) -> str:
    return f"the text is: {example if len(example) <= 200 else example[:199] + '…'}"


def miss(pattern: EventPattern, example: str) -> str:
    """Return why an example, read as a bare pasted record, is not the event; "" when it is."""
    lines = [peel(line, NO_HINTS) for line in example.encode().split(b"\n")]
    severity = max((line.severity for line in lines if line.severity), key=SEVERITIES.index, default=None)
    kind = next((line.kind for line in lines if line.kind), None)
    event = pattern.event
    if not pattern.match(b"\n".join(line.text for line in lines)):
        return "the pattern is not in it"
    if not pattern.accepts(severity, None):
        return f"the line is read as {severity}, below {event.severity}"
    if not pattern.accepts(severity, kind):
        return f"the line is read as one of a {kind} log, not {' or '.join(event.kinds)}"
    return ""


# ------------------------------------------------------------------ bounds


def _check_bounds(rule: Rule) -> Iterator[Diagnostic]:
    if not rule.required:
        yield Diagnostic("E0401", f"rule `{rule.id}` requires nothing, so nothing starts it", rule.span)
    if not 0 < rule.span_ns < MAX:
        message = f"rule `{rule.id}` has no finite span"
        yield Diagnostic("E0402", message, rule.span, expected="`per ... within` and a duration above zero")
    if not rule.keys:
        yield Diagnostic("E0403", f"rule `{rule.id}` has no scope key", rule.span, expected="`per job`, `per host` or the like")
    for step in rule.steps:
        yield from _check_step(rule, step)


def _check_step(rule: Rule, step: Step) -> Iterator[Diagnostic]:
    count = step.count
    if count and not 1 <= count.least <= MOST_COUNTED:
        message = f"step `{step.name}` counts to {count.least}"
        yield Diagnostic("E0408", message, step.span, expected=f"a count from 1 to {MOST_COUNTED}")
    if count and step.verb == "require" and count.span_ns is not None and count.span_ns > rule.span_ns:
        message = f"step `{step.name}` counts over {format_duration(count.span_ns)}, longer than the rule's span"
        yield Diagnostic("E0407", message, step.span, expected=f"at most {format_duration(rule.span_ns)}")
    if step.event == SILENCE and (step.duration is None or step.duration <= 0):
        yield Diagnostic("E0409", f"step `{step.name}` asks for silence without saying for how long", step.span)
