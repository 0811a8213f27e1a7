"""One physical line of a log as its prefixes describe it, and what the place of a source tells about all its lines.

Wrappers (launcher tags, journald and CRI envelopes) are peeled; the leaf (c10d, glog, NCCL, Python logging) stays in the text
that patterns see, because its tokens anchor them to the emitter.
"""

from __future__ import annotations

from attrs import field, frozen

from denpex_rules.clock import UNKNOWN, Instant
from denpex_rules.rule import Kind, LogSeverity
from denpex_rules.sighting import NOBODY, Actor


@frozen(cache_hash=True)
class LineFormat:
    """A log format that a user or a plug-in describes.

    Args:
        name: as layouts in coverage show it.
        lines: its lines, each with fields in braces, such as `{time} {host} [{rank}] {level} {text}`.
        kind: the kind of log that it is in front of, where that is known.
        arrival: whether its time says when a line arrived, not when it was written.
        example: a line of it.
    """

    name: str
    lines: tuple[str, ...]
    kind: Kind | None = None
    arrival: bool = False
    example: str = ""


@frozen
class Hints:
    """What a source's name and folder claim: an actor, a kind of log, a clock domain for uptime stamps.

    `process` is true when the place proves that all lines come from one process (a per-rank file): its emitter label is "".
    `wrappers` names the weak wrappers that this source is known to use: their shape matches ordinary text, so they are peeled
    nowhere else. `task_rank` is false where a launcher's task is known to be a whole node, so its number is no rank. `tagged` is
    true where a launcher tags its workers' lines, so that the untagged ones are its own. `formats` are tried in front of all
    others.
    """

    actor: Actor = NOBODY
    kind: Kind | None = None
    domain: str = ""
    process: bool = False
    wrappers: frozenset[str] = frozenset()
    task_rank: bool = True
    tagged: bool = False
    formats: tuple[LineFormat, ...] = ()


NO_HINTS = Hints()


@frozen
class Line:
    """One physical line, peeled.

    `text` is what patterns see: wrappers and ANSI codes gone, leaf kept. `label` tells emitters apart inside a source.
    `head` is false for a line that continues the record before it (a frame of a traceback, a row of a block).
    `repeats` counts lines of other processes that this line stands for. `layout` names wrappers and leaf, outermost first.
    `partial` is true for a piece of a line that a container runtime cut: the stream's next line goes on with it. `body` is where
    the message begins in `text`, behind the leaf.
    """

    text: bytes
    label: str = ""
    actor: Actor = NOBODY
    instant: Instant = UNKNOWN
    severity: LogSeverity | None = None
    kind: Kind | None = None
    head: bool = True
    repeats: int = 0
    layout: tuple[str, ...] = ()
    partial: bool = False
    body: int = field(default=0, eq=False)

    def without_text(self) -> Line:
        """Return what the line tells beside its text."""
        return Line(
            b"",
            self.label,
            self.actor,
            self.instant,
            self.severity,
            self.kind,
            self.head,
            self.repeats,
            self.layout,
            self.partial,
            self.body,
        )
