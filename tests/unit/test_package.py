"""The package's front door: its names, and what opening it does not load."""

from __future__ import annotations

import subprocess
import sys

import pytest

import denpex_rules


@pytest.mark.parametrize("name", denpex_rules.__all__)
def test_public_name(name: str) -> None:
    """Every public name leads to a documented thing."""
    assert getattr(denpex_rules, name).__doc__


def test_unknown_name() -> None:
    """A name that the package does not have is an AttributeError, as for any module."""
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = denpex_rules.nothing


def test_dir() -> None:
    """`dir` lists the public names although they are not loaded yet."""
    assert set(denpex_rules.__all__) <= set(dir(denpex_rules))


def loaded(code: str) -> set[str]:
    """Return the top-level modules that are loaded after `code` ran in a new interpreter."""
    text = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], stdout=subprocess.PIPE, check=True, text=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_import_is_light() -> None:
    """Importing the package loads nothing beyond the standard library."""
    assert loaded("import denpex_rules").isdisjoint({"ahocorasick", "attr", "attrs", "cattrs", "lark", "re2", "rich", "typer"})


def test_names_of_errors_are_light() -> None:
    """An embedder can name the exceptions without loading the parser or the matcher."""
    assert loaded("from denpex_rules import DenpexError, ProgramError").isdisjoint({"ahocorasick", "lark", "re2"})
