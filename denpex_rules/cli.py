"""`rulecheck`, the command: its verbs, loaded when they are used, and its exit codes.

0: nothing found, or all pass; 1: something found, or a case fails; 2: usage or rule errors; 130: interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from denpex_rules import __version__, console
from denpex_rules.errors import DenpexError, RuleError

_RULES: Final = "denpex_rules.commands_rules"
_LOGS: Final = "denpex_rules.commands_logs"
_PACK: Final = "denpex_rules.commands_pack"

# Where each verb lives. Its module is imported when the verb is used: scanning with a saved program loads no parser.
VERBS: Final[Mapping[str, str]] = {
    "scan": _LOGS,
    "correlate": _LOGS,
    "explain": _LOGS,
    "check": _RULES,
    "test": _RULES,
    "list": _RULES,
    "show": _RULES,
    "compile": _RULES,
    "cover": _PACK,
    "doc": _PACK,
}


class Verbs(TyperGroup):
    """A group that knows its verbs by name and imports each when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature is typer's
        """Return the names of the verbs."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Return a verb, None when there is none of that name."""
        if cmd_name not in VERBS:
            return None
        commands: Any = get_command(import_module(VERBS[cmd_name]).app)
        return commands.commands[cmd_name]


app = typer.Typer(
    cls=Verbs,
    name="rulecheck",
    help="Name the rank, host and device of a failed job that failed first; write and prove the rules that do.",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.callback()
def root(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Without a verb: check and test what the current folder's [tool.rulecheck] names."""
    if version:
        console.write(f"rulecheck {__version__}\n")
        raise typer.Exit
    if context.invoked_subcommand is None:
        raise typer.Exit(import_module(_RULES).check_project())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run `rulecheck` and exit.

    Args:
        arguments: what follows the command's name; those of the process when None.
    """
    console.survive_any_encoding()
    try:
        get_command(app).main(args=None if arguments is None else list(arguments), prog_name="rulecheck")
    except RuleError as error:
        console.complain(str(error))
    except (DenpexError, OSError) as error:
        console.complain(f"rulecheck: {error}")
    sys.exit(2)
