"""The reasoning of incidents as a page of 80 columns: decisive records in order of time, clauses, candidates, missing facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size

from denpex_rules.clock import SECOND, format_duration, parse_time
from denpex_rules.finding import Considered, Decisive, Interval, Moment, Reasoning, Weighed, Who
from denpex_rules.page import LABEL_WIDTH, Page, neutral
from denpex_rules.render import add_clause, add_missing
from denpex_rules.wording import format_interval, name_actor, name_group

WIDTH: Final = 80
PLACE: Final = 26  # columns of `file:line`
ACTOR: Final = 20  # columns of rank and host
GAP: Final = "  "


def dossier_page(reasonings: Iterable[Reasoning]) -> Page:
    """Return the whole reasoning of incidents, one below the other."""
    page = Page(WIDTH)
    for reasoning in reasonings:
        page.blank()
        _head(page, reasoning)
        page.add("decisive records:", indent=2)
        _table(page, reasoning.timeline, reasoning.incident.onset)
        page.add("rules:", indent=2)
        for weighed in reasoning.rules:
            _rule(page, weighed)
        if reasoning.alternatives:
            page.add("whom the rule blames:", indent=2)
        for one in reasoning.alternatives:
            text = one.text + (f": {one.why}" if one.why else "")
            page.add(text, lead=("applies" if one.applied else "not").ljust(LABEL_WIDTH), indent=4, lead_style="dim")
        page.add("who could have failed first:", indent=2)
        for considered in reasoning.considered:
            _candidate(page, considered)
        add_missing(page, reasoning.missing, 2)
    return page


def _head(page: Page, reasoning: Reasoning) -> None:
    incident = reasoning.incident
    page.add(incident.title, style="bold")
    page.label("incident", f"{incident.id}, {incident.rule}, {incident.outcome}")
    for suspect in incident.initiators:
        page.label("failed first", f"{name_actor(suspect)} ({suspect.certainty})", style="bold red")
    if not incident.initiators:
        page.label("failed first", "undecided" if incident.candidates or reasoning.missing else "nobody is accused")
    page.label("since", format_interval(incident.onset) if incident.onset else "unknown")


# ------------------------------------------------------------------ the table


def _table(page: Page, records: Sequence[Decisive], onset: Interval | None) -> None:
    """Add two rows a record: when, who, where and what it shows; below, its text. The onset stands between the records."""
    days = {day for r in records if (day := _day(r.evidence.instant)) is not None}
    dated = len(days) > 1
    rows = [(_time(r.evidence.instant, dated=dated), _short(r.evidence.actor), _place(r), _shows(r)) for r in records]
    if not rows:
        return
    widths = [max(cell_len(row[i]) for row in rows) for i in range(3)]
    widths[1], widths[2] = min(widths[1], ACTOR), min(widths[2], PLACE)
    if len(days) == 1:
        page.add(next(iter(days)), indent=4, style="dim")
    place = _onset_place(records, onset)
    for number, (record, row) in enumerate(zip(records, rows, strict=True)):
        if number == place:
            _onset_row(page, onset, dated=dated)
        cells = [_cut(row[0], widths[0]), _cut(row[1], widths[1]), _tail(row[2], widths[2]), row[3]]
        line = GAP.join(cells).rstrip()
        page.add(_fit(line, WIDTH - 4), indent=4, style="cyan", wrap=False)
        moments = "".join(f"[{name} {_ago(seconds)}] " for name, seconds in sorted(record.evidence.moments.items()))
        page.add(_fit(moments + record.evidence.text.split("\n")[0], WIDTH - 8), lead="| ", indent=6, lead_style="dim", wrap=False)
    if place == len(records):
        _onset_row(page, onset, dated=dated)


def _onset_place(records: Sequence[Decisive], onset: Interval | None) -> int | None:
    """Return before which record the onset stands: behind all that are not later; None where it has no time."""
    if onset is None:
        return None
    began = parse_time(onset.lo)
    later = (i for i, r in enumerate(records) if r.evidence.instant.lo is None or parse_time(r.evidence.instant.lo) > began)
    return next(later, len(records))


def _onset_row(page: Page, onset: Interval | None, *, dated: bool) -> None:
    if onset is not None:
        page.add(f"{_time(Moment(onset.lo, onset.hi, 'wall'), dated=dated)}{GAP}-- the failure began --", indent=4, style="bold")


def _day(moment: Moment) -> str | None:
    known = moment.lo or moment.hi
    return known.partition("T")[0] if known else None


def _time(moment: Moment, *, dated: bool) -> str:
    """Return a time to the millisecond, with its day where there are several; `~` wider than a second, `<` before, `>` after."""
    known = moment.lo or moment.hi
    if known is None:
        return "no time"
    day, _, clock = known.rstrip("Z").partition("T")
    whole, _, fraction = clock.partition(".")
    text = whole + (f".{fraction[:3]}" if fraction else "")
    mark = ">" if moment.hi is None else "<" if moment.lo is None else ""
    if moment.lo and moment.hi and parse_time(moment.hi) - parse_time(moment.lo) > SECOND:
        mark = "~"
    return mark + (f"{day[5:]} {text}" if dated else text)


def _short(who: Who) -> str:
    if who.rank is not None:
        return f"rank {who.rank}" + (f" {neutral(who.host)}" if who.host else "")
    if who.host is not None:
        return neutral(f"{who.host} {who.device}" if who.device else who.host)
    return neutral(name_actor(who))


def _place(record: Decisive) -> str:
    return f"{neutral(record.evidence.source)}:{record.evidence.line}"


def _shows(record: Decisive) -> str:
    """Return what a record shows: the step of the incident's rule, or the step and the rule that it explains."""
    if record.part != "explained":
        return record.evidence.step
    return f"{record.evidence.step} ({record.rule.rpartition('.')[2]})"


def _ago(seconds: float) -> str:
    return f"{format_duration(round(abs(seconds) * SECOND))} {'earlier' if seconds < 0 else 'later'}"


def _cut(text: str, width: int) -> str:
    """Return a text in exactly so many columns, its end cut off where it is longer."""
    return set_cell_size(_fit(text, width), width)


def _fit(text: str, width: int) -> str:
    """Return a text in at most so many columns."""
    text = neutral(text)
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _tail(text: str, width: int) -> str:
    """Return a path in exactly so many columns, its begin cut off where it is longer: its end tells more."""
    while cell_len(text) > width:
        text = "…" + text[2:]
    return set_cell_size(text, width)


# ------------------------------------------------------------------ rules and candidates


def _rule(page: Page, weighed: Weighed) -> None:
    times = f", {weighed.count:,} times" if weighed.count > 1 else ""
    text = f"{weighed.rule} ({weighed.outcome}{times}): {weighed.why}"
    page.add(text, lead=weighed.stands.ljust(LABEL_WIDTH), indent=4, lead_style="bold")
    if weighed.stands in {"root", "explained"}:
        for clause in weighed.clauses:
            add_clause(page, clause, 6)


def _candidate(page: Page, considered: Considered) -> None:
    one = considered.actors.count == 1
    name = name_actor(considered.actors.actors[0]) if one else name_group(considered.actors)
    page.add(name, lead=considered.stands.ljust(LABEL_WIDTH), indent=4, lead_style=_STANDS[considered.stands])
    for lead, reasons in (("for: ", considered.speaks_for), ("against: ", considered.speaks_against)):
        for reason in reasons:
            page.add(reason, lead=lead, indent=4 + LABEL_WIDTH, lead_style="dim")


_STANDS: Final = {"initiator": "bold red", "possible": "bold yellow", "rejected": "dim"}
