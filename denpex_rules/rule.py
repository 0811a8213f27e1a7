"""The typed model of a rule: what the parser's tree becomes once names and types are checked. Pure data, no behaviour
beyond small look-ups; compiled Programs hold these classes.

Units: durations and spans are ns. Ranges are closed unless a docstring says half-open.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final, Literal

import attrs
from attrs import field, frozen

from denpex_rules.errors import NOWHERE, Span

LogSeverity = Literal["debug", "info", "warning", "error", "fatal"]
SEVERITIES: Final[tuple[LogSeverity, ...]] = ("debug", "info", "warning", "error", "fatal")

Kind = Literal["rank", "kernel", "agent", "scheduler", "fabric", "control"]
KINDS: Final[tuple[Kind, ...]] = ("rank", "kernel", "agent", "scheduler", "fabric", "control")

Key = Literal["job", "host", "device", "rank", "group"]
KEYS: Final[tuple[Key, ...]] = ("job", "host", "device", "rank", "group")

Level = Literal["failure", "stop", "warning", "info"]
LEVELS: Final[tuple[Level, ...]] = ("failure", "stop", "warning", "info")

Impact = Literal["critical", "major", "minor", "none"]
IMPACTS: Final[tuple[Impact, ...]] = ("critical", "major", "minor", "none")

Status = Literal["draft", "preview", "stable", "deprecated"]
STATUSES: Final[tuple[Status, ...]] = ("draft", "preview", "stable", "deprecated")

Certainty = Literal["certain", "likely"]
CERTAINTIES: Final[tuple[Certainty, ...]] = ("certain", "likely")

Verb = Literal["require", "confirm", "refute", "unless"]
VERBS: Final[tuple[Verb, ...]] = ("require", "confirm", "refute", "unless")

PROGRESS: Final = "lib.progress#"  # in the ids of events that show that a job moves on
ENDING: Final = "lib.ending#finished"  # ends the id of the event that shows that a program's work is done
RESTART: Final = "lib.elastic#restarting"  # ends the id of the event that shows that a launcher starts another attempt
SILENCE: Final = "silence"  # the pseudo event of a step that asks whether an actor said nothing


# ------------------------------------------------------------------ patterns


@frozen
class Capture:
    """A typed hole in a template."""

    name: str
    type: str
    span: Span = field(default=NOWHERE, eq=False)


@frozen
class Template:
    """Literal texts and captures in the order in which they stand."""

    pieces: tuple[str | Capture, ...]
    span: Span = field(default=NOWHERE, eq=False)


@frozen
class Regex:
    """RE2 text; named groups are captures, of the types in `types` (a name left out is `text`)."""

    text: str
    types: tuple[tuple[str, str], ...] = ()
    span: Span = field(default=NOWHERE, eq=False)


@frozen
class Sequence:
    """Parts that occur in this order, without overlap, in one record."""

    parts: tuple[Template | Regex, ...]


@frozen
class Alternative:
    """Sequences that must all occur in one record, in any order."""

    sequences: tuple[Sequence, ...]


@frozen
class Moment:
    """A named instant of an event: its own time plus signed durations (a capture's name or ns)."""

    name: str
    terms: tuple[tuple[int, int | str], ...]
    span: Span = field(default=NOWHERE, eq=False)


@frozen
class Event:
    """A named pattern over one record.

    A record fits when its severity is at least `severity` or unknown, its kind is one of `kinds` or unknown (no kinds: any),
    and one of `alternatives` matches. `identity` marks lines whose actor fields and captures tell who is who.
    """

    id: str
    name: str
    alternatives: tuple[Alternative, ...]
    severity: LogSeverity | None = None
    kinds: tuple[Kind, ...] = ()
    captures: tuple[tuple[str, str], ...] = ()
    moments: tuple[Moment, ...] = ()
    like: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    expensive: bool = False
    identity: bool = False
    span: Span = field(default=NOWHERE, eq=False)

    def capture_type(self, name: str) -> str | None:
        """Return the type name of a capture, None when the event has no such capture."""
        return dict(self.captures).get(name)

    def moment(self, name: str) -> Moment | None:
        """Return the named moment, None when the event has no such moment."""
        return next((m for m in self.moments if m.name == name), None)


# ------------------------------------------------------------------ expressions


@frozen
class Path:
    """`name.field`, or a bare `name` (a `let`, or a field of the step's own event inside `where`)."""

    name: str
    field: str | None = None
    span: Span = attrs.field(default=NOWHERE, eq=False)  # `field` is shadowed here


@frozen
class Constant:
    """A literal value; `base` as in values.CaptureType.base."""

    value: int | float | str
    base: str
    span: Span = field(default=NOWHERE, eq=False)


@frozen
class Call:
    """A typed built-in with its arguments."""

    function: str
    args: tuple[Expression, ...]
    span: Span = field(default=NOWHERE, eq=False)


Expression = Path | Constant | Call

Operator = Literal["==", "!=", "<", "<=", ">", ">="]


@frozen
class Condition:
    """`left op right`; in a step's `where`, a bare name on the left is a field of the step's own event."""

    left: Expression
    operator: Operator
    right: Expression
    span: Span = field(default=NOWHERE, eq=False)


@frozen
class Anchor:
    """An instant: a bound step's time or named moment, plus signed terms (ns, or a path to a captured duration)."""

    step: str
    moment: str = "time"
    terms: tuple[tuple[int, int | Path], ...] = ()
    span: Span = field(default=NOWHERE, eq=False)


@frozen
class Window:
    """The closed interval in which a step's moment must lie; a side that is None is open."""

    lo: Anchor | None = None
    hi: Anchor | None = None
    moment: str = "time"
    span: Span = field(default=NOWHERE, eq=False)


@frozen
class Count:
    """At least `least` sightings (or distinct values of `distinct`), within `span_ns` when it is given."""

    least: int
    distinct: str | None = None
    span_ns: int | None = None
    span: Span = field(default=NOWHERE, eq=False)


@frozen
class Step:
    """One clause over sightings of `event` (an `Event.id`, or SILENCE).

    `name` is what later clauses call it. For silence, `duration` is how long and `window.lo` is when it starts.
    `pick` says which of several candidates is kept: the first (default) or the last.
    """

    verb: Verb
    name: str
    event: str
    where: tuple[Condition, ...] = ()
    window: Window | None = None
    count: Count | None = None
    pick: Literal["first", "last"] = "first"
    duration: int | None = None
    span: Span = field(default=NOWHERE, eq=False)


@frozen
class Let:
    """A named expression, evaluated when the steps that it refers to are bound."""

    name: str
    value: Expression
    span: Span = field(default=NOWHERE, eq=False)


# ------------------------------------------------------------------ report


@frozen
class Role:
    """One part of an accusation: `rank`, `host` or `device` and the expression that gives it."""

    role: Literal["rank", "host", "device"]
    value: Expression
    span: Span = field(default=NOWHERE, eq=False)


@frozen
class Blame:
    """One alternative of `blame`: it applies when its first role has a value (and `when` steps are true).

    `each` accuses the actor of every trigger that may have been the first; without it several such triggers leave the
    initiator undecided. No roles: nobody is accused (`blame none`).
    """

    roles: tuple[Role, ...]
    certainty: Certainty = "certain"
    when: tuple[str, ...] = ()
    each: bool = False
    span: Span = field(default=NOWHERE, eq=False)


@frozen
class LookUp:
    """`first|last|next EVENT [where …] [before|after ANCHOR]`: a sighting found around an anchor, never consumed."""

    pick: Literal["first", "last", "next"]
    event: str
    where: tuple[Condition, ...] = ()
    relation: Literal["before", "after"] | None = None
    anchor: Anchor | None = None
    span: Span = field(default=NOWHERE, eq=False)


@frozen
class Text:
    """A text with `{step.field}` placeholders: literal strings and paths in order."""

    pieces: tuple[str | Path, ...]


@frozen
class Verify:
    """A command that checks the finding, and the host that it runs on."""

    command: Text
    on: Expression | None = None


@frozen
class See:
    """Another rule that this one is confused with, and how to tell them apart."""

    rule: str
    because: str


@frozen
class Rule:
    """One fingerprint. `id` is its path in the pack (`hardware.gpu.fell_off_bus`), `pack` the namespace."""

    id: str
    pack: str
    title: str
    cls: str
    keys: tuple[Key, ...]
    span_ns: int
    steps: tuple[Step, ...]
    summary: str = ""
    impact: Impact = "major"
    level: Level = "failure"
    status: Status = "preview"
    since: str = ""
    tags: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    quiet_ns: int = 600_000_000_000
    lets: tuple[Let, ...] = ()
    blame: tuple[Blame, ...] = ()
    onset: tuple[LookUp | Anchor, ...] = ()
    victims: tuple[Path, ...] = ()
    reporters: tuple[Path, ...] = ()
    why: Text = Text(())
    do: tuple[Text, ...] = ()
    verify: tuple[Verify, ...] = ()
    see: tuple[See, ...] = ()
    references: tuple[str, ...] = ()
    span: Span = field(default=NOWHERE, eq=False)

    @cached_property
    def required(self) -> tuple[Step, ...]:
        """The required steps in written order; the first is the trigger."""
        return tuple(s for s in self.steps if s.verb == "require")

    @property
    def events(self) -> tuple[str, ...]:
        """The ids of the events that steps and look-ups name, each once, in written order."""
        named = [s.event for s in self.steps if s.event != SILENCE]
        return tuple(dict.fromkeys([*named, *(one.event for one in self.onset if isinstance(one, LookUp))]))

    @cached_property
    def trigger(self) -> Step:
        """The step that starts the fingerprint: the first required one."""
        return self.required[0]

    @cached_property
    def qualified(self) -> str:
        """`pack:path`, as reports show it."""
        return f"{self.pack}:{self.id}"


@frozen
class RuleSet:
    """Rules and the events that they use, by id."""

    rules: tuple[Rule, ...]
    events: tuple[Event, ...]

    def event(self, event_id: str) -> Event:
        """Return an event by id. Raises KeyError."""
        return next(e for e in self.events if e.id == event_id)
