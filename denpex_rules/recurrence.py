"""Who failed first more than once: a device, host or rank that initiates incidents of several attempts, or long apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from denpex_rules.clock import MINUTE, parse_time
from denpex_rules.finding import Incident, Recurrence, Suspect, Who

APART: Final = 10 * MINUTE  # onsets further apart than a rule's usual quiet time are not one failure


def recurrences(incidents: Iterable[Incident]) -> tuple[Recurrence, ...]:
    """Return who failed first in several incidents, the narrowest actor that they share: a device, else a host, else a rank."""
    named: dict[Who, list[Incident]] = defaultdict(list)
    for incident in incidents:
        for who in dict.fromkeys(who for suspect in incident.initiators for who in _parts(suspect)):
            named[who].append(incident)
    found: dict[tuple[str, ...], Recurrence] = {}
    for who, alike in sorted(named.items(), key=lambda item: _breadth(item[0])):
        ids = tuple(i.id for i in sorted(alike, key=lambda i: (i.onset.lo if i.onset else "~", i.id)))
        if len(ids) > 1 and _several(alike) and (who.rank is not None or ids not in found):
            attempts = tuple(sorted({i.attempt for i in alike if i.attempt is not None}))
            found.setdefault((*ids, "rank") if who.rank is not None else ids, Recurrence(who, ids, attempts))
    return tuple(found.values())


def _parts(suspect: Suspect) -> Iterable[Who]:
    """Yield what a suspect names by itself: a device needs its host, since every host has a device of that address."""
    if suspect.host is not None and suspect.device is not None:
        yield Who(host=suspect.host, device=suspect.device)
    if suspect.host is not None:
        yield Who(host=suspect.host)
    if suspect.rank is not None:
        yield Who(rank=suspect.rank)


def _breadth(who: Who) -> tuple[bool, bool, str, int]:
    return (who.rank is not None, who.device is None, who.host or "", who.rank or 0)


def _several(incidents: Sequence[Incident]) -> bool:
    """Whether incidents are of several attempts or, where none is named, begin far apart: one failure may show in two incidents."""
    attempts = {i.attempt for i in incidents} - {None}
    if len(attempts) > 1:
        return True
    onsets = sorted(parse_time(i.onset.lo) for i in incidents if i.onset is not None)
    return len(attempts) == 0 and len(onsets) > 1 and onsets[-1] - onsets[0] > APART
