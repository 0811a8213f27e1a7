"""From one physical line to a `Line`: wrappers peeled, the leaf read, the emitter named.

`peel` keeps nothing between lines: the same line gives the same `Line` wherever it stands. What needs more than one line to
know (a weak wrapper, a launcher whose tasks are nodes) is decided once for a source by `decide` and travels in its hints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from attrs import evolve, frozen

from denpex_rules import envelopes, stamps
from denpex_rules.clock import UNKNOWN, Instant
from denpex_rules.marks import continues, kind_at, own_words, plain, severity_at
from denpex_rules.prefix import CLOCK, MONTH, Format, Prefixes, host_of
from denpex_rules.record import NO_HINTS, Hints, Line
from denpex_rules.rule import Kind
from denpex_rules.sighting import NOBODY, Actor
from denpex_rules.tables import BARE, FORMATS, STAMP, Tables, leads, read_next, read_own, tables_for

DEPTH: Final = 8  # prefixes around one line; more are a quote of a quote

_ANSI: Final = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_BRACKET: Final = ord("[")
_ESCAPE, _RETURN, _BRACE, _BAR, _PAREN, _SLASH, _SEMICOLON, _FIRST_OF_MARK = b"\x1b\r{|(/;\xef"
_SHORT: Final = 4096  # bytes of a line that are searched in no time
_NO_EMITTER: Final = BARE | {"level", "level_bracket"}  # leaves that don't tell who prints
_JSON: Final = b'{"'  # how an object begins, where it isn't a Python dict
_BEFORE_JSON: Final = BARE | {"json"}  # leaves that a JSON record can stand behind, and the one that is its own beginning
_EVERY_LINE: Final = frozenset({"glog", "vllm"})  # loggers that put their prefix on every line of a record

# Where a record can begin inside a line: behind a carriage return, behind a progress bar, at a rank's or c10d's own prefix, at
# a kernel's line that an alert quotes.
_GLUED: Final = re.compile(
    rb"\r+|(?:it/s|s/it)[^\]\r\n]{0,400}\](?=[^\s\r])|"
    rb"(?<= )(?=" + MONTH + rb" [ \d]\d " + CLOCK + rb" [\w.-]{1,255} kernel: \[)|"
    rb"\[(?:rank\d{1,7}\]:|[IWEFC](?:\d{3,4} \d\d:\d\d:\d\d\.\d{9})? [\w./-]{1,100}\.(?:cpp|cc|cu|hpp|h):\d{1,7}\] )",
)
_OPENS: Final = re.compile(rb"\[(?:[IWEFC][\d ]|rank)|kernel: \[")  # c10d's prefix, a rank's, the kernel's
_MARK: Final = b"\xef\xbb\xbf"  # a file's first line may stand behind its byte order mark
# What consoles, pastes and test runners put in front of a line; too weak to be a wrapper where nothing stands behind it.
_QUOTE: Final = re.compile(rb" {0,4}[>*|]{1,2}[ >*|]{0,8}|[A-Za-z0-9][\w.-]{0,64} {1,40}\| |std(?:out|err): ")
_QUOTES: Final = frozenset({b">", b"*", b"s"})  # what a quote without a bar begins with
_GAP: Final = re.compile(rb"[ |]{0,3}")
_TRACEBACK: Final = b"Traceback (most recent call last)"  # also behind a progress bar or a server's own words
_REPEATED: Final = re.compile(rb"\[repeated (\d{1,7})x across cluster\]")


@lru_cache(maxsize=4096)
def _actor(rank: int | None, local_rank: int | None, host: str | None, pid: int | None) -> Actor:
    return Actor(rank=rank, local_rank=local_rank, host=host, pid=pid)


@lru_cache(maxsize=4096)
def _merged(own: Actor, hinted: Actor) -> Actor:
    return own.merge(hinted)


def peel(line: bytes, hints: Hints = NO_HINTS) -> Line:
    """Return one physical line, without its newline, as its prefixes describe it.

    Args:
        line: the bytes between two newlines; anything at all is accepted.
        hints: what the source's place claims; the line's own claims go before them.
    """
    if _ESCAPE in line:
        line = _ANSI.sub(b"", line)
    start = 0
    returns = _RETURN in line
    if returns:
        line = line.rstrip(b"\r")
        start = len(line) - len(line.lstrip(b"\r"))
    if _FIRST_OF_MARK in line and line.startswith(_MARK):
        start = len(_MARK)
    into = Prefixes(hints)
    tables = tables_for(hints.wrappers, hints.formats)
    start = _prefixes(line, start, into, tables)
    if _BRACE in line and _JSON in line:
        line, start = _unwrapped(line, start, into, tables)
        returns = _RETURN in line
    if not into.layout and (_BAR in line or line[:1] in _QUOTES):
        start = _unquoted(line, start, into, tables)
    behind = max(start, into.end)
    if (returns and line.find(b"\r", behind) >= 0) or (_BRACKET in line and _may_be_glued(line, behind)):
        _glued(line, behind, into, tables)
    return _finish(line[start:] if start else line, into.end - start if into.leaf else 0, into, hints)


def _unwrapped(line: bytes, start: int, into: Prefixes, tables: Tables) -> tuple[bytes, int]:
    """Read JSON records that stand behind prefixes; return the innermost message, or the line, and where its text starts."""
    for _ in range(envelopes.DEPTH):
        begin = into.end if into.leaf and into.layout[-1] in BARE else start
        if not line.startswith(_JSON, begin) or (into.leaf and into.layout[-1] not in _BEFORE_JSON):
            break
        unread = into.layout[:-1] if into.leaf and into.layout[-1] == "json" else into.layout
        layout, into.layout = into.layout, unread
        message = envelopes.read(line[begin:] if begin else line, into)
        if message is None:
            into.layout = layout
            break
        line, into.leaf, into.end = _ANSI.sub(b"", message).rstrip(b"\r\n"), False, 0
        start = _prefixes(line, 0, into, tables)
    return line, start


def _prefixes(line: bytes, position: int, into: Prefixes, tables: Tables) -> int:
    """Read prefixes from `position` inwards and return where the text starts: behind the wrappers, at the leaf."""
    start = position
    for _ in range(DEPTH):
        found = read_own(line, position, into, tables) if tables.own else None
        found = found or read_next(line, position, into, tables)
        if found is None:
            break
        form, end = found
        into.layout += (form.name,)
        if form.role == "leaf":
            start, into.leaf, into.end = position, True, end
            if form.name not in BARE:
                break
            position = _GAP.match(line, end).end()  # type: ignore[union-attr]  # it matches the empty text
            into.end = position
        else:
            start = position = end
            into.leaf = False
    return start


def _unquoted(line: bytes, start: int, into: Prefixes, tables: Tables) -> int:
    """Look behind a quote's marks; what stands there counts when it has a time, a rank or a process of its own."""
    quote = _QUOTE.match(line)
    if quote is None:
        return start
    inner = Prefixes(into.hints)
    position = _prefixes(line, quote.end(), inner, tables)
    if inner.stamp is None and inner.rank is None and not inner.process and inner.layout != ("what",):
        return start
    into.adopt(inner)
    return position


def _may_be_glued(line: bytes, start: int) -> bool:
    """Whether a bracket behind `start` can begin a record, or end a progress bar: much faster to see than where it does."""
    if _OPENS.search(line, start) is not None:
        return True
    return _SLASH in line and line.find(b"[", start) >= 0 and (line.find(b"it/s") >= 0 or line.find(b"s/it") >= 0)


def _glued(line: bytes, start: int, into: Prefixes, tables: Tables) -> None:
    """Read the records that are glued into one line behind `start`.

    Where the line has no leaf of its own, the last record that is found gives time, severity and actor. Two ranks in one
    line give none: nothing tells whose words are whose.
    """
    if len(line) > _SHORT:
        tables = tables_for(into.hints.wrappers, into.hints.formats, short=False)
    ranks = {into.rank} - {None}
    last = None
    mark = _GLUED.search(line, start)
    while mark is not None:
        inner = Prefixes(into.hints)
        begin = _prefixes(line, mark.start() if line[mark.start()] == _BRACKET else mark.end(), inner, tables)
        inner.severity = inner.severity or severity_at(line, begin)
        if inner.stamp is not None or inner.severity is not None or inner.rank is not None:
            ranks |= {inner.rank} - {None}
            last = inner
        mark = _GLUED.search(line, max(mark.start() + 1, mark.end(), begin, inner.end))
    if last is None:
        return
    first = into.stamp
    if not into.leaf:
        into.adopt(last)
    if len(ranks) > 1:
        into.rank, into.tag, into.several = None, "", True
        if first is not None and last.stamp is not None and first.comparable(last.stamp):
            into.stamp = evolve(first, lo=min(first.lo, last.stamp.lo), hi=max(first.hi, last.stamp.hi))


def _finish(text: bytes, after: int, into: Prefixes, hints: Hints) -> Line:
    """Put together what the prefixes, the text from `after` on and the source's hints say."""
    open_ended = into.kind != "kernel" and (not into.leaf or into.layout[-1] in _NO_EMITTER)
    ordinary = (open_ended or not into.leaf or into.severity is None) and plain(text, after)
    if ordinary and not into.layout and into.severity is None and not (_names_host(text) or _shows_error(text, hints.kind)):
        return Line(text, "", _who(into, hints.kind, hints), UNKNOWN, None, hints.kind)  # most lines of most logs
    said = _said(text, None if ordinary else after, into) if open_ended and (after or not ordinary) else None
    kind = said or into.kind or (hints.kind if not (into.program and hints.kind == "kernel") else None)
    severity = into.severity
    if said == "kernel" and into.leaf:
        severity = None  # `INFO: task … blocked` is the kernel's word, not a level
    if severity is None and not ordinary:
        severity = severity_at(text, after)
    if severity is None and _shows_error(text, kind):
        severity = "error"
    telling = severity == "error" or (severity is None and _names_host(text))
    if telling and (into.rank is None or into.host is None) and not into.several and kind in (None, "rank"):
        kind = _own_words(text, after, into) or kind
    head = into.whole or not (into.row or _goes_on(text, after, into, ordinary=ordinary))
    repeated = _REPEATED.search(text) if into.process and _BRACKET in text else None
    return Line(
        text,
        "" if hints.process or not into.layout else _label(into, kind, hints),
        _who(into, kind, hints),
        _when(into),
        severity,
        kind,
        head,
        int(repeated[1]) if repeated else 0,
        into.layout,
        into.partial,
        after,
    )


def _goes_on(text: bytes, after: int, into: Prefixes, *, ordinary: bool) -> bool:
    """Whether the line continues the record before it. Behind a logger's own prefix only what is indented does."""
    logger = into.layout[-1] if into.layout else ""
    if into.leaf:
        return logger in _EVERY_LINE and text.startswith(b"  ", after)
    if into.logger and into.logger == logger:
        return text.startswith(b"  ")
    return not ordinary and continues(text, 0)


def _names_host(text: bytes) -> bool:
    """Whether a line without a level may name its printer's host in its own words."""
    return _SEMICOLON in text and text.find(b" ; hostname=") >= 0


def _shows_error(text: bytes, kind: Kind | None) -> bool:
    """Whether a line without a level shows an error somewhere inside: a traceback behind other words, a driver's mark."""
    return (_PAREN in text and text.find(_TRACEBACK) >= 0) or (kind == "kernel" and text.find(b"*ERROR*") >= 0)


def _own_words(text: bytes, after: int, into: Prefixes) -> Kind | None:
    """Take what an error's message says of the process that prints it; what a prefix says goes before."""
    rank, host = own_words(text, after)
    if rank and into.rank is None:
        into.rank = int(rank)  # without a tag: the lines before it are of the same emitter
    if host and into.host is None:
        into.host = host_of(host)
    return "rank" if rank or host else None


def _said(text: bytes, after: int | None, into: Prefixes) -> Kind | None:
    """Return the kind that the emitter's own token gives, at the start or at `after`.

    A rank's prefix or another program's name in front of it wins.
    """
    if into.tee or into.rank is not None:
        return None
    kind = kind_at(text, 0) or (kind_at(text, after) if after else None)
    return None if kind == "kernel" and into.program and into.kind != "kernel" else kind


def _label(into: Prefixes, kind: Kind | None, hints: Hints) -> str:
    """Return what tells the line's emitter from others in its source: the place around, the launcher's task, the process itself."""
    label = into.tee or into.tag or into.process or ("agent" if kind == "agent" and into.leaf and not into.row else "")
    if into.task is None and not into.ident and not into.stream:
        return label
    if into.task is not None:
        task = f"task{into.task}"
        label = f"{task} {label}" if label and (into.tee or not hints.task_rank) else task
    if into.ident:
        label = f"{into.ident} {label}" if label else into.ident
    if into.stream:
        label = f"{label}/{into.stream}" if label else into.stream
    return label


def _who(into: Prefixes, kind: Kind | None, hints: Hints) -> Actor:
    """Return the actor: the line's claims, then the place's. Lines of the host, the agent or the scheduler are no rank's."""
    own = kind in {None, "rank"}
    if own and not into.layout and into.rank is None and into.host is None:
        return hints.actor
    rank = into.rank
    if rank is None and into.task is not None and own and hints.task_rank and not into.tee:
        rank = into.task
    hinted = hints.actor
    if (hinted.rank is not None or hinted.local_rank is not None) and (not own or into.several):
        hinted = evolve(hinted, rank=None, local_rank=None)
    actor = _actor(rank, into.local_rank, into.host, into.pid)
    return actor if hinted is NOBODY else _merged(actor, hinted)


def _when(into: Prefixes) -> Instant:
    stamp = into.stamp
    if stamp is None:
        return UNKNOWN
    return stamp if stamp.year or into.outer is None else stamps.with_year(stamp, into.outer)


# ------------------------------------------------------------------ what a whole source tells

ENOUGH: Final = 5  # lines from which on a weak wrapper can be told from text
ENOUGH_ALIKE: Final = 20  # the same, where all lines carry one label
_TELLING: Final = (b"]:", b"<std", _JSON)  # what a line has that carries a launcher's tag or task, but for weak wrappers


def message(text: bytes) -> bytes:
    """Return what a peeled text says behind its leaf: behind the process's own stamp, level and place in its source."""
    into = Prefixes(NO_HINTS)
    start = _prefixes(text, 0, into, tables_for(frozenset()))
    return text[max(start, into.end) :]


def decide(sample: Iterable[bytes], hints: Hints = NO_HINTS) -> Hints:
    """Return the hints with what only many lines tell: weak wrappers that the source uses, and what its launchers are like.

    A weak wrapper is enabled when at least 90 % of the non-blank lines have it and its labels repeat. A launcher's task is a
    node when its lines carry a local rank, an agent's prefix or a global rank other than the task's number.

    Args:
        sample: the first lines of the source, some 200 of them.
        hints: what the source's place claims.
    """
    lines = [(_ANSI.sub(b"", line) if _ESCAPE in line else line).strip(b"\r\n") for line in sample]
    texts: list[bytes] = []
    used = {form.name for form in FORMATS if form.role == "weak" and _uses(form, lines, texts, hints)}
    if not used <= hints.wrappers:
        hints = evolve(hints, wrappers=hints.wrappers | used)
    whole = b"\n".join(lines)
    if not (hints.wrappers or hints.formats or any(text in whole for text in _TELLING)):
        return evolve(hints, tagged=False) if hints.tagged else hints
    tables = tables_for(hints.wrappers, hints.formats)
    read = [_read(line, hints) for line in lines if not leads(line, tables)]
    node = hints.task_rank and any(_is_node(said) for said in read)
    return evolve(hints, tagged=any(said.into.tee for said in read), task_rank=hints.task_rank and not node)


@frozen
class _Said:
    """What the prefixes of a line say; the line, inside of a JSON record; and where the text behind the wrappers starts in it."""

    into: Prefixes
    line: bytes
    start: int


def _read(line: bytes, hints: Hints) -> _Said:
    into, tables = Prefixes(hints), tables_for(hints.wrappers, hints.formats)
    return _Said(into, *_unwrapped(line, _prefixes(line, 0, into, tables), into, tables))


def _within(said: _Said) -> bytes:
    """Return what stands inside the JSON record that a line is and behind the wrappers that are sure.

    Behind one that tells processes apart there is no launcher's label: what looks like one is text.
    """
    into = said.into
    own = into.tee or into.process or into.rank is not None or into.task is not None
    return said.line if own else said.line[said.start :]


def _uses(form: Format, lines: list[bytes], texts: list[bytes], hints: Hints) -> bool:
    """Whether a source uses a weak wrapper; `texts` are those within its first lines, as far as they were read by now."""
    labels: list[bytes] = []
    others, needs = 0, form.needs
    for text in _texts(lines, texts, hints):
        stem = STAMP.match(text) if form.stem == "iso" else None
        tried = (stem or form.stem != "iso") and (needs is None or needs in text)  # without that byte it has no match
        match = form.pattern.match(text, stem.end() if stem else 0) if tried else None
        if match is not None:
            labels.append(match[1])
            continue
        others += 1
        if others * 10 > len(lines):
            return False
    kinds = len(set(labels))
    enough = ENOUGH if kinds > 1 else ENOUGH_ALIKE
    return len(labels) >= max(enough, others * 9) and kinds * 2 <= len(labels)


def _texts(lines: list[bytes], texts: list[bytes], hints: Hints) -> Iterator[bytes]:
    """Yield what stands within lines, and keep it in `texts`: few lines show that a wrapper is not used."""
    yield from filter(bytes.strip, texts)
    tables = tables_for(hints.wrappers, hints.formats)
    for line in lines[len(texts) :]:
        texts.append(line if leads(line, tables) else _within(_read(line, hints)))
        if texts[-1].strip():
            yield texts[-1]


def _is_node(said: _Said) -> bool:
    into = said.into
    if into.task is None:
        return False
    agent = into.kind == "agent" or _said(said.line[said.start :], 0, into) == "agent"
    return bool(into.tee) or agent or into.rank not in {None, into.task}


_ENDS: Final = frozenset(f.name for f in FORMATS if f.role == "leaf") - BARE


def ends(layout: tuple[str, ...]) -> bool:
    """Whether no further prefix can stand behind those of a layout: they end with a leaf that is more than a stamp."""
    return bool(layout) and layout[-1] in _ENDS


def ends_surely(layout: tuple[str, ...]) -> bool:
    """Whether the same holds whatever the message begins with: a lone level can also be the begin of another leaf."""
    return ends(layout) and layout[-1] not in _NO_EMITTER


def settles(line: Line) -> bool:
    """Whether the prefixes of a line told its kind and severity, so that its message has no say in them."""
    return ends_surely(line.layout) and line.severity is not None


def describe() -> list[tuple[str, str, str]]:
    """Return (name, example, what it gives) of every format, JSON and wrappers first, as the documentation lists them."""
    return [(s.name, s.example, s.gives) for s in envelopes.SHAPES] + [(f.name, f.example, f.gives) for f in FORMATS]
