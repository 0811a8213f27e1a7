"""Rules from several places in one."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from denpex_rules import gather, library, plugins
from denpex_rules.errors import RuleError, UsageError
from denpex_rules.rule import RuleSet
from samples import RULE, workshop, write_files

TAXONOMY = """\
[[class]]
id = "shard.broken"
title = "A shard is broken"
definition = "The bytes of a shard are not those that were written."
layer = "storage"
role = "cause"
scope = "rank"
accuse = "printer"
"""


@pytest.fixture
def my(tmp_path: Path) -> Path:
    """Return a folder with one rule."""
    return workshop(tmp_path) / "my"


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> RuleSet:
    """Stand a small pack in for the shipped one."""
    rules = library.load_text(RULE)
    other = library.load_text(RULE.replace("storage.broken_shard", "host.full"))
    whole = library.merge([rules, other])
    monkeypatch.setattr(gather.library, "load_pack", lambda name=library.SHIPPED: whole)
    return whole


def ids(rules: RuleSet) -> list[str]:
    """Return the paths of rules."""
    return sorted(rule.id for rule in rules.rules)


def test_own_rules_alone(my: Path) -> None:
    """Without the pack there is only what is named."""
    assert ids(gather.load_rules([str(my)], pack=False)) == ["storage.broken_shard"]
    assert ids(gather.load_rules([my / "storage/broken_shard.rule"], pack=False)) == ["storage.broken_shard"]


def test_no_rules_at_all() -> None:
    """Neither pack nor rules is an error."""
    with pytest.raises(UsageError, match="no rules"):
        gather.load_rules([], pack=False)


def test_pack_alone(shipped: RuleSet) -> None:
    """Without rules of one's own there is the pack."""
    assert ids(gather.load_rules([], pack=True)) == ids(shipped)


def test_own_rules_replace_shipped_ones(my: Path, shipped: RuleSet) -> None:
    """A rule of the same path takes the place of the shipped one; all others stay."""
    write_files(my, {"storage/broken_shard.rule": RULE.replace("A rank gave up", "Changed")})
    chosen = gather.load_rules([my], pack=True)
    assert ids(chosen) == ids(shipped)
    titles = {rule.id: rule.title for rule in chosen.rules}
    assert titles["storage.broken_shard"] == "Changed on a broken shard"
    assert titles["host.full"] == "A rank gave up on a broken shard"


def test_part_of_a_pack(shipped: RuleSet) -> None:
    """`pack:path` is one rule, all rules below a path, or the whole pack."""
    assert ids(gather.load_rules(["denpex:storage.broken_shard"], pack=False)) == ["storage.broken_shard"]
    assert ids(gather.load_rules(["denpex:host"], pack=False)) == ["host.full"]
    assert ids(gather.load_rules(["denpex:"], pack=False)) == ids(shipped)
    with pytest.raises(UsageError, match="the pack denpex has no rule stor"):
        gather.load_rules(["denpex:stor"], pack=False)


@pytest.fixture
def installed(my: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install the folder as the pack `acme`."""
    points = EntryPoints([EntryPoint("acme", "acme_rules", plugins.PACKS)])
    monkeypatch.setattr(plugins, "entry_points", lambda group: points.select(group=group))
    monkeypatch.setattr(plugins, "_import", lambda point: lambda: my)
    plugins.load.cache_clear()
    yield my
    plugins.load.cache_clear()


def test_installed_pack(installed: Path) -> None:
    """An installed pack has its own namespace and brings its own classes."""
    write_files(installed, {"taxonomy.toml": TAXONOMY})
    write_files(installed, {"storage/broken_shard.rule": RULE.replace("storage.checkpoint_corrupt", "shard.broken")})
    program = gather.compile_named(["acme:"], pack=False)
    assert [rule.qualified for rule in program.rules] == ["acme:storage.broken_shard"]
    assert [known.id for known in program.classes] == ["shard.broken"]


def test_unknown_pack(installed: Path) -> None:
    """A pack that is not installed is answered with the closest that is."""
    with pytest.raises(UsageError, match="there is no rule pack `acm`; did you mean acme"):
        gather.load_rules(["acm:x"], pack=False)


def test_classes_of_a_folder(my: Path) -> None:
    """A folder's own taxonomy goes into the program with the shipped classes that its rules name."""
    write_files(
        my, {"taxonomy.toml": TAXONOMY, "storage/broken_shard.rule": RULE.replace("storage.checkpoint_corrupt", "shard.broken")}
    )
    program = gather.compile_named([my], pack=False)
    assert [(known.id, known.role) for known in program.classes] == [("shard.broken", "cause")]


def test_compile_quotes_the_rule(my: Path) -> None:
    """A mistake that the compiler finds quotes its line of the rule file."""
    write_files(my, {"storage/broken_shard.rule": RULE.replace("shard {file:path}: read again", "{file:path}")})
    with pytest.raises(RuleError) as caught:
        gather.compile_named([my], pack=False)
    assert [d.code for d in caught.value.diagnostics] == ["E0502"]
    assert "event again" in caught.value.diagnostics[0].source


def test_check(my: Path) -> None:
    """A check counts rules, or gives every mistake and no count."""
    assert gather.check([my]) == (1, ())
    write_files(my, {"storage/broken_shard.rule": RULE.replace("1h", "1").replace("  class ", "  clas ")})
    count, diagnostics = gather.check([my])
    assert count is None
    assert len(diagnostics) >= 2


def test_check_gives_advice_about_what_is_named(my: Path) -> None:
    """Advice comes with rules that have no mistake, about the files that were given and no others."""
    mute = RULE.replace("storage.broken_shard", "storage.second").replace('  do  "Restore', '  # "Restore')
    write_files(my, {"storage/second.rule": mute})
    write_files(my, {"lib/shards.rule": 'language 1\n\nevent lost in rank "shard {file:path} is gone"\n'})
    count, advice = gather.check([my / "storage/broken_shard.rule"])
    assert (count, advice) == (1, ())
    count, advice = gather.check([my])
    assert (count, sorted(d.code for d in advice)) == (2, ["L0106", "L0108"])
    assert all(d.severity == "warning" and d.source for d in advice)


def test_check_knows_rules_beside_the_given_ones(my: Path) -> None:
    """`see` may name any rule of the file's own pack or of the shipped one, though it is not checked."""
    rule = my / "storage/broken_shard.rule"
    write_files(my, {"taxonomy.toml": TAXONOMY, "host/full.rule": RULE.replace("storage.broken_shard", "host.full")})
    for name, codes in (("host.full", []), ("hardware.gpu.fell_off_bus", []), ("host.empty", ["L0109"])):
        rule.write_text(RULE.replace("storage.full", name), encoding="utf-8")
        assert [d.code for d in gather.check([rule])[1]] == codes
