"""The verb for editors: `lsp`."""

from __future__ import annotations

import gc
from importlib import import_module
from importlib.util import find_spec
from typing import Final

import typer

from denpex_rules.errors import UsageError

GARBAGE: Final = 50_000  # objects between two collections: a server runs for long
_SERVER: Final = "denpex_rules.server"  # brings what only the extra `lsp` installs

app: Final = typer.Typer(rich_markup_mode=None)


@app.callback()
def root() -> None:
    """Keep the verb a verb though it is alone here."""


@app.command(short_help="Serve an editor.")
def lsp() -> None:
    """Serve an editor over standard input and output, by the Language Server Protocol. Editors start it, nobody else."""
    if find_spec("pygls") is None:
        raise UsageError("the language server needs pygls: pip install 'denpex-rules[lsp]'")
    gc.set_threshold(GARBAGE)
    import_module(_SERVER).server.start_io()
