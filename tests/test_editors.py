"""What editors get: the grammar for TextMate, the one for Vim, the extension, and the settings that the documentation shows."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import fields
from pygments.token import Comment, Keyword, Name, String, _TokenType

import examples
from denpex_rules import __version__, verbs
from denpex_rules.highlight import RuleLexer
from denpex_rules.parser import keywords, words
from denpex_rules.shipped import shipped
from denpex_rules.sighting import Actor

ROOT = Path(__file__).resolve().parents[1]
VSCODE = ROOT / "docs" / "editors" / "vscode"
VIM = ROOT / "docs" / "editors" / "vim" / "syntax" / "denpex.vim"
HOW_TO = ROOT / "docs" / "how-to" / "editors.md"
GRAMMAR = json.loads((VSCODE / "syntaxes" / "denpex.tmLanguage.json").read_text(encoding="utf-8"))
PACKAGE = json.loads((VSCODE / "package.json").read_text(encoding="utf-8"))

FIELDS = {field.name for field in fields(Actor)}
STATEMENTS = (words().statements | words().details | {"language", "use", "rule"}) - FIELDS


def listed(pattern: str) -> set[str]:
    """Return the words of a pattern that is a list of words."""
    return set(re.findall(r"[a-z_]{2,}", pattern))


# ------------------------------------------------------------------ a TextMate engine for grammars whose rules end with the line


def patterns(rules: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield rules with their includes followed."""
    for rule in rules:
        yield GRAMMAR["repository"][rule["include"].removeprefix("#")] if "include" in rule else rule


def scopes(line: str, rules: list[dict[str, Any]], start: int = 0, end: str = "") -> Iterator[tuple[int, int, str]]:
    """Yield [start, end) and scope of what rules find in a line, and where their text ends; the first of the nearest wins."""
    while True:
        found = [(match.start(), n, match) for n, rule in enumerate(rules) if (match := search(rule, line, start))]
        closing = re.compile(end).search(line, start) if end else None
        at, n, match = min(found, default=(len(line) + 1, 0, None))
        if closing is not None and closing.start() <= at:
            yield closing.start(), closing.end(), ""
            return
        if match is None:
            return
        rule = rules[n]
        start = match.end()
        if "begin" in rule:
            inner = list(scopes(line, list(patterns(rule.get("patterns", []))), start, rule["end"]))
            start = inner[-1][1]
            yield match.start(), start, rule["name"]
            yield from inner[:-1]
        else:
            yield from [(*match.span(), rule["name"])] if "name" in rule else []
            yield from [(*match.span(int(group)), part["name"]) for group, part in rule.get("captures", {}).items()]


def search(rule: dict[str, Any], line: str, start: int) -> re.Match[str] | None:
    """Return where a rule finds something at or behind `start`."""
    return re.compile(rule.get("match") or rule["begin"]).search(line, start)


def textmate(line: str) -> list[str]:
    """Return for each character of a line what the TextMate grammar sees in it."""
    seen = [""] * len(line)
    for start, end, scope in scopes(line, list(patterns(GRAMMAR["patterns"]))):
        kind = "word" if re.match(r"keyword\.(control|other)|variable\.language", scope) else ""
        kind = "text" if re.match(r"comment|string", scope) else kind
        seen[start:end] = [kind or before for before in seen[start:end]]
    return seen


def pygments(text: str) -> Iterator[list[str]]:
    """Yield for each line what the lexer sees in each of its characters."""
    seen: list[str] = []
    for kind, piece in RuleLexer().get_tokens(text):
        for char in piece:
            if char == "\n":
                yield seen
                seen = []
            else:
                seen.append(named(kind))


def named(kind: _TokenType) -> str:
    """Return which of the kinds that are compared this is."""
    if kind in Comment or kind in String:
        return "text"
    return "word" if kind is Keyword or kind is Name.Builtin else ""


# ------------------------------------------------------------------ tests


def test_words() -> None:
    """The grammars for TextMate and Vim list the reserved words of the language, and no others."""
    repository, vim = GRAMMAR["repository"], dict(re.findall(r"syntax match denpex(\w+) /(.*)/", VIM.read_text(encoding="utf-8")))
    for one, other, known in (
        ("field", "Field", FIELDS),
        ("statement", "Statement", STATEMENTS),
        ("word", "Word", keywords() - STATEMENTS - FIELDS),
    ):
        assert listed(repository[one]["match"]) == known
        assert listed(vim[other]) == known


def test_regexes() -> None:
    """Every regex of the grammar and of the settings can be compiled, and every include leads somewhere."""
    settings = json.loads((VSCODE / "language-configuration.json").read_text(encoding="utf-8"))
    found = [text for rule in GRAMMAR["repository"].values() for key, text in rule.items() if key in {"match", "begin", "end"}]
    for text in (*found, settings["wordPattern"], *settings["indentationRules"].values()):
        re.compile(text)
    assert {rule["include"].removeprefix("#") for rule in GRAMMAR["patterns"]} == set(GRAMMAR["repository"])


def test_pack() -> None:
    """In every file of the pack the TextMate grammar and the lexer agree on what is a reserved word and what is text."""
    for path in sorted(shipped("rules").rglob("*.rule")):
        text = path.read_text(encoding="utf-8")
        for line, expected in zip(text.splitlines(), pygments(text), strict=True):
            assert textmate(line) == expected, f"{path}: {line}"


@pytest.mark.parametrize(
    ("line", "indents"),
    [
        ("rule a.b {", True),
        ("  event lost error in kernel  # why", True),
        ("    any(", True),
        ('  event lost error in kernel "x"', False),
        ('  title   "rule {"', False),
        ("}", False),
    ],
)
def test_indentation(line: str, *, indents: bool) -> None:
    """The line below the start of a block stands further in."""
    rules = json.loads((VSCODE / "language-configuration.json").read_text(encoding="utf-8"))["indentationRules"]
    assert bool(re.search(rules["increaseIndentPattern"], line)) is indents


def test_extension() -> None:
    """The extension names files that exist, settings and commands that it declares, and has the version of the package."""
    contributed = PACKAGE["contributes"]
    assert PACKAGE["version"] == __version__
    for name in (PACKAGE["main"], contributed["languages"][0]["configuration"], contributed["grammars"][0]["path"]):
        assert (VSCODE / name).is_file()
    assert contributed["grammars"][0]["scopeName"] == GRAMMAR["scopeName"]
    assert contributed["languages"][0]["id"] == contributed["grammars"][0]["language"] == RuleLexer.aliases[0]
    script = (VSCODE / PACKAGE["main"]).read_text(encoding="utf-8")
    declared = {one["command"] for one in contributed["commands"]} | set(contributed["configuration"]["properties"])
    assert set(re.findall(r'"(denpex\.\w+)"', script)) == declared
    assert {name for name in re.findall(r'require\("([\w-]+)', script) if name != "vscode"} == set(PACKAGE["dependencies"])


def test_settings_in_the_documentation() -> None:
    """The settings for editors are well-formed, start a verb that exists, and pack the version that is."""
    blocks = {block.language: block.text for block in examples.blocks(HOW_TO)}
    helix = tomllib.loads(blocks["toml"])
    server = helix["language-server"]["rulecheck"]
    assert server["command"] == "rulecheck"
    assert server["args"][0] in verbs.VERBS
    assert helix["language"][0]["language-servers"] == ["rulecheck"]
    assert f'cmd = {{ "rulecheck", "{server["args"][0]}" }}' in blocks["lua"]
    assert set(json.loads(blocks["json"])) == {*PACKAGE["contributes"]["configuration"]["properties"], "[denpex]"}
    for page in (HOW_TO, VSCODE / "README.md"):
        assert f"{PACKAGE['name']}-{__version__}.vsix" in page.read_text(encoding="utf-8")
