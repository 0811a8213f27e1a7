"""A scan on the way from one process to another: column by column, since it may have very many sightings.

To send and receive columns and make the objects anew costs a fraction of what pickling each object does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Final

from attrs import fields_dict, frozen

from denpex_rules.clock import Instant
from denpex_rules.sighting import Actor, Draft, Emitter, ErrorLine, Scan, Sighting, SourceCoverage, made

_FIELDS: Final = tuple(fields_dict(Sighting))
_SHARED: Final[dict[str, type]] = {"emitter": Emitter, "instant": Instant, "actor": Actor}  # by the fields that hold them


@frozen
class _Shared:
    """The values of one field that many sightings may share: the columns of the different ones, and each sighting's place there."""

    columns: list[list[Any]]
    places: list[int]


@frozen
class Parcel:
    """A scan, packed: the fields of its sightings, coverage and error records as they are."""

    columns: dict[str, Any]
    sources: tuple[SourceCoverage, ...]
    errors: tuple[ErrorLine, ...]


def pack(scan: Scan) -> Parcel:
    """Return a scan in the form that travels fast."""
    columns: dict[str, Any] = {name: _column(scan.sightings, name) for name in _FIELDS}
    for name, cls in _SHARED.items():
        columns[name] = _shared(columns[name], cls)
    return Parcel(columns, scan.sources, scan.errors)


def unpack(parcel: Parcel) -> Scan:
    """Return the scan that was packed."""
    columns = dict(parcel.columns)
    for name, cls in _SHARED.items():
        columns[name] = _made(columns[name], cls)
    return Scan(tuple(map(made, map(Draft, *columns.values()))), parcel.sources, parcel.errors)


def _column(items: Iterable[Any], name: str) -> list[Any]:
    return [*map(attrgetter(name), items)]


def _shared(items: Sequence[Any], cls: type) -> _Shared:
    different = {id(item): item for item in items}
    places = {key: place for place, key in enumerate(different)}
    return _Shared([_column(different.values(), name) for name in fields_dict(cls)], [places[id(item)] for item in items])


def _made(shared: _Shared, make: Callable[..., Any]) -> list[Any]:
    made = [*map(make, *shared.columns)]
    return [made[place] for place in shared.places]
