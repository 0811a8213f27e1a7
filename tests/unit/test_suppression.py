"""Comments that allow what advice is against."""

from __future__ import annotations

import pytest
from advising import advice_on, text_of

from denpex_rules.errors import Source
from denpex_rules.mending import mend
from denpex_rules.suppression import suppressions

WHY = "# allow L0120: only the last one counts"


@pytest.mark.parametrize(
    "steps",
    [
        f"  require last lost  {WHY}",
        f"  {WHY}\n  require last lost",
        f"  {WHY}\n\n  # another remark\n  require last lost",
        "  # allow L0120 : only the last one counts\n  require last lost",
        "  # allow L0120, L0121: only the last one counts\n  require last lost count >= 1",
        f"  {WHY}\n  # allow L0121: to be explicit\n  require last lost count >= 1",
        "  #allow l0120: only the last one counts\n  require last lost",
    ],
)
def test_allowed(steps: str) -> None:
    """A comment at the end of the line, or above it, allows the codes that it names."""
    assert advice_on(text_of(steps)) == []


@pytest.mark.parametrize(
    "steps",
    [
        f"  {WHY}\n  require last lost\n  require last again where job == lost.job after lost",
        "  require last lost\n  # allow for a retry: it happens",
        "  require last lost\n  # allow L0120",
    ],
)
def test_only_its_line(steps: str) -> None:
    """A comment allows nothing on other lines; prose that starts with the word allows nothing at all."""
    more = text_of(steps).replace("  per job", '  event again in kernel "GPU {device:pci} again"\n  per job')
    found = [d.code for d in advice_on(more if "again" in steps else text_of(steps))]
    assert ("L0120" in found) is ("require last again" not in steps)


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("# allow L0120", "says why"),
        ("# allow L0120:", "says why"),
        ("# allow L0120 because", "says why"),
        ("# allow L9999: x", "there is no code `L9999`"),
        ("# allow E0404: it is joined elsewhere", "`E0404` can't be allowed"),
        ("# allow L0201: x", "`L0201` can't be allowed"),
    ],
)
def test_malformed(comment: str, message: str) -> None:
    """Without a reason, for an unknown code or for a mistake a comment allows nothing and is advised against."""
    found = advice_on(text_of(f"  {comment}\n  require lost"))
    assert [d.code for d in found] == ["L0202"]
    assert message in found[0].message


def test_without_a_reason_nothing_is_allowed() -> None:
    """A comment without its reason leaves the advice standing."""
    assert [d.code for d in advice_on(text_of("  # allow L0120\n  require last lost"))] == ["L0202", "L0120"]


def test_unused() -> None:
    """A comment that allows what does not occur is advised against, and taken out with its line."""
    text = text_of(f"  {WHY}\n  require lost")
    (found,) = advice_on(text)
    assert (found.code, "`L0120`" in found.message) == ("L0201", True)
    assert mend(text, [found])[0] == text_of()


def test_unused_code_of_several() -> None:
    """Of several codes only the one that is not needed is taken out."""
    text = text_of("  require last lost  # allow L0120, L0121: only the last one counts")
    (found,) = advice_on(text)
    assert found.code == "L0201"
    assert mend(text, [found])[0] == text_of(f"  require last lost  {WHY}")


def test_what_depends_on_other_files_is_never_unused() -> None:
    """Whether two rules compete can't be known from one of them, so the comment about it stays."""
    assert advice_on(text_of("  require lost").replace("rule hard", "# allow L0105: both are wanted\nrule hard")) == []


def test_comments_in_texts_are_texts() -> None:
    """A text that looks like a comment allows nothing."""
    text = text_of(do='  do "# allow L0120: x"')
    assert suppressions(Source("a.rule", text)) == ()


def test_places() -> None:
    """A comment knows the line that it is about, its codes and its reason."""
    text = 'language 1\n\n# allow L0101, L0102: no example is public\n\nevent gone in rank "x is gone"\n'
    (found,) = suppressions(Source("a.rule", text))
    assert [code for code, _ in found.codes] == ["L0101", "L0102"]
    assert (found.line, found.reason) == (5, "no example is public")
    assert [text[span.start : span.end] for _, span in found.codes] == ["L0101", "L0102"]
