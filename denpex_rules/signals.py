"""Chosen records as the events that a drafted rule is made of: which are of one shape, which starts the rule, what each matches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from attrs import evolve, field, frozen

from denpex_rules import generalise, library
from denpex_rules.compiler import miss
from denpex_rules.errors import RuleError, UsageError
from denpex_rules.excerpt import Chosen
from denpex_rules.generalise import Part
from denpex_rules.likeness import Vocabulary
from denpex_rules.pattern import compile_event
from denpex_rules.program import Program
from denpex_rules.rule import SEVERITIES, Event, Rule
from denpex_rules.sighting import NOBODY, Actor
from denpex_rules.taxonomy import Taxonomy

MOST_EVENTS: Final = 6  # a fingerprint of more lines than these is written by hand
STALLED: Final = "stalled"  # the moment of shared events at which a wait began

_SHARED: Final = ":lib."  # in the ids of events that any rule may use
_LEVEL: Final[Mapping[str | None, int]] = {None: -1, **{name: n for n, name in enumerate(SEVERITIES)}}
# Words that name no failure by themselves.
_PLAIN: Final = frozenset(
    re.findall(
        r"\w+",
        """
        abort aborted caught crash died error exception exit exited failed failure fatal got info job local message process
        rank received runtime status unknown warn warning worker
        """,
    )
)


@frozen
class Mark:
    """One chosen record: the log that it stands in, and the shipped events that were seen on its line."""

    log: str
    record: Chosen
    events: frozenset[str] = frozenset()


@frozen
class Shipped:
    """What the shipped pack knows: its rules, compiled, and the classes that a rule may name."""

    program: Program
    taxonomy: Taxonomy
    vocabulary: Vocabulary = field(repr=False)

    def symptom(self, events: Iterable[str]) -> tuple[Event, Rule] | None:
        """Return the shared event among these that shows a symptom, and the rule of that symptom; None where there is none."""
        effects = {c.id for c in self.program.classes if c.role == "symptom"}
        rules = {rule.trigger.event: rule for rule in self.program.rules if rule.cls in effects}
        started = next((rules[name] for name in sorted(events) if name in rules and _SHARED in name), None)
        if started is None:
            return None
        known = {event.id: event for event in self.program.events}
        shared = [known[name] for name in sorted(events) if _SHARED in name and (name in rules or stalls(known[name]))]
        return min(shared, key=lambda event: not stalls(event)), started

    def folder(self, cls: str) -> str:
        """Return where the pack files rules of a class, "" where it has none."""
        return next((rule.id.partition(".")[0] for rule in self.program.rules if rule.cls == cls), "")

    def started(self, events: Iterable[str]) -> Rule | None:
        """Return the first shipped rule that one of these events starts, None where none does."""
        seen = set(events)
        return next((rule for rule in self.program.rules if rule.trigger.event in seen), None)


def stalls(event: Event) -> bool:
    """Whether an event tells when its wait began, which says more than when it was printed."""
    return event.moment(STALLED) is not None


@frozen
class Signal:
    """Chosen records of one shape, and the event that they become.

    Args:
        name: what the event is called in the rule.
        marks: the records.
        pattern: what they have in common.
        shared: the event of the shipped pack that they are; None for an event of the rule's own.
        effect: the class of the symptom that the shared event shows.
        whole: whether the event's template says all of the pattern, however long it is.
    """

    name: str
    marks: tuple[Mark, ...]
    pattern: tuple[Part, ...] = ()
    shared: Event | None = None
    effect: str = ""
    whole: bool = False

    @property
    def actor(self) -> Actor:
        """Who printed the records, where they agree; what differs is unknown."""
        actors = [mark.record.line.actor for mark in self.marks]
        first = actors[0]
        same = {name: getattr(first, name) for name in ("rank", "host", "device") if len({getattr(a, name) for a in actors}) == 1}
        return evolve(NOBODY, **same)

    @property
    def severity(self) -> int:
        """The least severity of the records, as a number; -1 where one's is unknown."""
        return min(_LEVEL[mark.record.line.severity] for mark in self.marks)

    @property
    def start(self) -> int | None:
        """When the first record was printed, in ns; None where its line has no stamp."""
        instants = [mark.record.line.instant for mark in self.marks]
        return min((i.lo for i in instants if i.known), default=None)


# ------------------------------------------------------------------ which lines belong together


def signals(marks: Sequence[Mark], shipped: Shipped) -> list[Signal]:
    """Return the signals, the trigger first, then by time."""
    known = [(mark, shipped.symptom(mark.events)) for mark in marks]
    if all(found for _, found in known):  # symptoms alone: the rule is about the first of them
        known = [(mark, None) for mark, _ in known]
    groups: list[list[Mark]] = []
    symptoms: dict[str, tuple[Event, str, list[Mark]]] = {}
    for mark, found in known:
        if found is not None:
            symptoms.setdefault(found[0].id, (found[0], found[1].cls, []))[2].append(mark)
            continue
        message = generalise.parts(mark.record.message)
        home = next((g for g in groups if generalise.alike(generalise.parts(g[0].record.message), message)), None)
        groups.append([mark]) if home is None else home.append(mark)
    if len(groups) + len(symptoms) > MOST_EVENTS:
        raise UsageError(
            f"the chosen lines are of {len(groups) + len(symptoms)} shapes; choose at most {MOST_EVENTS} that tell the failure"
        )
    taken: set[str] = set()
    own = [_own(group, taken) for group in groups]
    shared = [Signal(unique(event.name, taken), tuple(group), (), event, effect) for event, effect, group in symptoms.values()]
    error = SEVERITIES.index("error")
    trigger = min(own, key=lambda s: (s.severity < error, s.start is None, s.start or 0))
    rest = sorted((s for s in (*own, *shared) if s is not trigger), key=lambda s: (s.start is None, s.start or 0))
    return [trigger, *rest]


def _own(group: Sequence[Mark], taken: set[str]) -> Signal:
    first = group[0].record
    whole = generalise.generalise([generalise.parts(mark.record.message) for mark in group])
    signal = Signal("", tuple(group), whole)
    if not generalise.words(whole):
        raise UsageError(f"{group[0].log}:{first.number}: this line has no word to know it by: {first.message[:80]}")
    return evolve(signal, name=unique(slug(whole, 2), taken))


def unique(name: str, taken: set[str]) -> str:
    """Return a name, with a number where it is taken; it is taken from now on."""
    free = name if name not in taken else next(f"{name}_{n}" for n in range(2, 2 + len(taken) + 1) if f"{name}_{n}" not in taken)
    taken.add(free)
    return free


def slug(pattern: Sequence[Part], count: int) -> str:
    """Return a name of the first telling words of a pattern. It has an underscore, so no word of the language is like it."""
    words = list(dict.fromkeys(generalise.words(pattern)))
    telling = [word for word in words if word not in _PLAIN and not word.endswith(("_error", "_exception"))] or words
    name = "_".join(telling[:count])[:40].strip("_")
    return name if "_" in name else f"{name}_seen"


# ------------------------------------------------------------------ what a healthy line must not be


def template(signal: Signal) -> tuple[Part, ...]:
    """Return a signal's pattern as its event has it: cut where it has said enough, each hole named."""
    limits = {"holes": generalise.LONGEST, "fixed": generalise.LONGEST} if signal.whole else {}
    return generalise.named(generalise.trimmed(signal.pattern, **limits), signal.actor)


def sharpened(signal: Signal, healthy: Sequence[str]) -> tuple[Signal, tuple[str, ...]]:
    """Return the signal, with as few more fixed texts as keep healthy messages out, and those that are like it."""
    own = generalise.parts(signal.marks[0].record.message)
    unlike = tuple(dict.fromkeys(one for one in healthy if generalise.alike(own, generalise.parts(one))))
    if not any(_matches(signal, one) for one in healthy):
        return signal, unlike
    for candidate in _sharper(signal):
        if all(_matches(candidate, mark.record.message) for mark in signal.marks) and not any(
            _matches(candidate, h) for h in healthy
        ):
            return candidate, unlike
    line = next(one for one in healthy if _matches(signal, one))
    raise UsageError(f"nothing tells this healthy line from the chosen ones: {line[:200]}")


def _sharper(signal: Signal) -> Iterator[Signal]:
    """Give ever sharper patterns: the whole message, then with holes filled by their text, plain numbers and words first."""
    signal = evolve(signal, whole=True)
    yield signal
    holes = [n for n, part in enumerate(signal.pattern) if part.type and part.type not in {generalise.GAP, generalise.TIME}]
    holes.sort(key=lambda n: (signal.pattern[n].known and signal.pattern[n].type != "word", n))

    def filled(which: Iterable[int]) -> Signal:
        chosen = set(which)
        return evolve(signal, pattern=tuple(Part(p.text) if n in chosen else p for n, p in enumerate(signal.pattern)))

    yield from (filled([n]) for n in holes)
    yield from (filled(holes[: n + 1]) for n in range(1, len(holes)))


def _matches(signal: Signal, message: str) -> bool:
    return not probe(_event(signal), message)


def probe(lines: Sequence[str], example: str) -> str:
    """Return why the event that these lines declare does not match an example, "" when it does."""
    text = "\n".join(["language 1", *lines])
    try:
        event = library.load_text(text).events
    except RuleError as error:
        raise UsageError(f"the chosen lines make no pattern: {error.diagnostics[0].message}") from error
    return miss(compile_event(next(e for e in event if e.id.endswith("#probed"))), example)


def _event(signal: Signal) -> list[str]:
    """Return a signal's pattern as a file with one event, to try it."""
    return [f"event probed {generalise.source(template(signal))}"]
