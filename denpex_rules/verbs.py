"""The verbs of `rulecheck`, each loaded when it is used, and the command that they make together."""

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

_CHECK: Final = "denpex_rules.commands_check"
_RULES: Final = "denpex_rules.commands_rules"
_LOGS: Final = "denpex_rules.commands_logs"
_PACK: Final = "denpex_rules.commands_pack"
_LSP: Final = "denpex_rules.commands_lsp"
_DRAFT: Final = "denpex_rules.commands_draft"
_BACKTEST: Final = "denpex_rules.commands_backtest"
_AUTHOR: Final = "denpex_rules.commands_author"

# Where each verb lives. Its module is imported when the verb is used: scanning with a saved program loads no parser.
VERBS: Final[Mapping[str, str]] = {
    "scan": _LOGS,
    "correlate": _LOGS,
    "explain": _LOGS,
    "check": _CHECK,
    "test": _CHECK,
    "list": _RULES,
    "show": _RULES,
    "compile": _RULES,
    "fmt": _AUTHOR,
    "new": _DRAFT,
    "backtest": _BACKTEST,
    "cover": _PACK,
    "doc": _PACK,
    "lsp": _LSP,
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
        alone = typer.Typer(rich_markup_mode=None, add_completion=False)  # the other verbs of the module are not asked for
        verbs = import_module(VERBS[cmd_name]).app.registered_commands
        alone.registered_commands = [one for one in verbs if (one.name or one.callback.__name__) == cmd_name]
        return get_command(alone)


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
        raise typer.Exit(import_module(_CHECK).check_project())


def run(arguments: Sequence[str]) -> NoReturn:
    """Do what the arguments ask for, and exit.

    Args:
        arguments: what follows the command's name.
    """
    console.survive_any_encoding()
    try:
        get_command(app).main(args=list(arguments), prog_name="rulecheck")
    except RuleError as error:
        console.complain(str(error))
    except (DenpexError, OSError) as error:
        console.complain(f"rulecheck: {error}")
    sys.exit(2)
