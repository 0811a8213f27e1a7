"""The package's front door: its names, and what opening it does not load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import denpex_rules
from denpex_rules.gather import compile_named


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


def test_names_lead_to_the_program_of_the_command() -> None:
    """An embedder's program is the one that `rulecheck` scans with: the same rules, and classes that tell causes from symptoms."""
    program = denpex_rules.compile_rules(denpex_rules.load_pack())
    assert program == compile_named((), pack=True)
    assert {c.role for c in program.classes} == {"cause", "symptom"}


def test_a_saved_program_needs_no_parser(tmp_path: Path) -> None:
    """Importing the package, loading a saved program and scanning with it imports no Lark."""
    saved = tmp_path / "rules.json"
    denpex_rules.save_program(denpex_rules.compile_rules(denpex_rules.load_pack()), saved)
    line = "NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus."
    code = f"""
import denpex_rules
report = denpex_rules.scan_lines({{"kern.log": [{line!r}]}}, denpex_rules.load_program({str(saved)!r}))
assert report.incidents[0].initiators[0].device == "0000:41:00"
"""
    assert "lark" not in loaded(code)
    assert "lark" in loaded("import denpex_rules; denpex_rules.load_pack()")
