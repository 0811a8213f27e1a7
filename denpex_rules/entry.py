"""One page of the encyclopedia: what a rule's failure looks like, why it happens, who is accused, and what to do.

Texts in, text out: a rule of a Program, what the taxonomy says, the stories of its cases, and where the other pages are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import attrs
from attrs import frozen

from denpex_rules.clock import format_duration
from denpex_rules.functions import FUNCTIONS
from denpex_rules.markup import block, bullets, code, link, part, prose, table, words
from denpex_rules.notation import clause_text, expression_text
from denpex_rules.rule import SILENCE, Alternative, Blame, Call, Event, Kind, LookUp, Regex, Rule, Template, Text, Verb
from denpex_rules.story import Story
from denpex_rules.wording import name_actor

LOGS: Final[Mapping[Kind, str]] = {
    "rank": "what the ranks print",
    "kernel": "the kernel log of the host",
    "agent": "the launcher's log",
    "scheduler": "the scheduler's log",
    "fabric": "the log of the fabric's manager or switch",
    "control": "the control plane's log",
}

_WITHOUT: Final[Mapping[Verb, str]] = {
    "require": "the rule says nothing",
    "unless": "the rule stays inconclusive",
    "confirm": "the answer tells less",
    "refute": "nothing could speak against it",
}

_ACCUSE: Final = {
    "printer": "the process that prints the message",
    "peer_in_message": "the peer that the message names",
    "missing_member": "the member that is missing",
    "device_in_message": "the device that the message names",
    "host_in_message": "the host that the message names",
    "pid_in_message": "the process that the message names",
    "job": "the job, no single rank",
    "none": "nobody by itself",
}


GLIMPSE: Final = 2  # examples of an event that decides nothing
MOST_LINES: Final = 30  # of an example's timeline


@frozen
class Links:
    """What a page says about its neighbours: Markdown of links to the pages of other rules and classes."""

    cls: str
    accuse: str
    causes: tuple[str, ...] = ()
    explained_by: tuple[str, ...] = ()
    see: tuple[str, ...] = ()
    seen_from: tuple[str, ...] = ()


def entry(rule: Rule, events: Mapping[str, Event], links: Links, stories: Sequence[Story]) -> str:
    """Return a rule's page.

    Args:
        rule: the rule.
        events: all events by id.
        links: its class and the rules around it.
        stories: its cases.
    """
    sections = (
        ("What it looks like", _looks(rule, events)),
        ("Why it happens", _text(rule.why)),
        ("How it is confirmed", _confirmed(rule)),
        ("Who is accused", _accused(rule, links, stories)),
        ("What to do", _remedy(rule)),
        ("What it is confused with", bullets((*links.see, *links.seen_from))),
        ("What it causes, and what causes it", _neighbours(links)),
        ("Which facts are needed", _facts(rule, events)),
        ("An example", _example(stories)),
        ("Cases", _cases(stories)),
        ("References", bullets(link(words(r), r) for r in rule.references)),
    )
    parts = [f"# {words(rule.title)}", prose(rule.summary), _head(rule, links)]
    parts += [f"## {title}\n\n{text}" for title, text in sections if text]
    return "\n\n".join(p for p in parts if p) + "\n"


def _head(rule: Rule, links: Links) -> str:
    since = f" since {words(rule.since)}" if rule.since else ""
    keys = " and ".join(rule.keys)
    rows = [
        ("rule", code(rule.qualified)),
        ("class", links.cls),
        ("level, impact", f"{rule.level}, {rule.impact}"),
        ("status", f"{rule.status}{since}"),
        ("scope", f"per {keys}, within {format_duration(rule.span_ns)}"),
        ("tags", ", ".join(map(words, rule.tags))),
    ]
    return table(("", ""), [row for row in rows if row[1]])


# ------------------------------------------------------------------ what it looks like


def _looks(rule: Rule, events: Mapping[str, Event]) -> str:
    decisive = {step.event for step in rule.steps if step.verb in {"require", "unless"}}
    shown = []
    for name in rule.events:
        event = events[name]
        head = f"### {code(event.name)}{' (starts the rule)' if name == rule.trigger.event else ''}\n\n{_where(event)}"
        shown += [head, *(_whole(event) if name in decisive else _glimpse(event))]
    return "\n\n".join(shown)


def _where(event: Event) -> str:
    floor = f", at severity {event.severity} or above where it is told" if event.severity else ""
    return f"In {_logs(event)}{floor}."


def _whole(event: Event) -> Iterator[str]:
    """Yield an event's patterns and all its examples."""
    yield block(map(pattern_text, event.alternatives))
    if event.like:
        yield f"Such as:\n\n{block(_lines(event.like))}"
    if event.unlike:
        yield f"But not:\n\n{block(_lines(event.unlike))}"


def _glimpse(event: Event) -> Iterator[str]:
    """Yield what an event that decides nothing looks like: an example or two, a pattern where there is none."""
    yield block(_lines(event.like[:GLIMPSE])) if event.like else block(map(pattern_text, event.alternatives[:GLIMPSE]))


def _lines(texts: Iterable[str]) -> Iterator[str]:
    return chain.from_iterable(text.split("\n") for text in texts)


def pattern_text(alternative: Alternative) -> str:
    """Return an alternative of an event as a rule writes it, captures in braces."""
    return " & ".join(" ".join(map(_pattern, sequence.parts)) for sequence in alternative.sequences)


def _pattern(one: Template | Regex) -> str:
    if isinstance(one, Regex):
        return f"/{one.text}/"
    return '"' + "".join(p if isinstance(p, str) else f"{{{p.name}:{p.type}}}" for p in one.pieces) + '"'


# ------------------------------------------------------------------ why, how, what


def _text(text: Text) -> str:
    """Return a text with its placeholders shown by name."""
    return "".join(part(p) if isinstance(p, str) else code(expression_text(p)) for p in text.pieces).strip()


def _plain(text: Text) -> str:
    return "".join(p if isinstance(p, str) else f"<{expression_text(p)}>" for p in text.pieces)


def _confirmed(rule: Rule) -> str:
    lines = [clause_text(step) for step in rule.steps]
    lines = [*(f"let {let.name} = {expression_text(let.value)}" for let in rule.lets), *lines]
    meaning = (
        "Confirmed when every `require` holds and no `unless` does; inconclusive where what was read does not decide one of them; "
        "quiet otherwise. `confirm` and `refute` never change that: they add evidence."
    )
    return f"{block(lines)}\n\n{meaning}"


def _remedy(rule: Rule) -> str:
    do = bullets(map(_text, rule.do))
    checks = [f"{_plain(v.command)}{f'   # on {expression_text(v.on)}' if v.on is not None else ''}" for v in rule.verify]
    shown = f"To check:\n\n{block(checks, 'bash')}" if checks else ""
    return "\n\n".join(p for p in (do, shown) if p)


def _neighbours(links: Links) -> str:
    parts = []
    if links.causes:
        parts.append("It explains:\n\n" + bullets(links.causes))
    if links.explained_by:
        parts.append("It is explained by:\n\n" + bullets(links.explained_by))
    return "\n\n".join(parts)


# ------------------------------------------------------------------ who


def _accused(rule: Rule, links: Links, stories: Sequence[Story]) -> str:
    parts = [bullets(map(_blame, rule.blame)) or "Nobody."]
    if links.accuse:
        parts.append(f"A message of this class lets one name {_ACCUSE[links.accuse]}.")
    if rule.reporters or rule.victims:
        roles = [("merely report", rule.reporters), ("suffer", rule.victims)]
        said = [f"{', '.join(code(expression_text(p)) for p in paths)} {verb}" for verb, paths in roles if paths]
        parts.append(f"Not accused: {'; '.join(said)}.")
    rows = [(words(story.name), words("; ".join(one.label() for one in story.case.expected.innocent))) for story in stories]
    innocent = table(("case", "innocent"), [row for row in rows if row[1]])
    if innocent:
        parts.append(f"Who must not be accused in its cases:\n\n{innocent}")
    return "\n\n".join(parts)


def _blame(blame: Blame) -> str:
    if not blame.roles:
        return "nobody"
    roles = ", ".join(f"{role.role} {code(expression_text(role.value))}" for role in blame.roles)
    when = f", where {' and '.join(map(code, blame.when))} holds" if blame.when else ""
    each = "; of every trigger that may have been the first" if blame.each else ""
    return f"{roles} ({blame.certainty}{when}){each}"


# ------------------------------------------------------------------ facts


def _facts(rule: Rule, events: Mapping[str, Event]) -> str:
    rows = []
    for step in rule.steps:
        what = "time stamps of the rank" if step.event == SILENCE else _logs(events[step.event])
        rows.append((what, code(step.name), _WITHOUT[step.verb]))
    rows += [
        (_logs(events[one.event]), "the onset", "it began later than need be") for one in rule.onset if isinstance(one, LookUp)
    ]
    parts = [table(("what must be read", "for", "without it"), dict.fromkeys(rows))]
    if any(step.window is not None for step in rule.steps):
        parts.append("Lines need time stamps where a step has a window.")
    joins = [f"{code(name)}: {words(FUNCTIONS[name].summary)}" for name in dict.fromkeys(_calls(rule))]
    if joins:
        parts.append("Joins:\n\n" + bullets(joins))
    return "\n\n".join(parts)


def _logs(event: Event) -> str:
    return " or ".join(LOGS[kind] for kind in event.kinds) or "any log"


def _calls(value: Any) -> Iterator[str]:
    """Yield the built-ins that stand anywhere in a rule."""
    if isinstance(value, Call):
        yield value.function
    if isinstance(value, tuple):
        for item in value:
            yield from _calls(item)
    elif attrs.has(type(value)):
        for attribute in attrs.fields(type(value)):
            yield from _calls(getattr(value, attribute.name))


# ------------------------------------------------------------------ cases


def _example(stories: Iterable[Story]) -> str:
    """Return the timeline of the case that shows most: confirmed before inconclusive, more lines before fewer."""
    told = [story for story in stories if story.incident is not None]
    best = max(
        told, key=lambda s: (s.case.expected.outcome == "confirmed", len({line.where for line in s.lines}), s.name), default=None
    )
    if best is None or best.incident is None:
        return ""
    rows = [(words(x.when), words(x.who), code(x.where), code(x.step), code(_short(x.text))) for x in best.lines[:MOST_LINES]]
    named = [f"{name_actor(s)} ({s.certainty})" for s in best.incident.initiators]
    verdict = f"{best.incident.outcome}; failed first: {words('; '.join(named) or 'nobody is accused')}."
    missing = [f"{words(fact.fact)}: {words(fact.why)}" for fact in best.incident.missing]
    parts = [prose(best.case.expected.says), table(("when", "who", "where", "step", "line"), rows), f"The answer: {verdict}"]
    return "\n\n".join([*parts, "Missing:\n\n" + bullets(missing)] if missing else parts)


def _short(text: str) -> str:
    first = text.partition("\n")[0]
    return first if first == text and len(first) <= 160 else f"{first[:159]}…"


def _cases(stories: Iterable[Story]) -> str:
    rows = ((words(s.name), prose(s.case.expected.says), s.case.expected.outcome) for s in stories)
    return table(("case", "what happens", "outcome"), rows)
