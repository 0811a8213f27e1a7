"""Which rules a command works with: the shipped pack, rules beside it, or a saved program."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated, Final

import typer

from denpex_rules import plugins
from denpex_rules.errors import UsageError
from denpex_rules.mistake import did_you_mean
from denpex_rules.program import Program, load_program
from denpex_rules.rule import Rule

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


def find_rule(program: Program, name: str) -> Rule:
    """Return a rule by its path or `pack:path`. Raises UsageError where there is none."""
    for rule in program.rules:
        if name in {rule.id, rule.qualified}:
            return rule
    hint = did_you_mean(name, [rule.id for rule in program.rules])
    raise UsageError(f"unknown rule {name}" + (f"; {hint}" if hint else ""))
