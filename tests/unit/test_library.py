"""Files, folders and packs to one RuleSet."""

from __future__ import annotations

from pathlib import Path

import pytest
from writing import text_of

from denpex_rules import library
from denpex_rules.errors import RuleError, UsageError
from denpex_rules.library import check_paths, check_text, load_pack, load_paths, load_text, merge, rule_names
from denpex_rules.rule import PROGRESS

USING = """language 1
use lib.net.down as gone, lib.c10d.timeout
rule network.{name} {{
  title "Link down"
  class net.link_down
  per job within 1h
  require gone
  confirm timeout after gone
}}
"""


def pack(folder: Path) -> Path:
    """Return a folder that is a pack of one building block and one rule."""
    (folder / "lib").mkdir(parents=True)
    (folder / "network").mkdir()
    (folder / "lib" / "net.rule").write_text(
        'language 1\nevent down "Link is Down"\nidentity event nic "nic {device:device} of {host:host}"\n'
    )
    (folder / "network" / "link.rule").write_text(USING.format(name="link"))
    return folder


def test_shipped_pack() -> None:
    """The shipped pack is sound, and every event that a step names is in it."""
    found = load_pack()
    assert found.rules
    ids = {e.id for e in found.events}
    assert {s.event for r in found.rules for s in r.steps} - {"silence"} <= ids
    assert len(ids) == len(found.events)


def test_text_uses_shipped_building_blocks() -> None:
    """`use` in a text gives the shipped event, under its one id, by its name or an alias."""
    text = text_of("  require lost\n  confirm timed = late after lost").replace("rule", "use lib.c10d.timeout as late\nrule", 1)
    found = load_text(text, pack="mine")
    assert found.rules[0].steps[1].event == "denpex:lib.c10d#timeout"
    assert found.event("denpex:lib.c10d#timeout").name == "timeout"
    assert found.rules[0].qualified == "mine:hardware.gpu.lost"


def test_every_set_can_tell_who_is_who() -> None:
    """Identity and progress events of the shipped pack come with any rule."""
    found = load_text(text_of("  require lost"))
    shipped = [e for e in load_pack().events if e.identity or PROGRESS in e.id]
    assert shipped
    assert {e.id for e in shipped} <= {e.id for e in found.events}


def test_folder_is_a_pack(tmp_path: Path) -> None:
    """Rules of a folder use its own building blocks and the shipped ones."""
    found = load_paths([pack(tmp_path)], pack="mine")
    (rule,) = found.rules
    assert rule.qualified == "mine:network.link"
    assert [s.event for s in rule.steps] == ["mine:lib.net#down", "denpex:lib.c10d#timeout"]
    assert found.event("mine:lib.net#nic").identity


def test_file_of_a_pack_and_file_alone(tmp_path: Path) -> None:
    """A file inside a pack sees its pack; one outside sees the shipped building blocks."""
    root = pack(tmp_path / "pack")
    assert load_paths([root / "network" / "link.rule"], pack="mine").rules[0].id == "network.link"
    alone = tmp_path / "alone.rule"
    alone.write_text(text_of("  require lost"))
    assert load_paths([alone]).rules[0].id == "hardware.gpu.lost"
    assert [e.id for e in load_paths([root / "lib" / "net.rule"], pack="mine").events if e.id.startswith("mine")] == [
        "mine:lib.net#down",
        "mine:lib.net#nic",
    ]


def test_folder_inside_a_pack(tmp_path: Path) -> None:
    """A folder inside a pack is read as a part of that pack."""
    root = pack(tmp_path)
    (rule,) = load_paths([root / "network"], pack="mine").rules
    assert rule.id == "network.link"


def test_overlapping_paths(tmp_path: Path) -> None:
    """A file that several paths name is read once."""
    root = pack(tmp_path)
    assert len(load_paths([root, root / "network", root / "network" / "link.rule"]).rules) == 1


def test_malformed_classes_are_diagnostics(tmp_path: Path) -> None:
    """A pack's malformed taxonomy is among the diagnostics, like any mistake of its files."""
    root = pack(tmp_path)
    (root / "taxonomy.toml").write_text("colour = 3\n")
    found, diagnostics = check_paths([root])
    assert found is None
    assert [d.code for d in diagnostics] == ["E0607"]


def test_one_event_a_file(tmp_path: Path) -> None:
    """The event `down` of lib/net/down.rule is the building block lib.net.down too."""
    root = pack(tmp_path)
    (root / "lib" / "net.rule").unlink()
    (root / "lib" / "net").mkdir()
    (root / "lib" / "net" / "down.rule").write_text('language 1\nevent down "Link is Down"\n')
    assert load_paths([root], pack="mine").rules[0].steps[0].event == "mine:lib.net.down#down"


def test_own_classes(tmp_path: Path) -> None:
    """A pack's taxonomy adds classes to the shipped ones."""
    root = pack(tmp_path)
    head = '[[class]]\nid = "my.class"\ntitle = "t"\ndefinition = "d"\n'
    (root / "taxonomy.toml").write_text(head + 'layer = "host"\nrole = "cause"\nscope = "host"\naccuse = "printer"\n')
    rule = root / "network" / "link.rule"
    rule.write_text(rule.read_text().replace("class net.link_down", "class my.class\n  causes net.link_down"))
    assert load_paths([root]).rules[0].cls == "my.class"


def test_all_mistakes_of_all_files(tmp_path: Path) -> None:
    """One exception carries the mistakes of every file, each with its path."""
    root = pack(tmp_path)
    (root / "network" / "a.rule").write_text(USING.format(name="a").replace("require gone", "require gne"))
    (root / "network" / "b.rule").write_text(USING.format(name="other"))
    (root / "network" / "c.rule").write_bytes(b"language 1\n\xff\n")
    with pytest.raises(RuleError) as caught:
        load_paths([root])
    found = [(Path(d.span.path).name, d.code) for d in caught.value.diagnostics]
    assert set(found) == {("a.rule", "E0201"), ("b.rule", "E0605"), ("c.rule", "E0105")}


def test_broken_building_block_is_reported_where_it_stands(tmp_path: Path) -> None:
    """A rule that uses a broken building block has no echo of it; the block's own mistake is reported."""
    root = pack(tmp_path)
    (root / "lib" / "net.rule").write_text("language 1\nevent down Link\n")
    found, diagnostics = check_paths([root])
    assert found is None
    assert [(Path(d.span.path).name, d.code) for d in diagnostics] == [("net.rule", "E0101")]


def test_one_rule_in_two_texts() -> None:
    """Merging sets keeps a rule that is the same, and refuses two rules of one name."""
    one, same = load_text(text_of("  require lost")), load_text(text_of("  require lost"))
    assert merge([one, same]).rules == one.rules
    with pytest.raises(RuleError, match="defined twice"):
        merge([one, load_text(text_of("  require timeout"))])


@pytest.mark.parametrize("name", ["nothing", "nothing.rule"])
def test_missing_paths(tmp_path: Path, name: str) -> None:
    """A path that is not there and a folder without rules are the caller's mistakes."""
    with pytest.raises(UsageError):
        load_paths([tmp_path / name])
    with pytest.raises(UsageError):
        load_paths([tmp_path])


def test_unknown_pack() -> None:
    """An unknown pack is named, with those that are known."""
    with pytest.raises(UsageError, match="denpex"):
        load_pack("denpx")


def test_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    """A byte order mark at the start of a file or text is skipped."""
    path = tmp_path / "a.rule"
    path.write_text("\ufeff" + text_of("  require lost"), encoding="utf-8")
    assert load_paths([path]).rules
    assert check_text("\ufeff" + text_of("  require lost"))[1] == ()


def test_names_of_rules_come_from_their_paths(tmp_path: Path) -> None:
    """The shipped rules are known, and those of the pack around a path, whether it is a file, a folder or the pack itself."""
    root = pack(tmp_path / "my")
    shipped = rule_names()
    assert {f"denpex:{rule.id}" for rule in load_pack().rules} <= shipped
    assert "denpex:network.link" not in shipped
    for path in (root, root / "network", root / "network" / "link.rule"):
        assert rule_names([path]) - shipped == {"denpex:network.link"}


def test_forgotten_building_blocks_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shipped building blocks are read once; after they were changed on disk, whoever changed them has them read again."""
    (tmp_path / "lib").mkdir()
    block = tmp_path / "lib" / "shards.rule"
    text = 'language 1\nrule a.b {\n  title "t"\n  class gpu.fell_off_bus\n  per job within 1h\n  require gone\n  blame none\n}\n'
    use = text.replace("language 1\n", "language 1\nuse lib.shards.gone\n")
    block.write_text('language 1\nevent gone in rank "shard {file:path} is gone"\n', encoding="utf-8")
    monkeypatch.setattr(library, "shipped", lambda _: tmp_path)
    library.forget()
    try:
        assert library.check_text(use)[1] == ()
        block.write_text('language 1\nevent lost in rank "shard {file:path} is lost"\n', encoding="utf-8")
        assert library.check_text(use)[1] == ()
        library.forget()
        assert [d.code for d in library.check_text(use)[1]] == ["E0203"]
    finally:
        library.forget()
