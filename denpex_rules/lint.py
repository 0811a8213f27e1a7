"""Advice about rules that are free of mistakes: what a reviewer of a rule pack would ask."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, Final

import attrs
from attrs import frozen

from denpex_rules.clock import SECOND, format_duration
from denpex_rules.compiler import miss
from denpex_rules.errors import Diagnostic, Source, Span
from denpex_rules.literals import MIN_LENGTH, fixed_texts
from denpex_rules.pattern import EventPattern, Types, compile_event
from denpex_rules.rule import PROGRESS, Alternative, Event, LookUp, Path, Regex, Rule, RuleSet, Step, Template
from denpex_rules.taxonomy import Taxonomy
from denpex_rules.values import BUILTIN

TELLING: Final = 12  # bytes of fixed text from which on a pattern can be taken for its emitter's own words
CLOCK: Final = SECOND  # c10d, syslog and most launchers tell whole seconds
SKEW: Final = 5 * SECOND  # between the clocks of two hosts, unless a scan is told better


def lint_rules(
    rules: RuleSet,
    taxonomy: Taxonomy,
    *,
    types: Types = BUILTIN,
    known: Collection[str] = (),
    sources: Mapping[str, Source] | None = None,
) -> list[Diagnostic]:
    """Return advice about rules, in the order of the rule files. None of it keeps a rule from being used.

    Args:
        rules: rules that are free of mistakes, and their events.
        taxonomy: the classes that they name.
        types: every capture type that patterns may name.
        known: `pack:path` of rules that exist beside these, for `see`.
        sources: the texts of the rule files by path, to quote them.
    """
    uses = [_Use.of(rule) for rule in rules.rules]
    found = [*_events(rules.events, uses), *(d for use in uses for d in _rule(use, taxonomy))]
    found += _unknown(rules.rules, {rule.qualified for rule in rules.rules}.union(known))
    found += _rivals(rules, types)
    found.sort(key=lambda d: (d.span.path, d.span.start, d.code))
    return [_quoted(d, sources or {}) for d in found]


def _quoted(found: Diagnostic, sources: Mapping[str, Source]) -> Diagnostic:
    source = sources.get(found.span.path)
    return attrs.evolve(found, source=source.line(found.span.line)) if source else found


def _advice(code: str, message: str, span: Span, hint: str = "") -> Diagnostic:
    return Diagnostic(code, message, span, hint=hint, severity="warning")


@frozen
class _Use:
    """A rule with the ids of the events and the names that stand in it; `proof` are the events that speak for it."""

    rule: Rule
    events: frozenset[str]
    proof: frozenset[str]
    names: frozenset[str]

    @classmethod
    def of(cls, rule: Rule) -> _Use:
        parts = tuple(_parts(rule))
        events = frozenset(p.event for p in parts if isinstance(p, Step | LookUp))
        proof = frozenset(step.event for step in rule.steps if step.verb in {"require", "confirm"})
        return cls(rule, events, proof, frozenset(p.name for p in parts if isinstance(p, Path)))


def _parts(value: Any) -> Iterator[Any]:
    """Yield a model object and all that it holds."""
    yield value
    if isinstance(value, tuple):
        for item in value:
            yield from _parts(item)
    elif attrs.has(type(value)):
        for attribute in attrs.fields(type(value)):
            yield from _parts(getattr(value, attribute.name))


# ------------------------------------------------------------------ events


def _events(events: Iterable[Event], uses: Collection[_Use]) -> Iterator[Diagnostic]:
    used = frozenset[str]().union(*(use.events for use in uses))
    proof = frozenset[str]().union(*(use.proof for use in uses))
    stable = frozenset[str]().union(*(use.events for use in uses if use.rule.status == "stable"))
    for event in events:
        if event.id in stable and not event.like:
            message = f"event `{event.name}` of a stable rule has no example"
            yield _advice("L0101", message, event.span, 'add `like "…"` with a line as its emitter prints it')
        if event.id in proof:
            yield from _breadth(event)
        if uses and event.id not in used and not event.identity and PROGRESS not in event.id:
            yield _advice("L0108", f"no rule uses the event `{event.name}`", event.span, "leave it out")


def _breadth(event: Event) -> Iterator[Diagnostic]:
    """Yield advice about an event that more emitters could print than its author thought of."""
    word = next((w for a in event.alternatives if (w := _common(a))), "")
    if word:
        message = f"event `{event.name}` accepts every record with `{word}` in it"
        yield _advice("L0102", message, event.span, "add what only this emitter says around the word")
    if event.severity is None and not event.kinds:
        fixed = min((_fixed(a) for a in event.alternatives), key=lambda texts: sum(map(len, texts)))
        if sum(map(len, fixed)) < TELLING:
            words = " … ".join(text.decode("utf-8", "replace") for text in fixed)
            message = f"event `{event.name}` accepts records of any severity from any log with no more fixed text than `{words}`"
            yield _advice("L0103", message, event.span, f"say where it is printed: `event {event.name} error in rank`")


def _fixed(alternative: Alternative) -> list[bytes]:
    """Return the words of an alternative that every match contains, the shortest where one of several will do."""
    texts = (min(either, key=len).strip() for either in fixed_texts(alternative))
    return [text for text in texts if len(text) >= MIN_LENGTH]


# Words that say how bad it is or that something ended, and so stand in the lines of every emitter.
_COMMON: Final = frozenset(
    re.findall(
        r"\w+",
        """
        a an and at by down for from has in info is not of on or out the to unknown warn warning was with
        abort aborted crash crashed dead died done err error errors exception exit exited fail failed failure fatal
        hang hung killed lost panic stopped stuck terminated time timed timeout
        """,
    )
)
_ESCAPE: Final = re.compile(r"\\[bBdDsSwWAzZ]|\(\?(?:P?<\w+>|[a-z]*:|[a-z]+\))")


def _common(alternative: Alternative) -> str:
    """Return what the parts of an alternative say, where that is common words alone; else nothing."""
    said = []
    for part in (p for sequence in alternative.sequences for p in sequence.parts):
        if isinstance(part, Template):
            said += [piece for piece in part.pieces if isinstance(piece, str)]
        elif part.text.startswith("^") and part.text.endswith("$"):
            return ""  # the whole line: nothing else may stand in it
        else:
            said.append(_bare(part))
    text = " ".join(said)
    words = re.findall(r"[a-z]+", text.lower())
    return text.strip() if words and _COMMON.issuperset(words) and not re.search(r"[0-9]", text) else ""


def _bare(regex: Regex) -> str:
    """Return a regex's text without its escapes and group heads."""
    return _ESCAPE.sub(" ", regex.text)


# ------------------------------------------------------------------ one rule


def _rule(use: _Use, taxonomy: Taxonomy) -> Iterator[Diagnostic]:
    rule = use.rule
    if not rule.do:
        yield _advice("L0106", f"rule `{rule.id}` says what failed and not what to do", rule.span, 'add `do "…"`')
    for let in rule.lets:
        if let.name not in use.names:
            yield _advice("L0108", f"nothing uses the value `{let.name}`", let.span, "leave it out")
    for step in rule.steps:
        yield from _closeness(step)
    known = taxonomy.get(rule.cls)
    for effect in rule.causes:
        target = taxonomy.get(effect)
        if known and target and effect in known.upstream and rule.cls not in target.upstream:
            message = f"rule `{rule.id}` says that `{rule.cls}` causes `{effect}`; the taxonomy has it the other way round"
            yield _advice("L0104", message, rule.span, f"leave out `{effect}`, or name `{rule.cls}` upstream of it")


def _closeness(step: Step) -> Iterator[Diagnostic]:
    """Yield advice where a step asks for less time than stamps can tell apart; a window of no time asks for the same record."""
    count = step.count.span_ns if step.count else None
    for what, width in (("counts within", count), ("asks for silence of", step.duration), ("has a window of", _width(step))):
        if width is not None and 0 < width < CLOCK:
            message = f"step `{step.name}` {what} {format_duration(width)}, but many logs tell whole seconds only"
            yield _advice("L0107", message, step.span, "allow for at least 1s")
    elsewhere = any(c.operator == "!=" and isinstance(c.left, Path) and c.left == Path("host") for c in step.where)
    width = _width(step)
    if elsewhere and width is not None and CLOCK <= width < 2 * SKEW:
        message = f"step `{step.name}` has a window of {format_duration(width)} on another host, whose clock may be {_SKEW} off"
        yield _advice("L0107", message, step.span, f"no order is sure in less than {format_duration(2 * SKEW)}")


_SKEW: Final = format_duration(SKEW)


def _width(step: Step) -> int | None:
    """Return how long a step's window is, where one anchor bounds both its sides with fixed terms."""
    window = step.window
    if window is None or window.lo is None or window.hi is None:
        return None
    lo, hi = window.lo, window.hi
    terms = [amount for _, amount in (*lo.terms, *hi.terms)]
    if (lo.step, lo.moment) != (hi.step, hi.moment) or not all(isinstance(amount, int) for amount in terms):
        return None
    return sum(sign * int(str(amount)) for sign, amount in hi.terms) - sum(sign * int(str(amount)) for sign, amount in lo.terms)


# ------------------------------------------------------------------ several rules


def _unknown(rules: Iterable[Rule], known: Collection[str]) -> Iterator[Diagnostic]:
    for rule in rules:
        for see in rule.see:
            name = see.rule if ":" in see.rule else f"{rule.pack}:{see.rule}"
            if name not in known:
                yield _advice("L0109", f"rule `{rule.id}` is compared with `{see.rule}`, which does not exist", rule.span)


def _rivals(rules: RuleSet, types: Types) -> Iterator[Diagnostic]:
    """Yield advice about two rules that one record starts, although neither causes, guards against nor names the other."""
    events = {event.id: event for event in rules.events}
    patterns = {rule.trigger.event: compile_event(events[rule.trigger.event], types) for rule in rules.rules}
    for one, other in combinations(rules.rules, 2):
        if _related(one, other) or not _overlap(one.trigger, other.trigger):
            continue
        shared = _shared(patterns[one.trigger.event], patterns[other.trigger.event])
        if shared:
            message = f"one record starts both `{other.id}` and `{one.id}`, and nothing says how they differ"
            yield _advice("L0105", message, other.span, f"{shared}; add `causes`, an `unless`, or `see` with the difference")


def _overlap(one: Step, other: Step) -> bool:
    """Whether what one trigger asks of its sighting is all that the other asks, and maybe more."""
    asked, also = ({(c.left, c.operator, c.right) for c in step.where} for step in (one, other))
    return asked <= also or also <= asked


def _shared(one: EventPattern, other: EventPattern) -> str:
    """Return how it is known that one record can be both events: it is one event, or an example of one is the other."""
    if one.event.id == other.event.id:
        return f"both require `{one.event.name}`"
    for pattern, example in [*((one, e) for e in other.event.like), *((other, e) for e in one.event.like)]:
        if not miss(pattern, example):
            return f"the record is: {example if len(example) <= 200 else example[:199] + '…'}"
    return ""


def _related(one: Rule, other: Rule) -> bool:
    if one.cls in other.causes or other.cls in one.causes:
        return True
    if any(see.rule in {b.id, b.qualified} for a, b in ((one, other), (other, one)) for see in a.see):
        return True
    return any(step.verb == "unless" for rule in (one, other) for step in rule.steps)
