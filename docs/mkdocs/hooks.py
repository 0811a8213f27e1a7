"""Fill the marked places of the pages from the code, so that the reference can't drift from what it describes.

A page holds `<!-- generated: NAME -->`; the text of NAME takes its place when the site is built.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import denpex_rules
from denpex_rules.cases import find_cases
from denpex_rules.codebook import described
from denpex_rules.compiler import compile_rules
from denpex_rules.encyclopedia import pages
from denpex_rules.errors import CODES, RuleError
from denpex_rules.formats import describe
from denpex_rules.functions import FUNCTIONS
from denpex_rules.library import load_pack, load_text
from denpex_rules.schema import report_schema_text
from denpex_rules.story import tell
from denpex_rules.taxonomy import shipped_taxonomy
from denpex_rules.values import BUILTIN

# The sections of the API's page: the modules whose public names they hold, and classes that these are made of.
API: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {
    "Rules and programs": (frozenset({"library", "compiler", "program"}), ("library.merge",)),
    "Scans": (frozenset({"engine", "judgement"}), ()),
    "Sessions": (frozenset({"session"}), ()),
    "The report": (
        frozenset({"finding"}),
        tuple(
            f"finding.{name}"
            for name in (
                "Suspect",
                "Evidence",
                "ClauseResult",
                "Group",
                "Who",
                "MissingFact",
                "Remedy",
                "Check",
                "Moment",
                "Interval",
                "Unexplained",
                "CoverageReport",
                "ActorCoverage",
                "SourceSummary",
                "Unread",
                "Ending",
                "Recurrence",
                "Explanation",
                "Reasoning",
            )
        ),
    ),
    "Mistakes": (frozenset({"errors"}), ("errors.PluginError",)),
    "Plug-ins": (frozenset(), ("values.CaptureType", "plugins.Predicate", "record.LineFormat")),
}

OPAQUE = frozenset({"Program"})  # what is inside is of no use to a caller

ROOT = Path(__file__).resolve().parents[2]
ENCYCLOPEDIA = "encyclopedia"  # the folder of pages that exist only in a build

GROUPS = {
    "E01": "The text is not a rule file",
    "E02": "Names",
    "E03": "Types and units",
    "E04": "Structure and bounds",
    "E05": "Patterns",
    "E06": "Metadata",
    "L01": "Advice",
    "L02": "Comments",
}


def diagnostics() -> str:
    """Return every diagnostic code with its meaning and two examples, in groups."""
    parts = []
    for prefix, title in GROUPS.items():
        codes = [code for code in CODES if code.startswith(prefix)]
        rows = [f"| [`{code}`](#{code.lower()}) | {CODES[code]} |" for code in codes]
        parts.append("\n".join([f"## {title}", "", "| code | meaning |", "|---|---|", *rows]))
        parts += [f"### {code}\n\n{described(code)}" for code in codes]
    return "\n\n".join(parts)


def types() -> str:
    """Return the capture types: what they accept and what they compare with."""
    rows = [f"| `{t.name}` | `{t.example}` | {t.summary} | {t.base} |" for t in BUILTIN.values()]
    return "\n".join(["| type | example | meaning | compares as |", "|---|---|---|---|", *rows])


def functions() -> str:
    """Return the built-in functions that rules may call."""
    rows = []
    for f in FUNCTIONS.values():
        calls = "<br>".join(f"`{f.name}({', '.join(arguments)})`" for arguments in f.overloads)
        rows.append(f"| {calls} | {f.result} | {f.summary} |")
    return "\n".join(["| call | gives | meaning |", "|---|---|---|", *rows])


def grammar() -> str:
    """Return the grammar, word for word."""
    text = (ROOT / "grammar" / "denpex.lark").read_text(encoding="utf-8")
    return f'```text title="grammar/denpex.lark"\n{text}```'


def schema() -> str:
    """Return the JSON Schema of the report."""
    return f'```json title="report.schema.json"\n{report_schema_text()}```'


def example() -> str:
    """Return a mistake as `rulecheck` shows it."""
    rule = """language 1
rule example.loss {
  title "A device was lost"
  class gpu.fell_off_bus
  event lost error in kernel "NVRM: Xid (PCI:{device:pci}): 79,"
  per job within 2
  require lost
  blame device lost.devise
}
"""
    try:
        load_text(rule)
    except RuleError as error:
        return f"```text\n{error}\n```"
    raise AssertionError("the example has two mistakes, and none was found")


def classes() -> str:
    """Return the root-cause classes, causes and symptoms apart."""
    parts = []
    for role, title in (("cause", "Causes"), ("symptom", "Symptoms")):
        known = [c for c in shipped_taxonomy().classes.values() if c.role == role]
        rows = [f"| `{c.id}` | {c.title} | {c.definition} | {c.scope} |" for c in known]
        head = [f"## {title}", "", "| class | title | what must be true | starts at |", "|---|---|---|---|"]
        parts.append("\n".join([*head, *rows]))
    rows = [f"| `{c.id}` | {c.without_rule} |" for c in shipped_taxonomy().classes.values() if c.without_rule]
    if rows:
        parts.append("\n".join(["## Without a rule", "", "| class | why no rule names it |", "|---|---|", *rows]))
    return "\n\n".join(parts)


def formats() -> str:
    """Return every format that a line is read as, with an example and what it gives."""
    rows = [f"| `{name}` | <code>{_cell(example)}</code> | {gives} |" for name, example, gives in describe()]
    return "\n".join(["| format | example | gives |", "|---|---|---|", *rows])


def _cell(text: str) -> str:
    """Return a line as the content of a table's cell that nothing in it can end."""
    return "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in text)


def api() -> str:
    """Return what mkdocstrings makes the API's page of: every public name, and the classes that these are made of."""
    parts = []
    for title, (modules, classes) in API.items():
        public = [name for name in denpex_rules.__all__ if _home(name) in modules]
        parts.append(f"## {title}")
        parts += [f"::: denpex_rules.{name}" + ("\n    options: { members: false }" if name in OPAQUE else "") for name in public]
        parts += [f"::: denpex_rules.{name}" for name in classes]
    return "\n\n".join(parts)


def _home(name: str) -> str:
    """Return the module that a public name comes from, without the package's name."""
    return getattr(getattr(denpex_rules, name), "__module__", "").removeprefix("denpex_rules.")


GENERATED: dict[str, Callable[[], str]] = {
    "api": api,
    "classes": classes,
    "diagnostics": diagnostics,
    "example": example,
    "formats": formats,
    "functions": functions,
    "grammar": grammar,
    "schema": schema,
    "types": types,
}


def on_files(files: Any, config: Any) -> Any:
    """Add the encyclopedia: one page a rule, told by its cases (mkdocs calls this once a build)."""
    generated = import_module("mkdocs.structure.files").File.generated  # the tests load this file where mkdocs is not installed
    program = compile_rules(load_pack())
    stories = tell(find_cases(ROOT / "tests" / "rules"), program)
    for path, text in pages(program, shipped_taxonomy(), stories).items():
        files.append(generated(config, f"{ENCYCLOPEDIA}/{path}", content=text))
    return files


def on_page_markdown(markdown: str, page: Any = None, **_: Any) -> str:
    """Replace each marker by its text (mkdocs calls this for every page); the encyclopedia's pages hold log text and no marker."""
    if page is not None and page.file.src_uri.startswith(f"{ENCYCLOPEDIA}/"):
        return markdown
    return re.sub(r"<!-- generated: (\w+) -->", lambda match: GENERATED[match[1]](), markdown)
