"""What a folder's `[tool.rulecheck]` names: the rules and cases that `rulecheck` without paths is about."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from denpex_rules.errors import UsageError

OWN_FILE: Final = "rulecheck.toml"
SHARED_FILE: Final = "pyproject.toml"
KEYS: Final = ("rules", "cases")


@frozen
class Project:
    """Rule paths and case folders, each resolved against the folder of the file that names them."""

    rules: tuple[Path, ...]
    cases: tuple[Path, ...]


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
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error


def _project(path: Path, table: Mapping[str, Any]) -> Project:
    if not isinstance(table, Mapping):
        raise UsageError(f"{path}: [tool.rulecheck] is not a table")
    unknown = sorted(set(table) - set(KEYS))
    if unknown:
        raise UsageError(f"{path}: unknown key {', '.join(unknown)}; known: {', '.join(KEYS)}")
    return Project(*(_paths(path, table, key) for key in KEYS))


def _paths(path: Path, table: Mapping[str, Any], key: str) -> tuple[Path, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{path}: `{key}` must be a list of paths")
    found = tuple(path.parent / item for item in value)
    for item in found:
        if not item.exists():
            raise UsageError(f"{path}: `{key}` names {item}, which does not exist")
    return found
