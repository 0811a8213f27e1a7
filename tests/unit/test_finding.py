"""The report model: its defaults and its contract."""

from __future__ import annotations

import inspect
from typing import get_args

import attrs
import pytest

from denpex_rules import finding
from denpex_rules.finding import SCHEMA, Incident, Report, Suspect, Verdict

MODELS = [m for _, m in inspect.getmembers(finding, attrs.has) if m.__module__ == finding.__name__]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_model(model: type) -> None:
    """Every class of the report is frozen, slotted and documented."""
    assert model.__doc__
    assert not hasattr(model, "__dict__") or "__slots__" in vars(model)
    assert model.__setattr__ is not object.__setattr__


def test_an_empty_report() -> None:
    """A report carries its version, and lists that nothing filled are empty."""
    report = Report("healthy")
    assert report.schema == SCHEMA == "denpex-report/1"
    assert report.incidents == report.unexplained == ()
    assert report.coverage.world_size is None


def test_verdicts() -> None:
    """The verdicts are the six that the documentation explains."""
    assert set(get_args(Verdict)) == {"failed", "stopped", "warning", "undecided", "healthy", "no_data"}


def test_accusations_and_possibilities_are_apart() -> None:
    """Initiators and candidates are two fields of one form; neither has a default that hides it."""
    required = {a.name for a in attrs.fields(Incident) if a.default is attrs.NOTHING}
    assert {"initiators", "candidates", "onset", "evidence", "outcome"} <= required
    assert {a.name for a in attrs.fields(Suspect)} == {"rank", "host", "device", "certainty", "reasons"}
