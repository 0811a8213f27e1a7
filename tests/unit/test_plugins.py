"""Entry points of other packages: loaded by group, checked for shape, used by rules."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest
from writing import codes, load_text, text_of

from denpex_rules import plugins
from denpex_rules.errors import PluginError
from denpex_rules.functions import Signature
from denpex_rules.library import load_pack, pack_folder, packs
from denpex_rules.plugins import Predicate
from denpex_rules.record import LineFormat
from denpex_rules.rule import Call, Condition, Constant
from denpex_rules.rule import Path as RulePath
from denpex_rules.values import CaptureType

SLOT = CaptureType("slot", r"[A-Z]\d+", lambda t: t.lower() if len(t) < 5 else None, "slot", "A7", "a slot of a rack")
GOOD = Predicate(
    Signature("known_good", (("host",),), "bool", "whether a host is known to be good"), lambda host: host == "node-07"
)


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModuleType]:
    """A module whose names the entry points of one package refer to."""
    module = ModuleType("rack_plugin")
    module.__dict__.update(
        slot=SLOT, known_good=GOOD, broken=3, folder=lambda: tmp_path, nowhere=lambda: tmp_path / "no", fails=lambda host: 1 / 0
    )
    monkeypatch.setitem(sys.modules, "rack_plugin", module)
    plugins.load.cache_clear()
    yield module
    plugins.load.cache_clear()


def offer(monkeypatch: pytest.MonkeyPatch, *points: tuple[str, str, str]) -> None:
    """Install entry points: name, attribute of the module, group."""
    made = [EntryPoint(name, f"rack_plugin:{attribute}", group) for name, attribute, group in points]
    monkeypatch.setattr(plugins, "entry_points", lambda group: [p for p in made if p.group == group])
    plugins.load.cache_clear()


def test_nothing_installed() -> None:
    """Every group can be asked; built-in capture types are always there."""
    for group in plugins.GROUPS:
        assert isinstance(plugins.load(group), dict)
    assert "pci" in plugins.capture_types()


def test_capture_type_in_a_rule(offered: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A template may use a plug-in's type; its values compare with each other and with texts that it can read."""
    offer(monkeypatch, ("slot", "slot", plugins.TYPES))
    events = '  event lost "slot {place:slot} lost {h:host} end"\n'
    condition = "  require lost\n  confirm again = lost where place == {} after lost"
    rule = load_text(text_of(condition.format('"A7"'), events=events)).rules[0]
    assert rule.steps[1].where[0].right == Constant("a7", "slot")
    assert codes(text_of(condition.format("lost.place"), events=events)) == []
    assert codes(text_of(condition.format('"A77777"'), events=events)) == ["E0305"]
    assert codes(text_of(condition.format("lost.h"), events=events)) == ["E0302"]


def test_predicate_in_a_rule(offered: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A predicate is a condition by itself, checked against its signature."""
    offer(monkeypatch, ("known_good", "known_good", plugins.PREDICATES))
    rule = load_text(text_of("  require lost\n  confirm timeout where known_good(host) after lost")).rules[0]
    call = Call("known_good", (RulePath("host"),))
    assert rule.steps[1].where == (Condition(call, "==", Constant(1, "bool")),)
    assert codes(text_of("  require lost\n  confirm timeout where known_good(rank) after lost")) == ["E0304"]
    assert plugins.apply(plugins.predicates()["known_good"], ("node-07",)) is True


def test_predicate_that_fails(offered: ModuleType) -> None:
    """A predicate that raises or returns no bool is a plug-in's error, not a crash."""
    for check in (offered.fails, lambda host: "yes"):
        with pytest.raises(PluginError, match="known_good"):
            plugins.apply(Predicate(GOOD.signature, check), ("node-07",))


def test_pack_of_a_package(offered: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A package offers a folder of rules; they are named `pack:path`."""
    offer(monkeypatch, ("rack", "folder", plugins.PACKS))
    (tmp_path / "hardware" / "gpu").mkdir(parents=True)
    (tmp_path / "hardware" / "gpu" / "lost.rule").write_text(text_of("  require lost"), encoding="utf-8")
    assert packs() == ("denpex", "rack")
    assert pack_folder("rack") == tmp_path
    (rule,) = load_pack("rack").rules
    assert rule.qualified == "rack:hardware.gpu.lost"


def test_log_format_of_a_package(offered: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package offers a log format by its own name."""
    offer(monkeypatch, ("acme", "form", plugins.FORMATS))
    offered.__dict__["form"] = LineFormat("acme", ("{time} [{rank}] {text}",))
    assert plugins.line_formats() == {"acme": LineFormat("acme", ("{time} [{rank}] {text}",))}
    offered.__dict__["form"] = LineFormat("other", ("{time} [{rank}] {text}",))
    plugins.load.cache_clear()
    with pytest.raises(PluginError, match="the same name as its entry point, not `other`"):
        plugins.line_formats()


@pytest.mark.parametrize(
    ("name", "attribute", "group"),
    [
        ("slot", "broken", plugins.TYPES),
        ("other", "slot", plugins.TYPES),
        ("slot", "missing", plugins.TYPES),
        ("known_good", "slot", plugins.PREDICATES),
        ("rank_of", "known_good", plugins.PREDICATES),
        ("rack", "nowhere", plugins.PACKS),
        ("rack", "broken", plugins.PACKS),
        ("form", "broken", plugins.FORMATS),
        ("form", "broken", plugins.RENDERERS),
    ],
)
def test_broken_promises(offered: ModuleType, monkeypatch: pytest.MonkeyPatch, name: str, attribute: str, group: str) -> None:
    """An entry point that can't be loaded or has the wrong shape is named."""
    offer(monkeypatch, (name, attribute, group))
    with pytest.raises(PluginError, match=name):
        plugins.load(group)


def test_two_of_one_name(offered: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two packages can't offer one name: neither would be the right one."""
    offer(monkeypatch, ("slot", "slot", plugins.TYPES), ("slot", "slot", plugins.TYPES))
    with pytest.raises(PluginError, match="two packages"):
        plugins.load(plugins.TYPES)
