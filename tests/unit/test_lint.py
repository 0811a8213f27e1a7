"""Advice as a whole: its order, its texts, and the shipped pack."""

from __future__ import annotations

from time import process_time

import pytest
from advising import advice_on, codes, text_of

from denpex_rules import gather, library
from denpex_rules.errors import Source
from denpex_rules.lint import lint_rules
from denpex_rules.mending import mend
from denpex_rules.taxonomy import shipped_taxonomy


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


def test_order() -> None:
    """Advice comes in the order of the text."""
    text = text_of(do="").replace('title "GPU lost"', 'title "GPU lost."')
    assert [d.code for d in advice_on(text)] == ["L0106", "L0126"]


def test_patch_leaves_no_empty_line() -> None:
    """What a patch deletes goes with its line, or with the blanks before it."""
    whole = text_of("  require lost\n  let bad = rank_of(lost.host, lost.device)\n")
    (found,) = advice_on(whole)
    assert mend(whole, [found]) == (whole.replace("  let bad = rank_of(lost.host, lost.device)\n", ""), (found,))
    count = text_of("  require lost count >= 1")
    (found,) = advice_on(count)
    assert mend(count, [found])[0] == text_of("  require lost")


def test_without_texts() -> None:
    """Without the texts of the files there is advice about rules, and no patch that could not be checked."""
    rules = library.load_text(text_of("  require lost count >= 1"))
    found = [d for d in lint_rules(rules, shipped_taxonomy()) if d.span.path == "<text>"]
    assert [(d.code, d.source, d.patch) for d in found] == [("L0121", "", None)]


def test_shipped_rules_follow_the_advice() -> None:
    """No rule of the shipped pack earns advice: what is as it should be says why in a comment."""
    _, found = gather.check([])
    assert [d.render() for d in found] == []


BODY = """rule x.y {
  title "t"
  class gpu.fell_off_bus
  event lost in kernel "NVRM: gone {a:int}"
  per job within 2h
  require lost
  blame none
"""
HOSTILE = {
    "mail": 'event a in rank "xxx gone"\n like "xxx gone ' + "+-" * 50_000 + '"\n',
    "comments": "# allow L0101: x\n" * 10_000 + 'event a in rank "xxx gone"\n',
    "codes": "# allow " + ", ".join(["L0101"] * 10_000) + ': x\nevent a in rank "xxx gone"\n',
    "alternatives": "event a in rank any(" + ", ".join(f'"xxx gone {i}"' for i in range(5_000)) + ")\n",
    "command": BODY + ' do "x"\n verify "' + "sudo " * 10_000 + 'x"\n}\n',
    "comparisons": BODY + "".join(f' see "a.b{i}" because "x"\n' for i in range(2_000)) + "}\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_bounded(name: str) -> None:
    """Advice about a rule that was written to take long takes at most seconds, and so does mending it."""
    text = f"language 1\n{HOSTILE[name]}"
    start = process_time()
    mend(text, advice_on(text))
    assert process_time() - start < 10
