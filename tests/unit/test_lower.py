"""Whole files: metadata, scope, what is required and what may stand once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from writing import EVENTS, codes, rule_of, text_of

from denpex_rules.clock import HOUR, MINUTE
from denpex_rules.errors import Source
from denpex_rules.library import check_text
from denpex_rules.lower import World, lower
from denpex_rules.parser import parse
from denpex_rules.rule import See
from denpex_rules.taxonomy import Taxonomy


def test_defaults() -> None:
    """What a rule does not say has the model's defaults."""
    rule = rule_of("  require lost")
    assert (rule.id, rule.pack, rule.qualified) == ("hardware.gpu.lost", "denpex", "denpex:hardware.gpu.lost")
    assert (rule.impact, rule.level, rule.status, rule.quiet_ns) == ("major", "failure", "preview", 10 * MINUTE)
    assert (rule.keys, rule.span_ns) == (("job",), 2 * HOUR)
    assert rule.trigger.name == "lost"


def test_metadata() -> None:
    """Metadata is kept as it is written."""
    meta = (
        '  summary "s"\n  impact critical\n  level stop\n  status stable since "0.1"\n  tags a-b, c\n'
        "  causes collective.timeout, host.oom_kill\n  quiet 5m\n"
    )
    rule = rule_of(
        '  require lost\n  do "x"\n  do "y"\n  ref "u"\n  see "other:a.b" because "c"', meta=meta, scope="per job, rank within 1h"
    )
    assert (rule.summary, rule.impact, rule.level, rule.status, rule.since) == ("s", "critical", "stop", "stable", "0.1")
    assert (rule.tags, rule.causes) == (("a-b", "c"), ("collective.timeout", "host.oom_kill"))
    assert (rule.quiet_ns, rule.keys) == (5 * MINUTE, ("job", "rank"))
    assert (len(rule.do), rule.references, rule.see) == (2, ("u",), (See("other:a.b", "c"),))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (text_of("  confirm lost"), ["E0401"]),
        (text_of("  require lost", scope=""), ["E0402"]),
        (text_of("  require lost", scope="per job"), ["E0402"]),
        (text_of("  require lost", scope="per job within 0s"), ["E0402"]),
        (text_of("  require lost", scope="per node within 1h"), ["E0403"]),
        (text_of("  require lost", scope="per group within 1h"), ["E0204"]),
        (text_of("  require lost", scope="per groups within 1h"), ["E0403"]),
        (text_of("  require lost", scope="per job, job within 1h"), ["E0202"]),
        (text_of("  require lost", scope="per job within 5"), ["E0303"]),
        (text_of("  require lost").replace('  title "GPU lost"\n', ""), ["E0406"]),
        (text_of("  require lost").replace("  class gpu.fell_off_bus\n", ""), ["E0406"]),
        (text_of("  require lost").replace("gpu.fell_off_bus", "gpu.nothing"), ["E0601"]),
        (text_of("  require lost", meta="  causes gpu.fell_off_bus\n"), ["E0604"]),
        (text_of("  require lost", meta="  causes gpu.nothing\n"), ["E0601"]),
        (text_of("  require lost", meta="  tags a, a\n"), ["E0202"]),
        (text_of("  require lost", meta="  impact huge\n"), ["E0602"]),
        (text_of("  require lost", meta='  title "b"\n'), ["E0405"]),
        (text_of("  require lost\n  per job within 1h"), ["E0405"]),
        (text_of("  require lost", meta='  summary ""\n'), ["E0305"]),
        (text_of('  require lost\n  see "https://x" because "y"'), ["E0305"]),
        (text_of("  require lost", events=EVENTS + '  event lost "x"\n'), ["E0202"]),
        (text_of("  require lost\n  let progress = lost.rank"), ["E0202"]),
        (text_of("  require lost").replace("language 1", "language 7"), ["E0104"]),
        ("language 1\nuse lib.nothing\n", ["E0203"]),
        ("language 1\nuse lib.c10d.timeout, lib.c10d.timeout\n", ["E0202"]),
        ('language 1\nuse lib.c10d.timeout\nevent timeout "abc"\n', ["E0202"]),
    ],
)
def test_mistakes(text: str, found: list[str]) -> None:
    """Each mistake in a rule's frame has its code, and only that."""
    assert codes(text) == found


def test_all_mistakes_of_a_file() -> None:
    """Mistakes of syntax, names, types and bounds in one file are all reported, in order of the lines."""
    text = text_of(
        "  require lost\n  confirm timeout where rank == lost.host after lost\n  confirm progress afer lost\n  blame rank lost.gpu",
        meta="  impact huge\n  level = stop\n",
        scope="per job within 5",
    )
    _, found = check_text(text)
    assert [d.code for d in found] == ["E0602", "E0101", "E0303", "E0302", "E0101", "E0204"]
    lines = [d.span.line for d in found]
    assert lines == sorted(lines)


def test_no_echo_of_a_broken_statement() -> None:
    """A name that a broken statement would have defined is not complained about."""
    text = text_of("  require lost\n  let bad rank_of(lost.host)\n  confirm timeout where rank == bad after lost\n  blame rank bad")
    assert codes(text) == ["E0101"]
    assert codes(text_of("  requires lost\n  confirm timeout after lost")) == ["E0101"]


def test_a_rule_with_a_mistake_is_not_given() -> None:
    """Nothing is loaded from a text with a mistake."""
    found, diagnostics = check_text(text_of("  require lost\n  blame rank lost.host"))
    assert found is None
    assert len(diagnostics) == 1


def test_what_a_file_defines() -> None:
    """Events outside of rules are shared, those inside private; rules that are sound are kept beside one that is not."""
    text = 'language 1\nevent a "abc"\nrule x.y { event b "bcd" }\n'
    lowered = lower(parse(Source("a.rule", text)), World(Taxonomy()), "mine", "lib.a")
    assert [e.id for e in lowered.shared] == ["mine:lib.a#a"]
    assert [e.id for e in lowered.private] == ["mine:x.y#b"]
    assert lowered.rules == ()
    assert {d.code for d in lowered.diagnostics} == {"E0401", "E0402", "E0406"}


LINES = text_of(
    """  require lost
  let bad = rank_of(lost.host, lost.device)
  confirm silence where rank == bad for 60s after lost + 5s
  confirm timeout where rank != bad distinct rank >= 1 stalled between lost - 1m and lost + 5m
  unless other = progress within 1m after lost
  blame device lost.device, rank bad else none
  onset last progress before lost else lost
  victim timeout.rank
  why "GPU {lost.device}"
  see "a.b" because "c\"""",
).splitlines()


@given(st.permutations(range(len(LINES))), st.integers(0, len(LINES)), st.lists(st.integers(0, len(LINES) - 1), max_size=3))
def test_lines_in_any_order(order: list[int], keep: int, doubled: list[int]) -> None:
    """Lines in another order, left out or doubled give rules or diagnostics, never an exception."""
    lines = [*LINES[:keep], *(LINES[i] for i in order if i >= keep), *(LINES[i] for i in doubled)]
    found, diagnostics = check_text("\n".join(lines))
    assert (found is None) == bool(diagnostics)
