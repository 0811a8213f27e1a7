"""The shipped grammar and rules are found."""

from __future__ import annotations

import pytest

from denpex_rules.errors import UsageError
from denpex_rules.shipped import shipped


def test_shipped_folders() -> None:
    """Grammar and rules are there, wherever the package is installed."""
    assert (shipped("grammar") / "denpex.lark").is_file()
    assert (shipped("rules") / "taxonomy.toml").is_file()


def test_missing_folder() -> None:
    """A damaged installation is named as such."""
    with pytest.raises(UsageError, match="reinstall"):
        shipped("no_such_folder")
