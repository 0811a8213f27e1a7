"""The golden files of the language: malformed rules beside their diagnostics, good ones beside their trees.

`UPDATE_GOLDENS=1 pytest tests/grammar` writes what the code says now; the difference is then to be read like any text.
"""

from __future__ import annotations

import os
from pathlib import Path

from denpex_rules.library import check_paths

HERE = Path(__file__).parent
BAD = sorted(p for p in (HERE / "bad").iterdir() if p.suffix in {".rule", ".pack"})
GOOD = sorted((HERE / "good").glob("*.rule"))


def diagnostics(path: Path) -> str:
    """Return the rendered diagnostics of a malformed file or pack, with paths relative to the folder of goldens."""
    _, found = check_paths([path])
    return "\n\n".join(d.render() for d in found).replace(f"{path.parent}{os.sep}", "") + "\n"


def expected(path: Path, actual: str) -> str:
    """Return a golden's text; writes it first where goldens are being updated."""
    if os.environ.get("UPDATE_GOLDENS"):
        path.write_text(actual, encoding="utf-8")
    return path.read_text(encoding="utf-8")
