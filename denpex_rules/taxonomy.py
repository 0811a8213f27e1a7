"""Root-cause classes: what a rule may name as its `class` and in `causes`. Loaded from a pack's taxonomy.toml and checked."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, get_args

from attrs import define, field, frozen

from denpex_rules.errors import Diagnostic, RuleError, Source, Span
from denpex_rules.shipped import shipped

FILE: Final = "taxonomy.toml"
UNCLASSIFIED: Final = "unclassified"  # the class of a drafted rule, until a person says which it is

Layer = Literal["hardware", "driver", "network", "host", "storage", "scheduler", "framework", "application"]
Nature = Literal["cause", "symptom"]
Scope = Literal["rank", "host", "device", "fabric", "job"]
Accuse = Literal[
    "printer", "peer_in_message", "missing_member", "device_in_message", "host_in_message", "pid_in_message", "job", "none"
]

_CLOSED: Final[Mapping[str, tuple[str, ...]]] = {
    "layer": get_args(Layer),
    "role": get_args(Nature),
    "scope": get_args(Scope),
    "accuse": get_args(Accuse),
}
_TEXTS: Final = ("id", "title", "definition")
_LISTS: Final = ("signals", "upstream")
_REASON: Final = "without_rule"


@frozen
class FailureClass:
    """One class. A `symptom` is never the initiator's class: its causes are sought first in `upstream`.

    `scope` is where it starts, `accuse` whom the message lets one name, `signals` the ids of the messages that show it,
    `without_rule` why no rule of the pack names it ("" where one does).
    """

    id: str
    title: str
    definition: str
    layer: Layer
    role: Nature
    scope: Scope
    accuse: Accuse
    signals: tuple[str, ...] = ()
    upstream: tuple[str, ...] = ()
    without_rule: str = ""


@frozen
class Taxonomy:
    """The classes by id."""

    classes: Mapping[str, FailureClass] = field(factory=dict)

    def __contains__(self, name: object) -> bool:
        """Whether a class of that id exists."""
        return name in self.classes

    def get(self, name: str) -> FailureClass | None:
        """Return a class by id, None when there is none."""
        return self.classes.get(name)

    def merge(self, other: Taxonomy) -> Taxonomy:
        """Return the classes of both; where both define one, `other` wins."""
        return Taxonomy({**self.classes, **other.classes})


def load_taxonomy(path: Path, base: Taxonomy | None = None) -> Taxonomy:
    """Return the classes of a taxonomy file, merged into `base`.

    Args:
        path: a TOML file with one `[[class]]` table a class.
        base: classes that `upstream` may name beside the file's own.

    Raises:
        RuleError: the file is not TOML, or a class lacks a field, has an unknown value or names an unknown class.
    """
    text = path.read_text(encoding="utf-8")
    reader = _Reader(Source(str(path), text))
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RuleError([reader.source.diagnostic("E0607", f"not a TOML file: {error}", reader.source.span(0, 1))]) from error
    own = reader.read(document)
    merged = (base or Taxonomy()).merge(Taxonomy(own))
    for one in own.values():
        for name in one.upstream:
            if name not in merged:
                reader.error(one.id, f"the class `{one.id}` has an unknown class upstream: `{name}`")
    if reader.diagnostics:
        raise RuleError(reader.diagnostics)
    return merged


@cache
def shipped_taxonomy() -> Taxonomy:
    """Return the classes of the shipped pack."""
    return load_taxonomy(shipped("rules") / FILE)


@define
class _Reader:
    source: Source
    diagnostics: list[Diagnostic] = field(factory=list)

    def error(self, name: str, message: str) -> None:
        self.diagnostics.append(self.source.diagnostic("E0607", message, self._where(name)))

    def _where(self, name: str) -> Span:
        at = self.source.text.find(f'id = "{name}"')
        return self.source.span(max(at, 0), max(at, 0) + (len(name) + 7 if at >= 0 else 1))

    def read(self, document: dict[str, Any]) -> dict[str, FailureClass]:
        tables = document.get("class", [])
        if set(document) - {"version", "class"} or not (isinstance(tables, list) and all(isinstance(t, dict) for t in tables)):
            self.error("", "a taxonomy holds `version` and `[[class]]` tables only")
            return {}
        found: dict[str, FailureClass] = {}
        for table in tables:
            name = str(table.get("id", ""))
            if name in found:
                self.error(name, f"the class `{name}` is defined twice")
            elif self._sound(name, table):
                found[name] = _class(table)
        return found

    def _sound(self, name: str, table: dict[str, Any]) -> bool:
        before = len(self.diagnostics)
        label = name or "without an id"
        for key in (*_TEXTS, *_CLOSED):
            value = table.get(key)
            if not isinstance(value, str) or not value:
                self.error(name, f"the class `{label}` lacks a text for `{key}`")
            elif key in _CLOSED and value not in _CLOSED[key]:
                self.error(name, f"the class `{label}` has an unknown {key}: `{value}` is none of {', '.join(_CLOSED[key])}")
        for key in _LISTS:
            value = table.get(key, [])
            if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
                self.error(name, f"the class `{label}` needs a list of texts for `{key}`")
        if not isinstance(table.get(_REASON, ""), str):
            self.error(name, f"the class `{label}` needs a text for `{_REASON}`")
        for key in set(table) - {*_TEXTS, *_CLOSED, *_LISTS, _REASON}:
            self.error(name, f"the class `{label}` has an unknown field `{key}`")
        return len(self.diagnostics) == before


def _class(table: dict[str, Any]) -> FailureClass:
    """Return the class of a table that is sound."""
    return FailureClass(
        id=table["id"],
        title=table["title"],
        definition=table["definition"],
        layer=table["layer"],
        role=table["role"],
        scope=table["scope"],
        accuse=table["accuse"],
        signals=tuple(table.get("signals", ())),
        upstream=tuple(table.get("upstream", ())),
        without_rule=table.get(_REASON, ""),
    )
