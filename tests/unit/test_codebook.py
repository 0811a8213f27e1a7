"""The codebook: every code is documented by an example that earns it and one that does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from denpex_rules import gather
from denpex_rules.codebook import Entry, codebook, described
from denpex_rules.errors import CODES, RuleError
from denpex_rules.taxonomy import load_taxonomy, shipped_taxonomy
from examples import ROOT, complete


def earned(entry: Entry, text: str, folder: Path) -> set[str]:
    """Return the codes that an example earns."""
    path = folder / (entry.file or "example.rule")
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = text if entry.whole or entry.file else complete(text)
    path.write_bytes(whole.encode(entry.encoding))
    if path.suffix == ".toml":
        try:
            load_taxonomy(path, shipped_taxonomy())
        except RuleError as error:
            return {d.code for d in error.diagnostics}
        return set()
    _, found = gather.check([folder if entry.file else path])
    return {d.code for d in found}


def test_every_code_has_an_entry() -> None:
    """Codes and entries are the same, in the same order of groups."""
    assert list(codebook()) == list(CODES)


def test_every_code_is_emitted() -> None:
    """Each code stands in the package where something can emit it, not only in the list of codes."""
    package = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "denpex_rules").glob("*.py") if p.name != "errors.py")
    assert [code for code in CODES if f'"{code}"' not in package] == []
    assert set(re.findall(r'"([EL]\d{4})"', package)) == set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_bad_example(code: str, tmp_path: Path) -> None:
    """The bad example of a code earns exactly that code."""
    entry = codebook()[code]
    assert earned(entry, entry.bad, tmp_path) == {code}


@pytest.mark.parametrize("code", CODES)
def test_good_example(code: str, tmp_path: Path) -> None:
    """The good example of a code earns no code at all."""
    entry = codebook()[code]
    assert earned(entry, entry.good, tmp_path) == set()


def test_described() -> None:
    """An entry reads as Markdown: meaning, reason and both examples, in fences of their own."""
    text = described("E0303")
    assert text.startswith("A number without a unit where a duration is needed.\n\nTwo hours or two seconds?")
    assert text.count("```") == 4
    assert "Bad (as `hardware/gpu/lost.rule`):" in described("E0605")
