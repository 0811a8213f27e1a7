"""Where the shipped grammar and rules are: inside an installed package, or beside it in a source tree."""

from __future__ import annotations

from pathlib import Path

from denpex_rules.errors import UsageError


def shipped(name: str) -> Path:
    """Return the shipped folder `grammar` or `rules`.

    A wheel carries both inside the package; a source tree has them beside it.

    Raises:
        UsageError: neither place has the folder, so the installation is damaged.
    """
    package = Path(__file__).resolve().parent
    for folder in (package / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise UsageError(f"the shipped folder `{name}` is missing from {package}: reinstall denpex-rules")
