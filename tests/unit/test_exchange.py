"""The forms that other tools read: SARIF, JUnit, annotations of GitHub."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest

from denpex_rules.errors import NOWHERE, Diagnostic, Edit, Patch, Source
from denpex_rules.exchange import Check, Remark, github, junit, near, remark, sarif
from samples import HOSTILE

TEXT = "language 1\nrule x {\n  title whre\n}\n"
SOURCE = Source("rules/a b.rule", TEXT)
SPAN = SOURCE.span(TEXT.index("whre"), TEXT.index("whre") + 4)
WRONG = SOURCE.diagnostic("E0101", "`whre` can't stand here", SPAN, "a text", "did you mean where?")
ADVICE = Diagnostic("L0106", "mute", SOURCE.span(11, 500), "rule x {", severity="warning")

# The parts of the SARIF 2.1.0 schema (OASIS, section 3) that rulecheck writes; nothing else may stand there.
TEXTED = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}, "additionalProperties": False}
ARTIFACT = {
    "type": "object",
    "required": ["uri"],
    "properties": {"uri": {"type": "string", "pattern": r"^[A-Za-z0-9._~:/%+-]+$"}},
    "additionalProperties": False,
}
POSITIVE = {"type": "integer", "minimum": 1}
COUNT = {"type": "integer", "minimum": 0}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
REGION = {
    "type": "object",
    "properties": {"startLine": POSITIVE, "startColumn": POSITIVE, "endColumn": POSITIVE, "snippet": TEXTED},
    "additionalProperties": False,
}
REPLACEMENT = {
    "type": "object",
    "required": ["deletedRegion"],
    "properties": {
        "deletedRegion": {
            "type": "object",
            "properties": {"charOffset": COUNT, "charLength": COUNT},
            "additionalProperties": False,
        },
        "insertedContent": TEXTED,
    },
    "additionalProperties": False,
}
CHANGE = {
    "type": "object",
    "required": ["artifactLocation", "replacements"],
    "properties": {"artifactLocation": ARTIFACT, "replacements": {"type": "array", "minItems": 1, "items": REPLACEMENT}},
    "additionalProperties": False,
}
FIX = {
    "type": "object",
    "required": ["artifactChanges"],
    "properties": {"description": TEXTED, "artifactChanges": {"type": "array", "minItems": 1, "items": CHANGE}},
    "additionalProperties": False,
}
LOCATION = {
    "type": "object",
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "properties": {"artifactLocation": ARTIFACT, "region": REGION},
            "additionalProperties": False,
        }
    },
    "additionalProperties": False,
}
RESULT = {
    "type": "object",
    "required": ["message"],
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": COUNT,
        "level": LEVEL,
        "message": TEXTED,
        "locations": {"type": "array", "items": LOCATION},
        "fixes": {"type": "array", "uniqueItems": True, "items": FIX},
    },
    "additionalProperties": False,
}
RULE = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "string"},
        "shortDescription": TEXTED,
        "fullDescription": TEXTED,
        "help": {
            "type": "object",
            "required": ["text"],
            "properties": {"text": {"type": "string"}, "markdown": {"type": "string"}},
        },
        "defaultConfiguration": {"type": "object", "properties": {"level": LEVEL}, "additionalProperties": False},
    },
    "additionalProperties": False,
}
DRIVER = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "semanticVersion": {"type": "string"},
        "rules": {"type": "array", "uniqueItems": True, "items": RULE},
    },
    "additionalProperties": False,
}
RUN = {
    "type": "object",
    "required": ["tool"],
    "properties": {
        "tool": {"type": "object", "required": ["driver"], "properties": {"driver": DRIVER}, "additionalProperties": False},
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "results": {"type": "array", "items": RESULT},
    },
    "additionalProperties": False,
}
LOG = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "items": RUN},
    },
    "additionalProperties": False,
}


# ------------------------------------------------------------------ SARIF


@pytest.mark.parametrize("diagnostics", [[], [WRONG], [WRONG, ADVICE, WRONG], [Diagnostic("E0607", HOSTILE, NOWHERE, HOSTILE)]])
def test_sarif_fits_its_schema(diagnostics: list[Diagnostic]) -> None:
    """The log has the shape of SARIF 2.1.0, and its rules are those of its results."""
    log = json.loads(json.dumps(sarif(diagnostics)))
    jsonschema.Draft202012Validator(LOG).validate(log)
    run = log["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert (
        [rules[r["ruleIndex"]]["id"] for r in run["results"]]
        == [r["ruleId"] for r in run["results"]]
        == [d.code for d in diagnostics]
    )


def test_sarif_result() -> None:
    """A result names file, place, level and text, and its patch as a fix that gives the right text."""
    (result,) = sarif([WRONG])["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "rules/a%20b.rule"}
    assert place["region"] == {"startLine": 3, "startColumn": 9, "endColumn": 13, "snippet": {"text": "  title whre"}}
    assert (result["level"], result["message"]["text"]) == (
        "error",
        "`whre` can't stand here\nexpected: a text\nhint: did you mean where?",
    )
    (change,) = result["fixes"][0]["artifactChanges"]
    (replacement,) = change["replacements"]
    at = replacement["deletedRegion"]["charOffset"]
    assert TEXT[at : at + replacement["deletedRegion"]["charLength"]] == "whre"
    assert replacement["insertedContent"]["text"] == "where"


def test_sarif_of_no_place() -> None:
    """What stands nowhere has a file and no region; a mark that runs on ends with its line."""
    (nowhere,) = sarif([Diagnostic("E0402", "x", NOWHERE)])["runs"][0]["results"]
    assert "region" not in nowhere["locations"][0]["physicalLocation"]
    assert "fixes" not in nowhere
    assert remark(ADVICE).end_column == len("rule x {") + 1


def test_sarif_says_why() -> None:
    """Each rule of the log carries what its code means and why."""
    (rule,) = sarif([WRONG])["runs"][0]["tool"]["driver"]["rules"]
    assert rule["shortDescription"]["text"] == "the text does not follow the grammar"
    assert "Bad:" in rule["help"]["markdown"]
    assert rule["defaultConfiguration"] == {"level": "error"}


# ------------------------------------------------------------------ paths


def test_near(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path below the current folder is relative to it, another one stays as it is."""
    monkeypatch.chdir(tmp_path)
    assert near(str(tmp_path / "rules" / "a.rule")) == "rules/a.rule"
    assert near("rules/a.rule") == "rules/a.rule"
    assert near("/elsewhere/a.rule") == "/elsewhere/a.rule"
    assert sarif([Diagnostic("E0101", "x", Source("/elsewhere/a b.rule", "x").span(0, 1), "x")])["runs"][0]["results"][0][
        "locations"
    ][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///elsewhere/a%20b.rule"}


# ------------------------------------------------------------------ GitHub


def test_github() -> None:
    """An annotation names file, place and code; line breaks, percent signs, colons and commas mean nothing in it."""
    one = Remark("rules/a,b:c.rule", "E0101", "50% of\nit: a, b", "warning", 3, 9, 13)
    assert github([one]) == "::warning file=rules/a%2Cb%3Ac.rule,line=3,col=9,endColumn=13,title=E0101::50%25 of%0Ait: a, b\n"
    assert github([Remark("a.rule", "E0607", "x")]) == "::error file=a.rule,title=E0607::x\n"
    assert github([]) == ""


def test_github_hostile() -> None:
    """Nothing in a message or a path can start a command of its own or steer the terminal."""
    out = github([Remark(f"a\n::set-env::{HOSTILE}", "t\r\n::stop-commands::x", f"{HOSTILE}\n::error::forged\r::debug::x")])
    assert out.count("\n") == 1
    assert out.rstrip("\n").isprintable()
    assert out.startswith("::error file=a%0A%3A%3Aset-env")


# ------------------------------------------------------------------ JUnit


def test_junit() -> None:
    """A group is a suite, a check a test; remarks fail it, with place and text."""
    checks = [
        Check("g", "one"),
        Check("g", "two", (Remark("a.rule", "E0101", "first\nmore", line=3, column=9),)),
        Check("h", "three"),
    ]
    root = ET.fromstring(junit("check", checks))
    assert {key: root.get(key) for key in ("name", "tests", "failures")} == {"name": "rulecheck", "tests": "3", "failures": "1"}
    assert [(s.get("name"), s.get("tests"), s.get("failures")) for s in root] == [("check g", "2", "1"), ("check h", "1", "0")]
    (failure,) = root.iter("failure")
    assert failure.attrib == {"message": "first", "type": "E0101"}
    assert failure.text == "a.rule:3:9: error: E0101\nfirst\nmore"


def test_junit_warnings() -> None:
    """A warning fails a test only where that is asked for; else it is what the test printed."""
    checks = [Check("g", "one", (Remark("a.rule", "L0106", "mute", "warning"),))]
    strict, loose = ET.fromstring(junit("check", checks)), ET.fromstring(junit("check", checks, strict=False))
    assert (strict.get("failures"), loose.get("failures")) == ("1", "0")
    assert [e.text for e in loose.iter("system-out")] == ["a.rule: warning: L0106\nmute"]


def test_junit_hostile() -> None:
    """Whatever the texts hold, the document is XML, and their own marks and control characters are no part of it."""
    nasty = HOSTILE + "]]> <b> & \x00 \ufffe \udc80"
    root = ET.fromstring(junit(nasty, [Check(nasty, nasty, (Remark(nasty, nasty, nasty),))]))
    (failure,) = root.iter("failure")
    assert "]]> <b> &" in (failure.text or "")
    assert "\\x00" in (failure.text or "")
    assert len(list(root.iter())) == 4


def test_junit_of_nothing() -> None:
    """Without checks there is an empty suite, not a broken document."""
    root = ET.fromstring(junit("test", []))
    assert (root.get("tests"), len(root)) == ("0", 1)


# ------------------------------------------------------------------ remarks


def test_patch_without_place_is_kept_out() -> None:
    """A remark has no patch: only SARIF knows one."""
    patched = Diagnostic("E0101", "x", SPAN, "  title whre", patch=Patch("p", (Edit(SPAN, "where"),)))
    assert remark(patched) == Remark("rules/a b.rule", "E0101", "x", "error", 3, 9, 13)
