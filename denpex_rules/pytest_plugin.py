"""The pytest plug-in: in a project that names cases for `rulecheck`, each of them is a test.

A project says so in `rulecheck.toml` or in the table `[tool.rulecheck]` of its `pyproject.toml`; any other is left alone. The
module is imported wherever pytest starts, so it loads the rest of the package only when there is a case to run.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest

CASE_FILE: Final = "case.toml"  # as in `cases`, which is not imported before there is one

_PROJECT: Final = pytest.StashKey[Any]()
_PROGRAM: Final = pytest.StashKey[Any]()


class CaseFailure(Exception):  # noqa: N818 - the outcome of a test, not an error of the program
    """A case came out other than it says; the text tells how."""


class CaseFile(pytest.File):
    """One `case.toml`: a file with one test."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the case."""
        yield CaseItem.from_parent(self, name=self.path.parent.name)


class CaseItem(pytest.Item):
    """One case as a test: its logs are scanned, and the report must be what it says."""

    def runtest(self) -> None:
        """Run the case.

        Raises:
            CaseFailure: it came out otherwise.
            DenpexError: the case or a rule of the project is wrong.
        """
        case = import_module("denpex_rules.cases").read_case(self.path.parent)
        result = import_module("denpex_rules.fixtures").run_case(case, _program(self.config))
        if not result.passed:
            raise CaseFailure(result.text())

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what differs, without a traceback of this package; an unforeseen error keeps its own."""
        foreseen = (CaseFailure, import_module("denpex_rules.errors").DenpexError)
        neutral = import_module("denpex_rules.page").neutral
        if isinstance(excinfo.value, foreseen):
            return "\n".join(neutral(line) for line in str(excinfo.value).split("\n"))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the file of the case and its name."""
        return self.path, 0, f"case {self.path.parent.name}"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CaseFile | None:
    """Take a `case.toml` that stands in one of the case folders of the project."""
    if file_path.name != CASE_FILE:
        return None
    project = _project(parent.config)
    inside = project is not None and any(file_path.resolve().is_relative_to(folder.resolve()) for folder in project.cases)
    return CaseFile.from_parent(parent, path=file_path) if inside else None


def _project(config: pytest.Config) -> Any:
    """Return the project of the folder that pytest runs for, None where it has none. Raises pytest.UsageError."""
    if _PROJECT not in config.stash:
        module, errors = import_module("denpex_rules.project"), import_module("denpex_rules.errors")
        try:
            config.stash[_PROJECT] = module.find_project(config.rootpath)
        except errors.UsageError as error:
            raise pytest.UsageError(str(error)) from error
    return config.stash[_PROJECT]


def _program(config: pytest.Config) -> Any:
    """Return the project's rules and the shipped ones, compiled once in a run."""
    if _PROGRAM not in config.stash:
        project = _project(config)
        config.stash[_PROGRAM] = import_module("denpex_rules.selection").choose_program(project.rules, None, pack=True)
    return config.stash[_PROGRAM]
