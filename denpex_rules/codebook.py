"""What every code of a diagnostic means, with an example that earns it and the same made right. The texts are in
grammar/diagnostics.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache

from attrs import frozen
from cattrs import Converter

from denpex_rules.errors import CODES
from denpex_rules.shipped import shipped

FILE = "diagnostics.toml"


@frozen
class Entry:
    """One code.

    Args:
        why: why it matters, in a sentence or two.
        bad: what earns it: a whole file, or statements of a rule.
        good: the same made right.
        whole: whether both are whole files although they do not start like one.
        file: where they stand in a pack, "" where that does not matter.
        encoding: how the bad one is written to its file.
    """

    why: str
    bad: str
    good: str
    whole: bool = False
    file: str = ""
    encoding: str = "utf-8"


@cache
def codebook() -> Mapping[str, Entry]:
    """Return the entry of every code, in the order of `CODES`."""
    text = (shipped("grammar") / FILE).read_text(encoding="utf-8")
    found = Converter(forbid_extra_keys=True).structure(tomllib.loads(text), dict[str, Entry])
    return {code: found[code] for code in CODES}


def described(code: str) -> str:
    """Return what a code means and why it matters, as Markdown with both examples."""
    entry = codebook()[code]
    language = "toml" if entry.file.endswith(".toml") else "denpex"
    place = f" (as `{entry.file}`)" if entry.file else ""
    parts = [f"{CODES[code].capitalize() if CODES[code][0].islower() else CODES[code]}.", entry.why]
    parts += [f"Bad{place}:", f"```{language}\n{entry.bad.strip()}\n```", "Good:", f"```{language}\n{entry.good.strip()}\n```"]
    return "\n\n".join(parts)
