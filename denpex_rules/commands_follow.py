"""`rulecheck scan --follow`: incidents while logs are written, each delivered at least once, over any crash.

What is given is written down before it is printed, and struck out only after: what a crash leaves in between is printed again.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from attrs import define, field, frozen

from denpex_rules import bookmark, console, schema
from denpex_rules.bookmark import Bookmark
from denpex_rules.clock import SECOND, UNITS, parse_duration
from denpex_rules.errors import UsageError
from denpex_rules.finding import SCHEMA, Incident, Report
from denpex_rules.follow import Follower
from denpex_rules.judgement import Options
from denpex_rules.program import Program
from denpex_rules.render import incident_page
from denpex_rules.session import Session

FORMS: Final = ("text", "jsonl")  # those that can be written piece by piece
MILLISECOND: Final = UNITS["ms"]
REST: Final = 1.0  # seconds of rest for each second that judging takes
AFRESH_S: Final = 10.0  # how old the scan in the state may get, where writing it is cheap
SHARE: Final = 20  # seconds between two scans in the state for each second that writing one takes
CALM: Final = 3  # looks without anything new at the end: a file may be in the middle of its rotation

Give = Callable[[Sequence[Incident]], None]


@frozen
class Pace:
    """How files are followed: the pause between two looks, after how long without new lines to end, where the state is kept."""

    poll_ns: int = SECOND
    idle_ns: int | None = None
    state: Path | None = None


def read_pace(poll: str, until_idle: str | None, state: Path | None) -> Pace:
    """Return how files are followed. Raises UsageError for what is no duration."""
    durations = {"--poll": poll, "--until-idle": until_idle}
    read = {name: parse_duration(text) for name, text in durations.items() if text is not None}
    for name, ns in read.items():
        if ns is None or ns < MILLISECOND:
            raise UsageError(f"{name}: {durations[name]!r} is no duration of at least 1ms; write it with its unit, such as 5s")
    return Pace(read["--poll"] or SECOND, read.get("--until-idle"), state)


def follow(logs: Sequence[Path], program: Program, options: Options, pace: Pace, give: Give) -> Report:
    """Follow files until they are idle for long enough, or until SIGINT or SIGTERM; return the report.

    Args:
        logs: files and folders.
        program: the rules.
        options: how logs are read and judged.
        pace: pauses, end, state.
        give: delivers incidents that are new or changed.

    Raises:
        UsageError: a path does not exist, or the state can't be read or written.
    """
    noted, before = bookmark.load(pace.state) if pace.state is not None else (Bookmark(), None)
    session = Session(program, options, given={i.id: i for i in noted.given})
    follower = Follower(logs, session, noted.logs)
    keeper = _Keeper(pace.state, session, follower)
    pending = [i for i in noted.given if i.id in noted.pending]
    if pending:
        give(pending)
    with _stopping() as stop:
        follower.poll()
        if before is not None:
            session.earlier = follower.missing(before)
        keeper.deliver(session.advance(), give)
        _watch(follower, session, keeper, pace, give, stop)
        calm = 0
        while calm < CALM:
            calm = 0 if follower.poll(last=True) else calm + 1
        fresh: list[Incident] = []
        session.on_incident = fresh.append
        keeper.refresh()
        report = session.close()
        keeper.deliver(fresh, give)
        keeper.save(())
    return report


def _watch(follower: Follower, session: Session, keeper: _Keeper, pace: Pace, give: Give, stop: threading.Event) -> None:
    """Look again and again."""
    heard = rested = time.monotonic()
    waiting = False  # bytes were read that were not judged yet
    while not stop.wait(pace.poll_ns / SECOND):
        now = time.monotonic()
        if follower.poll():
            heard, waiting = now, True
        if waiting and now >= rested:
            begun = time.monotonic()
            keeper.deliver(session.advance(), give)
            ended = time.monotonic()
            waiting, rested = False, ended + REST * (ended - begun)
        if pace.idle_ns is not None and now - heard >= pace.idle_ns / SECOND and not waiting:
            return


@define
class _Keeper:
    """Writes the state: before incidents are delivered, and now and then."""

    path: Path | None
    session: Session
    follower: Follower
    _scan: str = field(default="", init=False)
    _again: float = field(default=0.0, init=False)  # when the scan in the state is to be made anew

    def deliver(self, fresh: Sequence[Incident], give: Give) -> None:
        """Write down what is about to be given, then give it."""
        self.save(tuple(i.id for i in fresh))
        if fresh:
            give(fresh)

    def save(self, pending: tuple[str, ...]) -> None:
        """Write where the follower stands; `pending` are the ids of incidents that are not delivered yet."""
        if self.path is None:
            return
        if time.monotonic() >= self._again:
            self.refresh()
        where = Bookmark(self.follower.marks(), tuple(self.session.given.values()), pending)
        bookmark.save(where, self._scan, self.path)

    def refresh(self) -> None:
        """Take what was sighted so far into the state."""
        if self.path is None:
            return
        begun = time.monotonic()
        self._scan = bookmark.scan_text(self.session.snapshot())
        ended = time.monotonic()
        self._again = ended + max(AFRESH_S, SHARE * (ended - begun))


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """Turn the first SIGINT or SIGTERM into an event; a second one does what it always does."""
    stop = threading.Event()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, _frame: FrameType | None) -> None:
        stop.set()
        signal.signal(number, handlers[signal.Signals(number)])

    for number in handlers:
        signal.signal(number, note)
    try:
        yield stop
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def give_text(incidents: Sequence[Incident]) -> None:
    """Print incidents as text."""
    for incident in incidents:
        console.show(incident_page(incident))


def give_lines(incidents: Sequence[Incident]) -> None:
    """Print incidents as JSON lines, as the report's own form of JSON lines has them."""
    for incident in incidents:
        console.write(schema.dump({"type": "incident", "schema": SCHEMA, **schema.plain(incident)}) + "\n")
