"""Which rules a command works with (the shipped pack, rules beside it, or a saved program), and in which form it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from denpex_rules import console, plugins, schema
from denpex_rules.cache import cached
from denpex_rules.errors import UsageError
from denpex_rules.mistake import did_you_mean
from denpex_rules.program import Program, load_program
from denpex_rules.rule import Rule
from denpex_rules.shipped import shipped

_GATHER: Final = "denpex_rules.gather"  # brings the parser: imported when there are rules to read, not for a saved program


class Form(StrEnum):
    """The forms of an answer that is no report."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"


RulesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--rules", metavar="PATH", help="Rules of your own: a file, a folder, or pack:path of an installed pack. Repeatable."
    ),
]
PackOption = Annotated[bool, typer.Option("--pack/--no-pack", help="Use the shipped rules too.")]
ProgramOption = Annotated[Path | None, typer.Option("--program", metavar="FILE", help="Use a saved program instead of rules.")]
FormOption = Annotated[Form, typer.Option("--format", help="The form of the answer.")]


def choose_program(rules: Sequence[str | Path] | None, program: Path | None, *, pack: bool) -> Program:
    """Return the program that a command's options ask for.

    Args:
        rules: rule files and folders, and `pack:path` of installed packs; they replace shipped rules of the same path.
        program: a saved program, instead of rules.
        pack: whether the shipped rules take part.

    Raises:
        UsageError: options that exclude each other, no rules at all, or a path or pack that does not exist.
        RuleError: a rule has mistakes.
        ProgramError: the saved program can't be used.
    """
    if program is not None:
        if rules or not pack:
            raise UsageError("--program holds its rules already: leave out --rules and --no-pack")
        return load_program(program, plugins.capture_types())
    compiled: Program = import_module(_GATHER).compile_named(rules or (), pack=pack)
    return compiled


def scan_program(rules: Sequence[str | Path] | None, program: Path | None, *, pack: bool) -> Program:
    """Return what `choose_program` would, as it was compiled before where the same rules were; it quotes no rule file."""
    named = [str(one) for one in rules or ()]
    if program is not None or (not named and not pack) or any(":" in one and not Path(one).exists() for one in named):
        return choose_program(rules, program, pack=pack)  # a saved one, an error, or a pack whose files are elsewhere
    sources = [Path(one) for one in named] + ([shipped("rules")] if pack else [])
    return cached(sources, plugins.capture_types(), lambda: choose_program(rules, program, pack=pack))


def known_rules(rules: Sequence[str | Path] | None, program: Path | None, *, pack: bool) -> Program:
    """Return what `choose_program` would, and where nothing is named the rules of every installed pack too: to list, not to scan.

    Raises:
        UsageError: as `choose_program`.
        RuleError: a rule has mistakes.
        PluginError: a package that offers a pack does not keep its promise.
    """
    installed = [f"{name}:" for name in sorted(plugins.load(plugins.PACKS))] if pack and program is None and not rules else []
    return choose_program(rules or installed, program, pack=pack)


def find_rule(program: Program, name: str) -> Rule:
    """Return a rule by its path or `pack:path`. Raises UsageError where there is none."""
    for rule in program.rules:
        if name in {rule.id, rule.qualified}:
            return rule
    hint = did_you_mean(name, [rule.id for rule in program.rules])
    raise UsageError(f"unknown rule {name}" + (f"; {hint}" if hint else ""))


def write_rows(form: Form, head: Mapping[str, Any], name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows to standard output as one JSON document, or one line each, the summary last.

    Args:
        form: JSON or JSONL.
        head: what stands beside the rows.
        name: what the rows are called in the document.
        rows: the rows.
    """
    if form is Form.JSON:
        console.write(schema.dump({**head, name: rows}, indent=2) + "\n")
    else:
        summary = [{"type": "summary", **head}] if head else []
        console.write("".join(schema.dump(row) + "\n" for row in (*rows, *summary)))
