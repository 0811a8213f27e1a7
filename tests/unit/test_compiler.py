"""The compiler: what it refuses, how it says so, and what a program holds."""

from __future__ import annotations

from pathlib import Path as File

import pytest
from attrs import evolve

from denpex_rules.compiler import check_rules, compile_rules
from denpex_rules.errors import RuleError, Source
from denpex_rules.program import load_program, save_program
from denpex_rules.rule import Alternative, Capture, Count, Event, Regex, Rule, RuleSet, Sequence, Step, Template
from denpex_rules.taxonomy import FailureClass, Taxonomy

XID = Template(("NVRM: Xid (PCI:", Capture("device", "pci"), "): 79,"))
LINE = "NVRM: Xid (PCI:0000:06:00): 79, pid=1, GPU has fallen off the bus."


def event(*parts: Template | Regex, **more: object) -> Event:
    return Event("gpu.lost#lost", "lost", (Alternative((Sequence(parts),)),), **more)  # type: ignore[arg-type]


LOST = event(XID, captures=(("device", "pci"),))
RULE = Rule("gpu.lost", "base", "GPU lost", "gpu.fell_off_bus", ("job",), 60, (Step("require", "lost", "gpu.lost#lost"),))


def codes(*events: Event, rules: tuple[Rule, ...] = ()) -> list[str]:
    return [d.code for d in check_rules(RuleSet(rules, events))]


def test_sound_rules_make_a_program(tmp_path: File) -> None:
    """A program holds the rules, the literal table, the packs, and the classes that the rules name; it saves and loads."""
    fell = FailureClass("gpu.fell_off_bus", "GPU fell off", "gone", "hardware", "cause", "device", "device_in_message")
    other = evolve(fell, id="gpu.other")
    program = compile_rules(RuleSet((RULE,), (LOST,)), Taxonomy({c.id: c for c in (fell, other)}), packs={"base": "1.2"})
    assert program.rules == (RULE,)
    assert [(entry.text, entry.events) for entry in program.literals] == [("NVRM: Xid (PCI:", (LOST.id,))]
    assert [(c.id, c.role) for c in program.classes] == [("gpu.fell_off_bus", "cause")]
    assert [(p.name, p.version) for p in program.packs] == [("base", "1.2")]
    save_program(program, tmp_path / "p")
    assert load_program(tmp_path / "p") == program


def test_expensive_events_have_no_literals() -> None:
    """An event that is tried on every record is not in the literal table."""
    assert compile_rules(RuleSet((), (evolve(LOST, expensive=True),))).literals == ()


@pytest.mark.parametrize(
    ("regex", "words"),
    [
        (r"(\w+) failed \1", r"a back-reference \(`\\1` at character 14\)"),
        (r"failed(?! softly)", r"lookaround \(`\(\?!` at character 7\)"),
        (r"(?<=x)failed", "lookaround"),
        (r"failed++", "possessive"),
        (r"failed (", r"not RE2 syntax: missing \)"),
        (r"(?P<a>x)failed(?P<a>y)", "two groups of one regex are named `a`"),
        ("fähig", "outside ASCII"),
    ],
)
def test_regex_that_is_not_linear_is_refused(regex: str, words: str) -> None:
    """E0501 says what the regex uses that RE2 does not have, and where."""
    with pytest.raises(RuleError, match=words) as caught:
        compile_rules(RuleSet((), (event(Regex(regex)),)))
    assert [d.code for d in caught.value.diagnostics] == ["E0501"]


def test_all_mistakes_are_reported() -> None:
    """Mistakes of several events and rules come together, in the order of the files."""
    broken = (event(Regex("(")), event(Regex(r"\d+")), evolve(LOST, like=("nothing",)))
    rule = evolve(RULE, span_ns=0, keys=(), steps=())
    assert sorted(codes(*broken, rules=(rule,))) == ["E0401", "E0402", "E0403", "E0501", "E0502", "E0503"]


def test_examples_are_checked_as_bare_lines() -> None:
    """`like` must match and `unlike` must not, with the severity and kind that a bare pasted line shows."""
    kernel = evolve(LOST, severity="error", kinds=("kernel",), like=(LINE,), unlike=(LINE.replace("79", "74"),))
    assert codes(kernel) == []
    assert codes(evolve(kernel, unlike=(LINE,))) == ["E0504"]
    assert codes(evolve(kernel, like=(LINE.replace("79", "74"),))) == ["E0503"]
    found = check_rules(RuleSet((), (evolve(kernel, kinds=("rank",)),)))
    assert [d.code for d in found] == ["E0503"]
    assert "a kernel log, not rank" in found[0].message


def test_severity_floor_counts_for_examples() -> None:
    """An example that is read as less severe than the event asks for is no example of it."""
    loud = event(Template(("step skipped",)), severity="error", like=("WARNING:trainer:step skipped",))
    found = check_rules(RuleSet((), (loud,)))
    assert [d.code for d in found] == ["E0503"]
    assert "read as warning, below error" in found[0].message


def test_unbounded_steps_are_refused() -> None:
    """A count that could never be decided, a counting span beyond the rule's, and silence without end are mistakes."""
    trigger = RULE.steps[0]
    steps = (
        evolve(trigger, count=Count(10**9)),
        evolve(trigger, name="burst", count=Count(2, None, 61)),
        Step("confirm", "silence", "silence"),
    )
    assert sorted(codes(LOST, rules=(evolve(RULE, steps=steps),))) == ["E0407", "E0408", "E0409"]


def test_diagnostics_quote_the_source() -> None:
    """With the texts of the rule files at hand, a diagnostic shows the line."""
    source = Source("gpu/lost.rule", "event lost /(/\n")
    found = check_rules(RuleSet((), (event(Regex("(", span=source.span(11, 14))),)), sources={source.path: source})
    assert found[0].source == "event lost /(/"
    assert "gpu/lost.rule:1:12" in found[0].render()
