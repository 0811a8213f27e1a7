"""Rule files that earn advice, and the advice that they earn."""

from __future__ import annotations

from denpex_rules import library
from denpex_rules.errors import Diagnostic, Source
from denpex_rules.lint import lint_rules
from denpex_rules.taxonomy import Taxonomy, shipped_taxonomy

EVENTS = """
  event lost error in kernel "NVRM: Xid (PCI:{device:pci}): 79,"
    like "NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus."
"""
LAST = EVENTS + '  event seen in rank "saw the last batch of shard {file:path}"\n    like "saw the last batch of shard /data/a"\n'
KNOWN = frozenset({"denpex:hardware.gpu.lost"})


def text_of(
    steps: str = "  require lost",
    *,
    events: str = EVENTS,
    meta: str = "",
    name: str = "hardware.gpu.lost",
    cls: str = "gpu.fell_off_bus",
    do: str = '  do "Reset the host."',
) -> str:
    """Return a whole rule file."""
    head = f'language 1\nrule {name} {{\n  title "GPU lost"\n  class {cls}\n{meta}'
    stable = '  ref "https://example.org/lost"\n' if "status stable" in meta else ""
    return f"{head}{events}\n  per job within 2h\n{steps}\n  blame none\n{do}\n{stable}}}\n"


def advice(*texts: str, taxonomy: Taxonomy | None = None, known: frozenset[str] = KNOWN) -> list[Diagnostic]:
    """Return the advice about rule files."""
    rules = library.merge([library.load_text(text) for text in texts])
    found = lint_rules(rules, taxonomy or shipped_taxonomy(), known=known)
    return [d for d in found if d.span.path == "<text>"]  # the shipped building blocks are advised about elsewhere


def codes(*texts: str, **options: Taxonomy) -> list[str]:
    """Return the codes of the advice about rule files."""
    return [d.code for d in advice(*texts, **options)]


def event(pattern: str, head: str = "event lost") -> str:
    """Return an event without an example."""
    return f"  {head} {pattern}\n"


def advice_on(text: str) -> list[Diagnostic]:
    """Return the advice about one rule file whose text is known, its comments and patches included."""
    source = Source("<text>", text)
    found = lint_rules(library.load_text(text), shipped_taxonomy(), known=KNOWN, sources={"<text>": source})
    return [d for d in found if d.span.path == "<text>"]
