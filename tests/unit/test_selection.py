"""Which rules a command works with."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_rules.errors import ProgramError, UsageError
from denpex_rules.program import save_program
from denpex_rules.selection import choose_program, find_rule
from samples import workshop


def test_rules_or_program(tmp_path: Path) -> None:
    """A saved program is the same as the rules that it was compiled from."""
    rules = [str(workshop(tmp_path) / "my")]
    compiled = choose_program(rules, None, pack=False)
    save_program(compiled, tmp_path / "x")
    assert choose_program(None, tmp_path / "x", pack=True) == compiled


@pytest.mark.parametrize(("rules", "pack"), [(["my"], True), ([], False), (["my"], False)])
def test_program_excludes_rules(rules: list[str], *, pack: bool) -> None:
    """A saved program can't be mixed with rules."""
    with pytest.raises(UsageError, match="--program holds its rules already"):
        choose_program(rules, Path("x"), pack=pack)


def test_program_that_is_none(tmp_path: Path) -> None:
    """A file that is no program is refused."""
    (tmp_path / "x").write_text("{}\n")
    with pytest.raises(ProgramError, match="not a saved program"):
        choose_program(None, tmp_path / "x", pack=True)


def test_find_rule(tmp_path: Path) -> None:
    """A rule is found by its path, with or without its pack; an unknown one is answered with the closest."""
    program = choose_program([str(workshop(tmp_path) / "my")], None, pack=False)
    assert find_rule(program, "storage.broken_shard") is find_rule(program, "denpex:storage.broken_shard")
    with pytest.raises(UsageError, match=r"unknown rule storage\.broken_shar; did you mean storage\.broken_shard\?"):
        find_rule(program, "storage.broken_shar")
    with pytest.raises(UsageError, match=r"unknown rule zzz$"):
        find_rule(program, "zzz")
