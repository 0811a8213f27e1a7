"""The verbs: each is found by its name, and made without its neighbours."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from denpex_rules import verbs
from samples import run_command as run


@pytest.mark.parametrize("name", verbs.VERBS)
def test_every_verb_is_in_its_module(name: str) -> None:
    """The table leads to a module whose app has the verb, once."""
    known = [one.name or one.callback.__name__ for one in import_module(verbs.VERBS[name]).app.registered_commands]
    assert known.count(name) == 1


def test_no_verb_is_missing() -> None:
    """Every verb of a module that the table names is in the table."""
    modules = {import_module(module) for module in verbs.VERBS.values()}
    assert {one.name or one.callback.__name__ for module in modules for one in module.app.registered_commands} == set(verbs.VERBS)


def test_verb_is_made_alone() -> None:
    """A verb is a command of its own, with its own options and no others; what is no verb is nothing."""
    group = verbs.Verbs(name="rulecheck")
    made = group.get_command(None, "correlate")
    options = {text for option in made.params for text in option.opts}
    assert {"--skew", "--coverage"} <= options
    assert {"--follow", "--install-completion"}.isdisjoint(options)
    assert group.get_command(None, "frobnicate") is None


def test_errors_end_with_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What the library or the system refuses is one line on standard error."""
    code, out, err = run(capsys, "scan", f"{tmp_path}/nowhere", "--rules", f"{tmp_path}/none", "--no-pack")
    assert (code, out) == (2, "")
    assert err.startswith("rulecheck: ")
    assert err.count("\n") == 1
