"""Advice: for each code a rule that earns it and one that does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from denpex_rules import library
from denpex_rules.errors import CODES, Diagnostic, Source
from denpex_rules.lint import lint_rules
from denpex_rules.taxonomy import Taxonomy, load_taxonomy, shipped_taxonomy

EVENTS = """
  event lost error in kernel "NVRM: Xid (PCI:{device:pci}): 79,"
    like "NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus."
"""
LAST = EVENTS + '  event seen in rank "saw the last batch of shard {file:path}"\n    like "saw the last batch of shard /data/a"\n'
KNOWN = frozenset({"denpex:hardware.gpu.lost"})


def text_of(
    steps: str = "  require lost",
    *,
    events: str = EVENTS,
    meta: str = "",
    name: str = "hardware.gpu.lost",
    cls: str = "gpu.fell_off_bus",
    do: str = '  do "Reset the host."',
) -> str:
    """Return a whole rule file."""
    head = f'language 1\nrule {name} {{\n  title "GPU lost"\n  class {cls}\n{meta}'
    return f"{head}{events}\n  per job within 2h\n{steps}\n  blame none\n{do}\n}}\n"


def advice(*texts: str, taxonomy: Taxonomy | None = None, known: frozenset[str] = KNOWN) -> list[Diagnostic]:
    """Return the advice about rule files."""
    rules = library.merge([library.load_text(text) for text in texts])
    found = lint_rules(rules, taxonomy or shipped_taxonomy(), known=known)
    return [d for d in found if d.span.path == "<text>"]  # the shipped building blocks are advised about elsewhere


def codes(*texts: str, **options: Taxonomy) -> list[str]:
    """Return the codes of the advice about rule files."""
    return [d.code for d in advice(*texts, **options)]


def event(pattern: str, head: str = "event lost") -> str:
    """Return an event without an example."""
    return f"  {head} {pattern}\n"


def test_nothing_to_say() -> None:
    """A rule with examples, kinds, remedy and no rival gets no advice."""
    assert codes(text_of(meta='  status stable since "0.1"\n')) == []


def test_advice_is_a_warning_with_its_line() -> None:
    """Advice is never an error, and quotes the line that it is about."""
    text = text_of(do="")
    rules = library.load_text(text)
    (found,) = (d for d in lint_rules(rules, shipped_taxonomy(), sources={"<text>": Source("<text>", text)}) if d.code == "L0106")
    assert found.severity == "warning"
    assert found.source == "rule hardware.gpu.lost {"
    assert found.render().startswith("warning[L0106]: ")


def test_every_advice_is_documented() -> None:
    """The codes for advice are those that these tests show."""
    assert [code for code in CODES if code.startswith("L")] == [f"L010{n}" for n in range(1, 10)]


# ------------------------------------------------------------------ events


def test_stable_rule_needs_examples() -> None:
    """An event of a stable rule has an example; a preview's need not."""
    bare = event('error in kernel "NVRM: Xid (PCI:{device:pci}): 79,"')
    (found,) = advice(text_of(events=bare, meta='  status stable since "0.1"\n'))
    assert (found.code, "`lost`" in found.message) == ("L0101", True)
    assert codes(text_of(events=bare, meta="  status preview\n")) == []


@pytest.mark.parametrize(
    "pattern",
    [
        '"failed"',
        '"ERROR: {what:text}"',
        '"timed out"',
        r"/\berror\b/",
        r"/(?:Error|error): (?P<what>\w+)/",
        'any("NCCL WARN Call to connect", "connection was lost" & "aborted", "Exception")',
    ],
)
def test_common_word(pattern: str) -> None:
    """A pattern that says only that something is bad is in every log."""
    assert "L0102" in codes(text_of(events=event(f"error in rank {pattern}")))


@pytest.mark.parametrize(
    "pattern",
    ['"NCCL error"', '"Error 803"', r"/^Killed$/", '"failed to open shard"', '"error" & "shard {file:path}"'],
)
def test_uncommon_word(pattern: str) -> None:
    """A name, a number or a whole line tells who printed it."""
    assert "L0102" not in codes(text_of(events=event(f"error in rank {pattern}")))


def test_common_word_in_a_guard_is_careful() -> None:
    """What only keeps a rule quiet may be as wide as it likes."""
    wide = EVENTS + '  event excuse "failed"\n    like "failed"\n'
    assert codes(text_of("  require lost\n  unless excuse where job == lost.job", events=wide)) == []
    assert codes(text_of("  require lost\n  confirm excuse where job == lost.job", events=wide)) == ["L0102", "L0103"]


@pytest.mark.parametrize(
    ("head", "pattern", "wide"),
    [
        ("event lost", '"Xid 79,"', True),
        ("event lost", r"/Xid +(?P<code>\d+) +on/", True),
        ("event lost error", '"Xid 79,"', False),
        ("event lost in kernel", '"Xid 79,"', False),
        ("event lost", '"NVRM: Xid (PCI:{device:pci}): 79,"', False),
        ("event lost", 'any("NVRM: Xid (PCI:{device:pci}): 79,", "Xid 79,")', True),
    ],
)
def test_short_text_from_anywhere(head: str, pattern: str, *, wide: bool) -> None:
    """Little fixed text needs a severity or a kind; an emitter's own words need neither."""
    assert codes(text_of(events=event(pattern, head))) == (["L0103"] if wide else [])


def test_unused_event() -> None:
    """An event that no clause names is advised against; one that only a look-up names is used."""
    (found,) = advice(text_of(events=LAST))
    assert (found.code, found.message) == ("L0108", "no rule uses the event `seen`")
    assert codes(text_of("  require lost\n  onset last seen before lost else lost", events=LAST)) == []


def test_building_blocks_alone_are_offers(tmp_path: Path) -> None:
    """Without a rule nothing says that a building block is unused; beside rules it is advised against."""
    block = tmp_path / "lib/shards.rule"
    block.parent.mkdir()
    block.write_text('language 1\nevent gone in rank "shard {file:path} is gone"\n', encoding="utf-8")
    assert lint_rules(library.load_paths([block]), shipped_taxonomy()) == []
    rule = tmp_path / "hardware/gpu/lost.rule"
    rule.parent.mkdir(parents=True)
    rule.write_text(text_of(), encoding="utf-8")
    found = lint_rules(library.load_paths([tmp_path]), shipped_taxonomy())
    assert [(d.code, d.span.path) for d in found if d.code == "L0108"] == [("L0108", str(block))]


# ------------------------------------------------------------------ one rule


def test_unused_let() -> None:
    """A value that nothing uses is advised against, whether or not another value hangs on it."""
    chain = "  require lost\n  let bad = rank_of(lost.host, lost.device)\n"
    (found,) = advice(text_of(chain))
    assert (found.code, found.message) == ("L0108", "nothing uses the value `bad`")
    assert codes(text_of(f"{chain}  confirm silence where rank == bad for 60s after lost")) == []


def test_rule_without_remedy() -> None:
    """A rule says what to do."""
    assert codes(text_of(do="")) == ["L0106"]


@pytest.mark.parametrize(
    ("step", "close"),
    [
        ("confirm seen where job == lost.job within 500ms after lost", True),
        ("confirm seen where job == lost.job within 1s after lost", False),
        ("confirm seen where job == lost.job between lost - 200ms and lost + 300ms", True),
        ("confirm seen where job == lost.job between lost and lost", False),
        ("confirm seen where job == lost.job count >= 3 in 100ms", True),
        ("confirm seen where job == lost.job count >= 3 in 5s", False),
        ("confirm silence where host == lost.host for 900ms after lost", True),
        ("confirm silence where host == lost.host for 60s after lost", False),
        ("confirm seen where host != lost.host within 5s after lost", True),
        ("confirm seen where host != lost.host within 10s after lost", False),
        ("confirm seen where host == lost.host within 5s after lost", False),
        ("confirm seen where job == lost.job after lost", False),
    ],
)
def test_closer_than_the_clock(step: str, *, close: bool) -> None:
    """Less than a second can't be told from whole-second stamps, nor less than both clocks' error between two hosts."""
    assert codes(text_of(f"  require lost\n  {step}", events=LAST)).count("L0107") == close


def classes(tmp_path: Path, upstream: str) -> Taxonomy:
    """Return the shipped classes and `shard.broken`, which has `shard.late` upstream, which has `upstream`."""
    table = (
        '[[class]]\nid = "{}"\ntitle = "t"\ndefinition = "d"\nlayer = "storage"\nrole = "cause"\nscope = "rank"\naccuse = "none"\n'
    )
    one = table.format("shard.broken") + 'upstream = ["shard.late"]\n'
    other = table.format("shard.late") + f"upstream = {upstream}\n"
    path = tmp_path / "taxonomy.toml"
    path.write_text(one + other, encoding="utf-8")
    return load_taxonomy(path)


@pytest.mark.parametrize(("upstream", "found"), [("[]", ["L0104"]), ('["shard.broken"]', [])])
def test_cause_that_the_taxonomy_has_as_effect(tmp_path: Path, upstream: str, found: list[str]) -> None:
    """A rule that turns the taxonomy's direction round is advised about; one that the taxonomy is silent on, or allows, is not."""
    taxonomy = classes(tmp_path, upstream)
    rules = library.load_text(text_of(meta="  causes collective.timeout\n"))
    turned = evolve(rules, rules=tuple(evolve(r, cls="shard.broken", causes=("shard.late",)) for r in rules.rules))
    along = evolve(rules, rules=tuple(evolve(r, cls="shard.late", causes=("shard.broken",)) for r in rules.rules))
    assert [d.code for d in lint_rules(turned, taxonomy) if d.code == "L0104"] == found
    assert [d.code for d in lint_rules(along, taxonomy) if d.code == "L0104"] == []


# ------------------------------------------------------------------ several rules


def other(meta: str = "", steps: str = "  require lost", *, events: str = EVENTS, cls: str = "pcie.link_failure") -> str:
    """Return a second rule, with an event of its own."""
    return text_of(steps, name="hardware.pcie.lost", cls=cls, meta=meta, events=events)


def test_two_rules_of_one_record() -> None:
    """Two rules that one record starts are advised about, once, at the second."""
    (found,) = advice(text_of(), other())
    assert found.code == "L0105"
    assert found.message.startswith("one record starts both `hardware.pcie.lost` and `hardware.gpu.lost`")
    assert "GPU has fallen off the bus" in found.hint


def test_two_rules_of_one_building_block() -> None:
    """A shared trigger needs no example to be known as one."""
    used = [
        "language 1\nuse lib.nvrm.fell_off_bus\n" + text.removeprefix("language 1\n")
        for text in (text_of("  require fell_off_bus", events=""), other(steps="  require fell_off_bus", events=""))
    ]
    assert "L0105" in codes(*used)


ANY = """
  event lost error in kernel "NVRM: Xid (PCI:{device:pci}): {code:int},"
    like "NVRM: Xid (PCI:0000:41:00): 79, pid=1"
"""


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (text_of(meta="  causes pcie.link_failure\n"), other()),
        (text_of(), other("  causes gpu.fell_off_bus\n")),
        (text_of(), other('  see "hardware.gpu.lost" because "the bridge says so"\n')),
        (text_of(), other(steps="  require lost\n  unless seen where job == lost.job", events=LAST)),
        (text_of(), other(events=EVENTS.replace("79", "31").replace("has fallen off the bus", "page fault"))),
        (text_of("  require lost where code == 79", events=ANY), other(steps="  require lost where code == 31", events=ANY)),
    ],
    ids=["causes", "is caused", "see", "unless", "another record", "another code"],
)
def test_two_rules_that_are_told_apart(one: str, two: str) -> None:
    """A relation, a guard, another record or another value of a capture tells two rules apart."""
    assert "L0105" not in codes(one, two)


def test_narrower_rule_is_a_rival_too() -> None:
    """A rule that takes every code starts with the record of the one that takes a single code."""
    assert "L0105" in codes(text_of("  require lost where code == 79", events=ANY), other(events=ANY))


def test_see_names_a_rule() -> None:
    """`see` names a rule of the set or one that is known to exist."""
    see = '  see "hardware.gpu.gone" because "it is gone"\n'
    (found,) = advice(text_of(meta=see))
    assert (found.code, "`hardware.gpu.gone`" in found.message) == ("L0109", True)
    assert advice(text_of(meta=see), known=frozenset({"denpex:hardware.gpu.gone"})) == []
    assert advice(text_of(meta=see.replace('gone" b', 'lost" b'))) == []
    assert [d.code for d in advice(text_of(meta=see.replace("hardware", "acme:hardware")))] == ["L0109"]


# ------------------------------------------------------------------ the shipped pack


def test_shipped_rules_follow_the_advice() -> None:
    """No stable rule of the shipped pack, and no event of one, gets advice."""
    rules = library.load_pack()
    stable = {rule.span.path for rule in rules.rules if rule.status == "stable"}
    found = lint_rules(rules, shipped_taxonomy())
    assert [d.render() for d in found if d.span.path in stable] == []
