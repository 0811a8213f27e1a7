"""What a folder's `[tool.rulecheck]` names: rules and cases that `rulecheck` without paths is about, log formats."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from denpex_rules.errors import UsageError
from denpex_rules.lineformat import check
from denpex_rules.record import LineFormat
from denpex_rules.rule import KINDS

OWN_FILE: Final = "rulecheck.toml"
SHARED_FILE: Final = "pyproject.toml"
KEYS: Final = ("rules", "cases", "formats")
_TOML: Final = "tomllib"  # imported where a folder has such a file
FORMAT_KEYS: Final = ("name", "line", "kind", "arrival", "example")


@frozen
class Project:
    """Rule paths and case folders, each resolved against the folder of the file that names them, and log formats."""

    rules: tuple[Path, ...]
    cases: tuple[Path, ...]
    formats: tuple[LineFormat, ...] = ()


def find_project(folder: Path) -> Project | None:
    """Return what `rulecheck.toml`, else the table `[tool.rulecheck]` of `pyproject.toml`, in `folder` names.

    Returns:
        None where neither says anything.

    Raises:
        UsageError: the file is malformed, has an unknown key, or names a path that does not exist.
    """
    own, shared = folder / OWN_FILE, folder / SHARED_FILE
    if own.is_file():
        return _project(own, _read(own))
    table = _read(shared).get("tool", {}).get("rulecheck") if shared.is_file() else None
    return None if table is None else _project(shared, table)


def need_project(folder: Path) -> Project:
    """Return the project of `folder`. Raises UsageError where it has none."""
    project = find_project(folder)
    if project is None:
        raise UsageError(f"no paths are given, and {folder.resolve()} has neither {OWN_FILE} nor [tool.rulecheck] in {SHARED_FILE}")
    return project


def _read(path: Path) -> dict[str, Any]:
    try:
        table: dict[str, Any] = import_module(_TOML).loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error
    return table


def _project(path: Path, table: Mapping[str, Any]) -> Project:
    if not isinstance(table, Mapping):
        raise UsageError(f"{path}: [tool.rulecheck] is not a table")
    unknown = sorted(set(table) - set(KEYS))
    if unknown:
        raise UsageError(f"{path}: unknown key {', '.join(unknown)}; known: {', '.join(KEYS)}")
    return Project(_paths(path, table, "rules"), _paths(path, table, "cases"), _formats(path, table))


def _paths(path: Path, table: Mapping[str, Any], key: str) -> tuple[Path, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{path}: `{key}` must be a list of paths")
    found = tuple(path.parent / item for item in value)
    for item in found:
        if not item.exists():
            raise UsageError(f"{path}: `{key}` names {item}, which does not exist")
    return found


def _formats(path: Path, table: Mapping[str, Any]) -> tuple[LineFormat, ...]:
    value = table.get("formats", [])
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise UsageError(f"{path}: `formats` must be tables: [[tool.rulecheck.formats]]")
    return tuple(_format(path, item) for item in value)


def _format(path: Path, table: Mapping[str, Any]) -> LineFormat:
    unknown = sorted(set(table) - set(FORMAT_KEYS))
    if unknown:
        raise UsageError(f"{path}: a format has the unknown key {', '.join(unknown)}; known: {', '.join(FORMAT_KEYS)}")
    name, line, example = table.get("name", ""), table.get("line", []), table.get("example", "")
    lines = [line] if isinstance(line, str) else line
    kind, arrival = table.get("kind"), table.get("arrival", False)
    if not isinstance(name, str) or not isinstance(example, str) or not isinstance(arrival, bool):
        raise UsageError(f"{path}: of a format, `name` and `example` are texts, `arrival` is true or false")
    if not isinstance(lines, list) or not all(isinstance(item, str) for item in lines):
        raise UsageError(f"{path}: format {name}: `line` must be a text, or a list of texts")
    if kind is not None and kind not in KINDS:
        raise UsageError(f"{path}: format {name}: unknown kind {kind!r}; known: {', '.join(KINDS)}")
    form = LineFormat(name, tuple(lines), kind, arrival, example)
    try:
        check(form)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    return form
