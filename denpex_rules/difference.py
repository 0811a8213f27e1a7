"""What a report says other than a case: missed and extra, nothing else, with the lines of evidence that make the difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from denpex_rules.cases import Accused, Case, parse_onset
from denpex_rules.clock import parse_time
from denpex_rules.finding import Evidence, Incident, Report, Suspect
from denpex_rules.wording import name_actor

SHOWN: Final = 8  # lines of evidence of one finding that are shown
LONGEST: Final = 200  # characters of one line that are shown


def compare(case: Case, report: Report) -> Iterator[str]:
    """Give every difference between a report and what the case says: what was missed and what is extra, nothing else."""
    expected = case.expected
    if expected.verdict is not None and report.verdict != expected.verdict:
        yield f"verdict: expected {expected.verdict}, got {report.verdict}"
    accusations = [(incident, suspect) for incident in _flatten(report.incidents) for suspect in incident.initiators]
    for incident, suspect in accusations:
        if any(innocent.fits(suspect) for innocent in expected.innocent):
            yield f"innocent, but accused by {incident.rule}: {_suspect(suspect)}"
    found = of_rule(report, expected.rule)
    if expected.outcome == "quiet":
        for incident in found:
            yield f"extra: {_title(incident)}"
        return
    if not found:
        yield f"missed: no finding of {expected.rule}; the report is {_brief(report)}"
        return
    closest, *others = _by_closeness(case, found)
    yield from _compare_incident(case, closest)
    if expected.initiators is not None:
        strangers = dict.fromkeys(s for i in others for s in i.initiators if not any(a.fits(s) for a in expected.initiators))
        yield from (f"initiator extra, in another finding of the rule: {_suspect(s)}" for s in strangers)


def _by_closeness(case: Case, found: Iterable[Incident]) -> list[Incident]:
    return sorted(found, key=lambda incident: len(list(_compare_incident(case, incident))))


def _compare_incident(case: Case, incident: Incident) -> Iterator[str]:
    expected = case.expected
    if incident.outcome != expected.outcome:
        yield f"outcome: expected {expected.outcome}, got {incident.outcome}"
    if expected.initiators is not None:
        yield from _compare_initiators(expected.initiators, incident.initiators)
    if expected.first is not None:
        first = _at(case, incident.evidence[0]) if incident.evidence else "no evidence"
        if first != expected.first:
            yield f"first evidence: expected {expected.first}, got {first}"
    if expected.evidence is not None:
        given = [_at(case, one) for one in incident.evidence]
        yield from (f"evidence missed: {place}" for place in expected.evidence if place not in given)
        yield from (f"evidence extra: {place}" for place in dict.fromkeys(given) if place not in expected.evidence)
    if expected.onset is not None:
        onset = (parse_time(incident.onset.lo), parse_time(incident.onset.hi)) if incident.onset else None
        if onset != parse_onset(expected.onset):
            got = f"{incident.onset.lo}/{incident.onset.hi}" if incident.onset else "unknown"
            yield f"onset: expected {expected.onset}, got {got}"
    if expected.explains is not None:
        yield from _compare_explains(expected.explains, tuple(_flatten(incident.explains)))
    if expected.missing is not None:
        yield from _compare_missing(expected.missing, tuple(fact.fact for fact in incident.missing))


def _compare_initiators(expected: Sequence[Accused], actual: Sequence[Suspect]) -> Iterator[str]:
    left = list(actual)
    for accused in expected:
        match = next((suspect for suspect in left if accused.fits(suspect)), None)
        if match is None:
            yield f"initiator missed: {accused.label()}"
        else:
            left.remove(match)
    for suspect in left:
        yield f"initiator extra: {_suspect(suspect)}"


def _compare_explains(expected: Sequence[str], actual: Sequence[Incident]) -> Iterator[str]:
    for name in expected:
        if not any(name in _names(incident) for incident in actual):
            yield f"explains missed: {name}"
    for incident in actual:
        if not _names(incident) & set(expected):
            yield f"explains extra: {incident.rule}"


def _compare_missing(expected: Sequence[str], actual: Sequence[str]) -> Iterator[str]:
    for part in expected:
        if not any(part in fact for fact in actual):
            yield f"missing fact not reported: {part}"
    if not expected:
        for fact in actual:
            yield f"missing fact extra: {fact}"


def wrong_accusations(case: Case, report: Report) -> Iterator[str]:
    """Give the reasons of each accusation that the case does not expect."""
    expected, own = case.expected, of_rule(report, case.expected.rule)
    for incident in _flatten(report.incidents):
        for suspect in incident.initiators:
            stranger = expected.initiators is not None and not any(a.fits(suspect) for a in expected.initiators)
            innocent = any(a.fits(suspect) for a in expected.innocent)
            if suspect.reasons and (innocent or (stranger and incident in own)):
                yield f"{_suspect(suspect)} is accused by {incident.rule}: {'; '.join(suspect.reasons)}"


# ------------------------------------------------------------------ evidence, line by line


def evidence_difference(case: Case, report: Report) -> tuple[str, ...]:
    """Return the lines of evidence that were wanted and not given (`- file:line  text`), and given and not wanted (`+ …`).

    Where a case says nothing about evidence, what is extra is that of findings that should not be; of many lines, the first few.
    """
    expected = case.expected
    found = of_rule(report, expected.rule)
    if expected.outcome == "quiet":
        return tuple(_signed("+", _at(case, e), e.text) for incident in found for e in incident.evidence[:SHOWN])
    wanted = list(expected.evidence or ((expected.first,) if expected.first is not None else ()))
    if not wanted:
        return ()
    given = {_at(case, e): e.text for incident in _by_closeness(case, found)[:1] for e in incident.evidence}
    if expected.evidence is None:  # only the first line is pinned
        given = dict(islice(given.items(), 1))
    missed = [_signed("-", place, _line(case, place)) for place in wanted if place not in given]
    return (*missed, *(_signed("+", place, text) for place, text in given.items() if place not in wanted))


def _signed(sign: str, place: str, text: str) -> str:
    return f"{sign} {place}  {text if len(text) <= LONGEST else text[: LONGEST - 1] + '…'}".rstrip()


def _line(case: Case, place: str) -> str:
    """Return the text of `file:line`, "" where the file is not plain text of the case's own or has no such line."""
    name, _, number = place.rpartition(":")
    path = case.folder / name
    if path not in case.logs or not number.isdecimal():
        return ""
    with Path(path).open(encoding="utf-8", errors="replace") as file:
        return next(islice(file, max(int(number) - 1, 0), None), "").rstrip("\n")


# ------------------------------------------------------------------ words


def _flatten(incidents: Iterable[Incident]) -> Iterator[Incident]:
    for incident in incidents:
        yield incident
        yield from _flatten(incident.explains)


def _names(incident: Incident) -> set[str]:
    return {incident.rule, incident.rule.partition(":")[2], incident.cls}


def of_rule(report: Report, rule: str | None) -> list[Incident]:
    """Return the incidents of one rule, nested ones too; all incidents where no rule is named."""
    return [i for i in _flatten(report.incidents) if rule is None or rule in {i.rule, i.rule.partition(":")[2]}]


def _at(case: Case, evidence: Evidence) -> str:
    """Return `file:line` of one evidence."""
    return f"{relative(case, evidence.source)}:{evidence.line}"


def relative(case: Case, source: str) -> str:
    """Return the name of a source relative to the case's folder."""
    return source.removeprefix(f"{case.folder.as_posix()}/").removeprefix(f"{case.folder.resolve().as_posix()}/")


def _suspect(suspect: Suspect) -> str:
    return f"{name_actor(suspect)} ({suspect.certainty})"


def _title(incident: Incident) -> str:
    accused = "; ".join(map(_suspect, incident.initiators)) or "nobody accused"
    return f"{incident.rule} {incident.outcome}, {accused}"


def _brief(report: Report) -> str:
    return f"{report.verdict} ({'; '.join(map(_title, report.incidents)) or 'no incident'})"
