"""The golden files of the language: malformed rules beside their diagnostics, good ones beside their trees.

`UPDATE_GOLDENS=1 pytest tests/grammar` writes what the code says now; the difference is then to be read like any text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from lark import Lark

from denpex_rules import gather
from denpex_rules.codebook import codebook
from denpex_rules.errors import RuleError
from denpex_rules.parser import grammar
from denpex_rules.taxonomy import load_taxonomy, shipped_taxonomy
from examples import complete

HERE = Path(__file__).parent / "grammar"
BAD = sorted(p for p in (HERE / "bad").iterdir() if p.suffix in {".rule", ".pack"})
GOOD = sorted((HERE / "good").glob("*.rule"))


# Every name that the grammar gives to a symbol, and those that Lark makes up.
SYMBOLS = frozenset(t.name for t in Lark(grammar(), parser="lalr", start="start").terminals) | {"$END"}


def diagnostics(path: Path) -> str:
    """Return the rendered mistakes of a file or pack, with paths relative to the folder of goldens."""
    _, found = gather.check([path])
    return "\n\n".join(d.render() for d in found if d.severity == "error").replace(f"{path.parent}{os.sep}", "") + "\n"


def documented(code: str, folder: Path) -> str:
    """Return the rendered diagnostics of a code's bad example, written below `folder`."""
    entry = codebook()[code]
    path = folder / "pack" / (entry.file or "example.rule")
    path.parent.mkdir(parents=True)
    path.write_bytes((entry.bad if entry.whole or entry.file else complete(entry.bad)).encode(entry.encoding))
    if path.suffix == ".toml":
        return f"{_taxonomy_mistakes(path)}\n".replace(f"{folder}{os.sep}", "")
    _, found = gather.check([path.parents[len(Path(entry.file).parts) - 1] if entry.file else path])
    return "\n\n".join(d.render() for d in found).replace(f"{folder}{os.sep}", "") + "\n"


def _taxonomy_mistakes(path: Path) -> str:
    try:
        load_taxonomy(path, shipped_taxonomy())
    except RuleError as error:
        return str(error)
    raise AssertionError("the example has no mistake")


def golden_text() -> str:
    """Return all goldens of diagnostics as one text."""
    return "\n".join(p.read_text(encoding="utf-8") for p in sorted(HERE.rglob("*.diag")))


def token_names(rendered: str) -> list[str]:
    """Return the names of the grammar's symbols in what diagnostics say; source lines and what they quote are the author's."""
    said = [line for line in rendered.splitlines() if re.match(r"(error|warning)\[|  = ", line)]
    plain = " ".join(re.sub(r"`[^`]*`|\"[^\"]*\"|\(\?P<.*", " ", line.split("]: ", 1)[-1]) for line in said)
    words = re.findall(r"\$?\w+", plain)
    return [w for w in words if w in SYMBOLS or re.fullmatch(r"_*[A-Z][A-Z0-9]*_[A-Z0-9_]+|__\w+|_[A-Z]+", w)]


def expected(path: Path, actual: str) -> str:
    """Return a golden's text; writes it first where goldens are being updated."""
    if os.environ.get("UPDATE_GOLDENS"):
        path.write_text(actual, encoding="utf-8")
    return path.read_text(encoding="utf-8")
