"""The cache of compiled programs: the same program, faster, and never an error of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_rules import cache
from denpex_rules.cache import cache_folder, cached, fingerprint
from denpex_rules.gather import compile_named
from denpex_rules.program import Program, dumps
from denpex_rules.values import BUILTIN

RULE = """language 1

rule a.b {{
  title "t"
  class gpu.fell_off_bus
  event seen "{text} {{n:int}}"
  per job within 1h
  require seen
}}
"""


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one rule, and a cache of its own."""
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "cache"))
    folder = tmp_path / "rules" / "a"
    folder.mkdir(parents=True)
    (folder / "b.rule").write_text(RULE.format(text="first"))
    return tmp_path / "rules"


def counted(rules: Path) -> tuple[Program, list[int]]:
    """Return the program of a folder, and whether it was compiled."""
    made: list[int] = []

    def compiled() -> Program:
        made.append(1)
        return compile_named([rules], pack=False)

    return cached([rules], dict(BUILTIN), compiled), made


def test_a_program_is_compiled_once(rules: Path) -> None:
    """The second run takes the kept one, which is the same."""
    first, made = counted(rules)
    assert made
    second, again = counted(rules)
    assert not again
    assert dumps(first) == dumps(second)


def test_another_text_is_another_program(rules: Path) -> None:
    """A changed rule of the same size, and a taxonomy that is added, are seen."""
    counted(rules)
    before = fingerprint([rules])
    (rules / "a" / "b.rule").write_text(RULE.format(text="other"))
    program, made = counted(rules)
    assert made
    assert any(entry.text == "other " for entry in program.literals)
    (rules / "taxonomy.toml").write_text("")
    assert len({before, fingerprint([rules])}) == 2


def test_a_damaged_program_is_made_anew(rules: Path) -> None:
    """Bytes that changed, or that are missing, cost a compilation and no more."""
    counted(rules)
    (kept,) = (rules.parent / "cache").glob("*.program")
    kept.write_text(kept.read_text()[:-20])
    program, made = counted(rules)
    assert made
    assert program.rules[0].id == "a.b"
    assert not counted(rules)[1]


def test_a_cache_that_cannot_be_written_is_no_error(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file where the folder should be; or a cache that is turned off: the rules are compiled each time."""
    blocker = rules.parent / "file"
    blocker.write_text("")
    for folder in (str(blocker), ""):
        monkeypatch.setenv(cache.FOLDER, folder)
        assert counted(rules)[1]
        assert counted(rules)[1]
    assert cache_folder() is None


def test_few_programs_are_kept(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The least recently used go."""
    monkeypatch.setattr(cache, "KEPT", 2)
    for text in ("first", "second", "third"):
        (rules / "a" / "b.rule").write_text(RULE.format(text=text))
        counted(rules)
    assert len(list((rules.parent / "cache").glob("*"))) == 2
    assert not counted(rules)[1]


def test_the_folder_is_the_user_s(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The desktop standard's variable, else the home."""
    monkeypatch.delenv(cache.FOLDER, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "denpex_rules"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "denpex_rules"
