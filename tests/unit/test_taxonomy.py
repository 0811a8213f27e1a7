"""Classes of failures: the shipped ones, a pack's own, and what is wrong with a file of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_rules.errors import RuleError
from denpex_rules.taxonomy import Taxonomy, load_taxonomy, shipped_taxonomy

ONE = """
[[class]]
id = "my.class"
title = "Mine"
definition = "It holds."
layer = "host"
role = "cause"
scope = "host"
accuse = "printer"
"""


def written(folder: Path, text: str) -> Path:
    """Return a taxonomy file with this text."""
    path = folder / "taxonomy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_shipped_classes() -> None:
    """The shipped classes are sound: typed, described, and their upstream classes exist."""
    taxonomy = shipped_taxonomy()
    assert len(taxonomy.classes) > 100
    lost = taxonomy.get("gpu.fell_off_bus")
    assert lost is not None
    assert (lost.role, lost.layer, lost.accuse) == ("cause", "hardware", "device_in_message")
    for one in taxonomy.classes.values():
        assert one.title
        assert one.definition
        assert all(name in taxonomy for name in one.upstream), one.id
        assert one.id not in one.upstream


def test_own_classes_beside_shipped_ones(tmp_path: Path) -> None:
    """A pack's classes may name shipped ones upstream."""
    text = ONE + 'upstream = ["gpu.fell_off_bus"]\nsignals = ["x.y"]\n'
    taxonomy = load_taxonomy(written(tmp_path, text), shipped_taxonomy())
    assert "my.class" in taxonomy
    assert "gpu.fell_off_bus" in taxonomy
    assert Taxonomy().merge(taxonomy) == taxonomy


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ONE.replace('"host"\nrole', '"moon"\nrole'), "unknown layer"),
        (ONE.replace('"cause"', '"reason"'), "unknown role"),
        (ONE.replace('title = "Mine"\n', ""), "lacks a text for `title`"),
        (ONE.replace('id = "my.class"\n', ""), "lacks a text for `id`"),
        (ONE + 'upstream = ["no.such"]\n', "unknown class upstream"),
        (ONE + 'upstream = "gpu"\n', "needs a list"),
        (ONE + "without_rule = 3\n", "needs a text for `without_rule`"),
        (ONE + "colour = 3\n", "unknown field `colour`"),
        (ONE + ONE, "defined twice"),
        ("other = 1\n", "tables only"),
        ("id =", "not a TOML file"),
        ("class = 3\n", "tables only"),
        ("class = [3]\n", "tables only"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, said: str) -> None:
    """What is wrong with a taxonomy is said, with its class."""
    with pytest.raises(RuleError, match=said) as caught:
        load_taxonomy(written(tmp_path, text))
    assert {d.code for d in caught.value.diagnostics} == {"E0607"}
