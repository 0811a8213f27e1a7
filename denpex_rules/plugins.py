"""Doors for other packages: entry-point groups, loaded once and checked for the promised shape.

Groups: `denpex_rules.packs` (rule folders), `.types` (capture types), `.predicates` (boolean functions for conditions),
`.formats` (each a `LineFormat`) and `.renderers` (report renderers). The entry point's name is the name under which rules and
command lines know it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from attrs import frozen

from denpex_rules.errors import PluginError
from denpex_rules.functions import FUNCTIONS, Signature
from denpex_rules.record import LineFormat
from denpex_rules.values import BUILTIN, CaptureType, Value

PACKS: Final = "denpex_rules.packs"
TYPES: Final = "denpex_rules.types"
FORMATS: Final = "denpex_rules.formats"
PREDICATES: Final = "denpex_rules.predicates"
RENDERERS: Final = "denpex_rules.renderers"
GROUPS: Final = (PACKS, TYPES, FORMATS, PREDICATES, RENDERERS)


@frozen
class Predicate:
    """A typed boolean function that rules may call as a condition: `where known_good(host)`.

    `signature.result` is "bool". `check` is pure: it gets the argument values in order and returns a bool; it is not called
    when an argument is unknown (the condition is then undetermined). It must not raise.
    """

    signature: Signature
    check: Callable[..., bool]


def _pack(name: str, loaded: object) -> Path:
    if isinstance(loaded, ModuleType):
        places = list(getattr(loaded, "__path__", []))
        folder = Path(places[0]) if places else None
    else:
        folder = Path(str(loaded())) if callable(loaded) else None
    if folder is None or not folder.is_dir():
        raise PluginError(f"the rule pack `{name}` is neither a package nor a function that gives an existing folder")
    return folder


def _type(name: str, loaded: object) -> CaptureType:
    if not isinstance(loaded, CaptureType):
        raise PluginError(f"the capture type `{name}` is a {type(loaded).__name__}, not a CaptureType")
    if loaded.name != name or name in BUILTIN:
        raise PluginError(f"the capture type `{name}` needs a name of its own, the same as its entry point")
    return loaded


def _predicate(name: str, loaded: object) -> Predicate:
    if not isinstance(loaded, Predicate):
        raise PluginError(f"the predicate `{name}` is a {type(loaded).__name__}, not a Predicate")
    if loaded.signature.name != name or name in FUNCTIONS or loaded.signature.result != "bool":
        raise PluginError(f"the predicate `{name}` needs a name of its own, the same as its entry point, and the result bool")
    return loaded


def _format(name: str, loaded: object) -> LineFormat:
    if not isinstance(loaded, LineFormat):
        raise PluginError(f"the log format `{name}` is a {type(loaded).__name__}, not a LineFormat")
    if loaded.name != name:
        raise PluginError(f"the log format `{name}` needs the same name as its entry point, not `{loaded.name}`")
    return loaded


def _function(name: str, loaded: object) -> object:
    if not callable(loaded):
        raise PluginError(f"the plug-in `{name}` can't be called")
    return loaded


_SHAPES: Final[Mapping[str, Callable[[str, object], object]]] = {
    PACKS: _pack,
    TYPES: _type,
    FORMATS: _format,
    PREDICATES: _predicate,
    RENDERERS: _function,
}


@cache
def _installed() -> Any:
    """Return the entry points of all groups; to look through what is installed takes long, so it is done once."""
    return metadata.entry_points()


def entry_points(group: str) -> Iterable[EntryPoint]:
    """Return the entry points of a group."""
    found: Iterable[EntryPoint] = _installed().select(group=group)
    return found


@cache
def load(group: str) -> Mapping[str, object]:
    """Return what the installed packages offer in a group, by name.

    Args:
        group: one of `GROUPS`.

    Raises:
        PluginError: an entry point can't be loaded, has the wrong shape, or two have one name.
    """
    shape = _SHAPES[group]
    found: dict[str, object] = {}
    for point in sorted(entry_points(group=group), key=lambda p: p.name):
        if point.name in found:
            raise PluginError(f"two packages offer `{point.name}` in {group}")
        found[point.name] = shape(point.name, _import(point))
    return found


def _import(point: EntryPoint) -> object:
    try:
        return point.load()
    except Exception as error:  # a plug-in may raise anything while it is imported
        raise PluginError(f"the plug-in `{point.name}` ({point.value}) can't be loaded: {error}") from error


def capture_types() -> Mapping[str, CaptureType]:
    """Return the built-in capture types and those of plug-ins, by name. Raises PluginError."""
    own = {n: t for n, t in load(TYPES).items() if isinstance(t, CaptureType)}
    return {**BUILTIN, **own}


def predicates() -> Mapping[str, Predicate]:
    """Return the predicates of plug-ins, by name. Raises PluginError."""
    return {n: p for n, p in load(PREDICATES).items() if isinstance(p, Predicate)}


def line_formats() -> Mapping[str, LineFormat]:
    """Return the log formats of plug-ins, by name. Raises PluginError."""
    return {n: f for n, f in load(FORMATS).items() if isinstance(f, LineFormat)}


def apply(predicate: Predicate, arguments: tuple[Value, ...]) -> bool:
    """Return what a predicate says about known values. Raises PluginError when it fails or returns no bool."""
    try:
        answer = predicate.check(*arguments)
    except Exception as error:  # a plug-in may raise anything
        raise PluginError(f"the predicate `{predicate.signature.name}` failed: {error}") from error
    if not isinstance(answer, bool):
        raise PluginError(f"the predicate `{predicate.signature.name}` returned {answer!r}, not a bool")
    return answer
