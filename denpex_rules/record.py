"""One physical line of a log as its prefixes describe it, and what the place of a source tells about all its lines.

Wrappers (launcher tags, journald and CRI envelopes) are peeled; the leaf (c10d, glog, NCCL, Python logging) stays in the text
that patterns see, because its tokens anchor them to the emitter.
"""

from __future__ import annotations

from attrs import frozen

from denpex_rules.clock import UNKNOWN, Instant
from denpex_rules.rule import Kind, LogSeverity
from denpex_rules.sighting import NOBODY, Actor


@frozen
class Hints:
    """What a source's name and folder claim: an actor, a kind of log, a clock domain for uptime stamps.

    `process` is true when the place proves that all lines come from one process (a per-rank file): its emitter label is "".
    `wrappers` names the weak wrappers that this source is known to use: their shape matches ordinary text, so they are peeled
    nowhere else. `task_rank` is false where a launcher's task is known to be a whole node, so its number is no rank. `tagged` is
    true where a launcher tags its workers' lines, so that the untagged ones are its own.
    """

    actor: Actor = NOBODY
    kind: Kind | None = None
    domain: str = ""
    process: bool = False
    wrappers: frozenset[str] = frozenset()
    task_rank: bool = True
    tagged: bool = False


NO_HINTS = Hints()


@frozen
class Line:
    """One physical line, peeled.

    `text` is what patterns see: wrappers and ANSI codes gone, leaf kept. `label` tells emitters apart inside a source.
    `head` is false for a line that continues the record before it (a frame of a traceback, a row of a block).
    `repeats` counts lines of other processes that this line stands for. `layout` names wrappers and leaf, outermost first.
    `partial` is true for a piece of a line that a container runtime cut: the stream's next line goes on with it.
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
