"""What was found, in the forms that other tools read: SARIF for code scanning, JUnit for CI, annotations for GitHub.

A finding is a `Remark`: diagnostics and failed cases are written the same way. Texts come from rules and logs, so whatever a form
or a terminal could take for its own is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from xml.etree import ElementTree as ET

from attrs import frozen

from denpex_rules import __version__
from denpex_rules.codebook import codebook, described
from denpex_rules.errors import CODES, Diagnostic, Edit, Severity
from denpex_rules.page import neutral

SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
TOOL: Final = "rulecheck"


@frozen
class Remark:
    """One thing to say about one place. `line` and `column` are from 1; 0 stands for the whole file."""

    path: str
    title: str
    message: str
    severity: Severity = "error"
    line: int = 0
    column: int = 0
    end_column: int = 0


@frozen
class Check:
    """One thing that was looked at: a case or a file, and what is wrong with it."""

    group: str
    name: str
    remarks: tuple[Remark, ...] = ()


def remark(diagnostic: Diagnostic) -> Remark:
    """Return a diagnostic as a remark: its message, then what was expected, then the hint."""
    span = diagnostic.span
    said = [diagnostic.message]
    said += [f"expected: {diagnostic.expected}"] if diagnostic.expected else []
    said += [f"hint: {diagnostic.hint}"] if diagnostic.hint else []
    end = _end_column(diagnostic)
    return Remark(near(span.path), diagnostic.code, "\n".join(said), diagnostic.severity, span.line, span.column, end)


def _end_column(diagnostic: Diagnostic) -> int:
    """Return the column behind what is marked, on the line that it starts on; 0 where there is no place."""
    span = diagnostic.span
    if not span.line:
        return 0
    rest = len(diagnostic.source) - (span.column - 1)
    return span.column + max(1, min(span.end - span.start, rest))


def near(path: str) -> str:
    """Return a path as seen from the current folder, where it lies below it: that is how a checkout names its files."""
    whole, here = Path(path).resolve(), Path.cwd().resolve()
    return whole.relative_to(here).as_posix() if whole.is_relative_to(here) else Path(path).as_posix()


# ------------------------------------------------------------------ GitHub


def github(remarks: Iterable[Remark]) -> str:
    """Return remarks as workflow commands of GitHub Actions, which shows them beside the lines that they are about."""
    return "".join(f"{_annotation(one)}\n" for one in remarks)


def _annotation(one: Remark) -> str:
    places = {"file": one.path, "line": one.line, "col": one.column, "endColumn": one.end_column, "title": one.title}
    properties = ",".join(f"{key}={_property(str(value))}" for key, value in places.items() if value)
    return f"::{one.severity} {properties}::{_data(one.message)}"


def _data(text: str) -> str:
    """Return a text for a workflow command: it stays on one line, and its own signs mean nothing."""
    lines = (neutral(line).replace("%", "%25") for line in text.split("\n"))
    return "%0A".join(lines)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# ------------------------------------------------------------------ JUnit


def junit(suite: str, checks: Sequence[Check], *, strict: bool = True) -> str:
    """Return checks as a JUnit report.

    Args:
        suite: what was done, as the report's name.
        checks: what was looked at.
        strict: whether a warning is a failure too; else it is shown as what the check printed.
    """
    root = ET.Element("testsuites", name=TOOL)
    groups = list(dict.fromkeys(check.group for check in checks)) or [""]
    failed = 0
    for group in groups:
        own = [check for check in checks if check.group == group]
        bad = sum(1 for check in own if _fails(check, strict=strict))
        failed += bad
        name = f"{suite} {group}".strip()
        element = ET.SubElement(root, "testsuite", name=_xml(name), tests=str(len(own)), failures=str(bad), errors="0", skipped="0")
        for check in own:
            _testcase(element, check, strict=strict)
    root.set("tests", str(len(checks)))
    root.set("failures", str(failed))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _fails(check: Check, *, strict: bool) -> bool:
    return any(strict or one.severity == "error" for one in check.remarks)


def _testcase(suite: ET.Element, check: Check, *, strict: bool) -> None:
    case = ET.SubElement(suite, "testcase", classname=_xml(check.group), name=_xml(check.name))
    bad = [one for one in check.remarks if strict or one.severity == "error"]
    if bad:
        first = bad[0].message.split("\n", 1)[0]
        failure = ET.SubElement(case, "failure", message=_xml(first), type=_xml(bad[0].title))
        failure.text = "\n\n".join(_described(one) for one in bad)
    said = [one for one in check.remarks if one not in bad]
    if said:
        ET.SubElement(case, "system-out").text = "\n\n".join(_described(one) for one in said)


def _described(one: Remark) -> str:
    place = ":".join([one.path, *(str(number) for number in (one.line, one.column) if number)])
    return "\n".join(_xml(line) for line in (f"{place}: {one.severity}: {one.title}", *one.message.split("\n")))


def _xml(text: str) -> str:
    """Return a text without the characters that XML has no place for; ElementTree escapes the rest."""
    return neutral(text)


# ------------------------------------------------------------------ SARIF


def sarif(diagnostics: Sequence[Diagnostic]) -> dict[str, Any]:
    """Return diagnostics as a SARIF 2.1.0 log of one run, with patches as fixes."""
    codes = sorted({d.code for d in diagnostics})
    driver = {"name": TOOL, "semanticVersion": __version__, "rules": [_rule(code) for code in codes]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(d, codes.index(d.code)) for d in diagnostics],
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> dict[str, Any]:
    level = "error" if code.startswith("E") else "warning"
    return {
        "id": code,
        "shortDescription": {"text": CODES[code]},
        "fullDescription": {"text": codebook()[code].why},
        "help": {"text": codebook()[code].why, "markdown": described(code)},
        "defaultConfiguration": {"level": level},
    }


def _result(diagnostic: Diagnostic, index: int) -> dict[str, Any]:
    told = remark(diagnostic)
    place: dict[str, Any] = {"artifactLocation": _artifact(diagnostic)}
    if told.line:
        region: dict[str, Any] = {"startLine": told.line, "startColumn": told.column, "endColumn": told.end_column}
        if diagnostic.source:
            region["snippet"] = {"text": neutral(diagnostic.source)}
        place["region"] = region
    found: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": index,
        "level": diagnostic.severity,
        "message": {"text": "\n".join(neutral(line) for line in told.message.split("\n"))},
        "locations": [{"physicalLocation": place}],
    }
    if diagnostic.patch is not None:
        change = {"artifactLocation": _artifact(diagnostic), "replacements": [_replacement(e) for e in diagnostic.patch.edits]}
        found["fixes"] = [{"description": {"text": diagnostic.patch.title}, "artifactChanges": [change]}]
    return found


def _artifact(diagnostic: Diagnostic) -> dict[str, str]:
    path = near(diagnostic.span.path)
    return {"uri": f"file://{quote(path)}" if path.startswith("/") else quote(path)}


def _replacement(edit: Edit) -> dict[str, Any]:
    region = {"charOffset": edit.span.start, "charLength": edit.span.end - edit.span.start}
    return {"deletedRegion": region, "insertedContent": {"text": edit.text}}
