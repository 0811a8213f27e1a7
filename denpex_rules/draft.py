"""From chosen log lines to the text of a rule: which line starts it, which add proof, whom it may blame, and of which class it is.

A draft says only what the lines themselves tell. It blames somebody only where the class of the failure says who that is, and
then `likely`; what only a person knows is left to say, and `rulecheck check` asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from attrs import frozen

from denpex_rules import generalise
from denpex_rules.clock import HOUR, MINUTE, SECOND, format_duration
from denpex_rules.excerpt import Chosen
from denpex_rules.rule import SEVERITIES, Rule
from denpex_rules.signals import STALLED, Mark, Shipped, Signal, probe, sharpened, signals, slug, stalls, template, unique
from denpex_rules.taxonomy import UNCLASSIFIED, FailureClass

TITLE: Final = 90  # characters
EXAMPLE: Final = 300  # characters of a line that an example shows, where those are enough to match
NEAREST: Final = 3  # classes that are named where none stands out

_FOLDERS: Final = {"driver": "hardware", "framework": "runtime"}  # where rules of a layer are filed, if not under its own name
_BY_KIND: Final = {"kernel": "host", "fabric": "hardware", "scheduler": "scheduler", "agent": "runtime", "control": "scheduler"}
_WINDOWS: Final = (MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR, 24 * HOUR)


@frozen
class Draft:
    """A drafted rule.

    Args:
        id: its path.
        text: the rule file.
        trigger: the name of its trigger.
        innocent: ranks that only reported, so that a case can say that they must not be accused.
        notes: what was inferred, and what is left to say.
    """

    id: str
    text: str
    trigger: str
    innocent: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def draft(
    marks: Sequence[Mark],
    shipped: Shipped,
    *,
    healthy: Sequence[str] = (),
    name: str = "",
    cls: str = "",
    taken: frozenset[str] = frozenset(),
) -> Draft:
    """Return the draft of a rule over chosen records.

    Args:
        marks: the records, at least one.
        shipped: what the shipped pack knows.
        healthy: messages that the rule must not match.
        name: the rule's path; chosen by its class and words when empty.
        cls: its class; proposed when empty.
        taken: paths of rules that exist already.

    Raises:
        UsageError: nothing tells a healthy message from the chosen ones, the lines are of too many shapes, or hold no words.
    """
    trigger, *others = signals(marks, shipped)
    notes: list[str] = []
    trigger, unlike = sharpened(trigger, healthy)
    known = shipped.started(frozenset[str]().union(*(mark.events for mark in trigger.marks)))
    chosen, why = _class(trigger, known, shipped, cls)
    notes.append(f"class {chosen}: {why}")
    if known is not None:
        notes.append(f"the shipped rule {known.qualified} starts on this line too: say in `see` how this one differs")
    found = shipped.taxonomy.get(chosen)
    path = name or _path(trigger, found, shipped, taken)
    blame = _blame(trigger, found)
    if blame == "none":
        notes.append(f"blames nobody: the class does not say that who prints this line is at fault{_maybe(trigger)}")
    text = _text(path, chosen, trigger, others, blame, unlike)
    reporters = {s.actor.rank for s in others if s.shared and s.actor.rank is not None} - {trigger.actor.rank}
    return Draft(path, text, trigger.name, tuple(sorted(r for r in reporters if r is not None)), tuple(notes))


# ------------------------------------------------------------------ class, path, blame


def _class(trigger: Signal, known: Rule | None, shipped: Shipped, cls: str) -> tuple[str, str]:
    """Return the class of the rule and why it is that."""
    if cls:
        return cls, "as asked"
    if known is not None:
        return known.cls, f"that of {known.qualified}, which starts on this line too"
    nearest = shipped.vocabulary.nearest(trigger.marks[0].record.message)
    if nearest is not None:
        return nearest.cls, f"proposed for the words {', '.join(nearest.words)}"
    ranked = [one.cls for one in shipped.vocabulary.ranked(trigger.marks[0].record.message) if one.cls != UNCLASSIFIED][:NEAREST]
    like = f" (the nearest are {', '.join(ranked)})" if ranked else ""
    return UNCLASSIFIED, f"no class stands out{like}; name one, or one of your own in taxonomy.toml"


def _path(trigger: Signal, cls: FailureClass | None, shipped: Shipped, taken: frozenset[str]) -> str:
    if cls is not None and cls.id != UNCLASSIFIED:
        folder = shipped.folder(cls.id) or _FOLDERS.get(cls.layer, cls.layer)
    else:
        kinds = {mark.record.line.kind for mark in trigger.marks} - {None}
        folder = next((_BY_KIND[kind] for kind in sorted(k for k in kinds if k in _BY_KIND)), "application")
    return unique(f"{folder}.{slug(trigger.pattern, 3)}", set(taken))


def _blame(trigger: Signal, cls: FailureClass | None) -> str:
    """Return whom the rule blames, as it is written; `none` where the class does not say that the line names the culprit."""
    name = trigger.name
    captured = {part.name: part.type for part in template(trigger) if part.type}
    if cls is None or cls.role == "symptom":
        return "none"
    if cls.accuse == "device_in_message" and "device" in captured:
        return f"device {name}.device, host {name}.host likely"
    if cls.accuse == "host_in_message":
        host = next((field for field, kind in captured.items() if kind in {"host", "address"}), None)
        return f"host {name}.{host} likely" if host else "none"
    if cls.accuse == "printer" and trigger.actor.rank is not None:
        return f"rank {name}.rank likely"
    if cls.accuse == "printer" and trigger.actor.host is not None:
        return f"host {name}.host likely"
    return "none"


def _maybe(trigger: Signal) -> str:
    """Return how to blame the printer, for an author who knows that it is at fault."""
    role = next((role for role in ("rank", "host") if getattr(trigger.actor, role) is not None), None)
    return f"; if you know that it is, write `blame {role} {trigger.name}.{role}`" if role else ""


# ------------------------------------------------------------------ the text


def _text(path: str, cls: str, trigger: Signal, others: Sequence[Signal], blame: str, unlike: Sequence[str]) -> str:
    shared = [s for s in others if s.shared]
    own = [trigger, *(s for s in others if not s.shared)]
    uses = [_use(s) for s in shared]
    causes = list(dict.fromkeys(s.effect for s in shared if s.effect != cls))
    lines = ["language 1", *([f"use {', '.join(uses)}"] if uses else []), "", f"rule {path} {{"]
    lines += [f'  title   "{_title(trigger)}"', f"  class   {cls}", "  status  draft"]
    lines += [f"  causes  {', '.join(causes)}"] if causes else []
    for signal in own:
        lines += ["", *(f"  {line}" for line in _declared(signal, unlike if signal is trigger else ()))]
    lines += ["", "  per job within 2h", f"  require {trigger.name}"]
    lines += [f"  confirm {signal.name}  {_relation(signal, trigger)}" for signal in others]
    lines += ["", f"  blame   {blame}", f"  onset   {trigger.name}"]
    reporters = [
        f"{signal.name}.rank" for signal in shared if signal.actor.rank is not None or signal.marks[0].record.line.kind == "rank"
    ]
    lines += [f"  reporter {', '.join(reporters)}"] if reporters else []
    return "\n".join([*lines, "}", ""])


def _use(signal: Signal) -> str:
    """Return a shared event as `use` names it, under another name where its own is taken."""
    assert signal.shared is not None
    place, _, name = signal.shared.id.partition(":")[2].partition("#")
    full = place if place.endswith(f".{name}") else f"{place}.{name}"
    return full if signal.name == name else f"{full} as {signal.name}"


def _title(trigger: Signal) -> str:
    """Return the message with its variable parts left out, as the headline of an incident."""
    text = "".join("…" if part.type else part.text for part in template(trigger))
    text = re.sub(r"\s+(?=[:,;.])", "", re.sub(r"\s+", " ", re.sub(r"(?:…[\s,]*){2,}", "… ", text))).strip(" :,;-")
    text = text if len(text) <= TITLE else f"{text[: TITLE - 1].rstrip()}…"
    if re.match(r"[a-z]+(?:\s|$)", text):  # a word, not the name of a driver or module
        text = text[0].upper() + text[1:]
    return generalise.escaped(text).replace("{", "(").replace("}", ")")


def _declared(signal: Signal, unlike: Sequence[str]) -> list[str]:
    """Return an event with its examples; severity and kind as far as the examples, pasted bare, are read as such."""
    pattern = generalise.source(template(signal))
    kinds = sorted({mark.record.line.kind for mark in signal.marks if mark.record.line.kind})
    inside = f" in {', '.join(kinds)}" if kinds and all(m.record.line.kind for m in signal.marks) else ""
    floor = f" {SEVERITIES[signal.severity]}" if signal.severity >= SEVERITIES.index("warning") else ""
    records = [mark.record for mark in signal.marks]
    likes: list[str] = []
    for given in (floor, ""):
        tried = [f"event probed{given}{inside} {pattern}"]
        likes = [next((text for text in _examples(r) if not probe(tried, text)), "") for r in records]
        if all(likes):
            floor = given
            break
    lines = [f"event {signal.name}{floor}{inside} {pattern}"]
    lines += [f'  like   "{generalise.escaped(text)}"' for text in dict.fromkeys(filter(None, likes))]
    return [*lines, *(f'  unlike "{generalise.escaped(text)}"' for text in unlike)]


def _examples(record: Chosen) -> list[str]:
    """Return a record's line as an example, in the forms to try: its message, its beginning alone first, then with its prefix."""
    texts = (record.message[:EXAMPLE], record.message, record.text)
    return ["".join(c if c.isprintable() or c == "\t" else " " for c in text) for text in texts]


# ------------------------------------------------------------------ how the other lines belong to the trigger


def _relation(signal: Signal, trigger: Signal) -> str:
    """Return the conditions and the window of the step that confirms: as the chosen lines relate, with room."""
    return " ".join(filter(None, (_join(signal, trigger), _window(signal, trigger))))


def _join(signal: Signal, trigger: Signal) -> str:
    one, other = signal.actor, trigger.actor
    if one.rank is not None and other.rank is not None:
        return f"where rank {'==' if one.rank == other.rank else '!='} {trigger.name}.rank"
    if one.host is not None and one.host == other.host:
        return f"where host == {trigger.name}.host"
    return ""


def _window(signal: Signal, trigger: Signal) -> str:
    name = trigger.name
    if signal.shared is not None and stalls(signal.shared):
        return f"{STALLED} between {name} - 1m and {name} + 5m"
    if signal.start is None or trigger.start is None:
        return f"after {name}" if signal.marks[0].record.number > trigger.marks[0].record.number else f"before {name}"
    gap = signal.start - trigger.start
    room = format_duration(next((w for w in _WINDOWS if w >= 2 * abs(gap)), 2 * _WINDOWS[-1]))
    if abs(gap) < 10 * SECOND:  # clocks of two hosts may differ by more
        return f"at {name} give {room}"
    return f"within {room} {'after' if gap > 0 else 'before'} {name}"
