"""`rulecheck lsp`: what it needs, and what it says where that is missing."""

from __future__ import annotations

import pytest

from denpex_rules import cli, commands_lsp


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Where pygls is not installed, the command says how to install it and exits with 2."""
    monkeypatch.setattr(commands_lsp, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as stopped:
        cli.main(["lsp"])
    assert stopped.value.code == 2
    assert "pip install 'denpex-rules[lsp]'" in capsys.readouterr().err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    """The verb is listed and says who starts it."""
    with pytest.raises(SystemExit) as stopped:
        cli.main(["lsp", "--help"])
    assert stopped.value.code == 0
    assert "Language Server Protocol" in " ".join(capsys.readouterr().out.split())
