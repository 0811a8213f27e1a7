"""Patches taken together: as text, as a difference, in the files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules.errors import Diagnostic, Edit, Patch, Source, UsageError
from denpex_rules.mending import Mended, apply, mend, mend_files, replace, write

TEXT = "one two three\nfour five\n"


def found(old: str, new: str, *, text: str = TEXT, safe: bool = True, path: str = "a.rule") -> Diagnostic:
    """Return a diagnostic whose patch replaces the first `old`."""
    source = Source(path, text)
    at = text.index(old)
    span = source.span(at, at + len(old))
    return Diagnostic("E0101", "x", span, source.line(span.line), patch=Patch("x", (Edit(span, new),), safe))


def test_apply() -> None:
    """Edits replace, insert and delete, in whatever order they come."""
    source = Source("a.rule", TEXT)
    edits = [Edit(source.span(14, 18), "4"), Edit(source.span(0, 0), "zero "), Edit(source.span(3, 7), "")]
    assert apply(TEXT, edits) == "zero one three\n4 five\n"


def test_overlap_is_refused() -> None:
    """Edits that overlap can't both be meant."""
    source = Source("a.rule", TEXT)
    with pytest.raises(ValueError, match="overlap"):
        apply(TEXT, [Edit(source.span(0, 5), ""), Edit(source.span(4, 7), "")])


@given(
    st.text(alphabet="ab\n", max_size=30),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5), st.text("xy", max_size=3)), max_size=6),
)
def test_apply_keeps_the_rest(text: str, changes: list[tuple[int, int, str]]) -> None:
    """Whatever is taken together, all that no taken edit covers stays, in its order."""
    source = Source("a.rule", text)
    diagnostics = []
    for start, length, new in changes:
        lo, hi = min(start, len(text)), min(start + length, len(text))
        diagnostics.append(
            Diagnostic("E0101", "x", source.span(lo, hi), patch=Patch("x", (Edit(source.span(lo, hi), new),), safe=True))
        )
    after, taken = mend(text, diagnostics)
    kept, position = "", 0
    for one in sorted(taken, key=lambda d: d.span.start):
        kept += text[position : one.span.start]
        position = one.span.end
    kept += text[position:]
    assert "".join(c for c in after if c not in "xy") == kept
    assert bool(taken) == bool(diagnostics)


def test_only_safe_ones() -> None:
    """A guess is taken only where that is asked for."""
    guess = found("two", "2", safe=False)
    assert mend(TEXT, [guess]) == (TEXT, ())
    assert mend(TEXT, [guess], unsafe=True) == (TEXT.replace("two", "2"), (guess,))
    assert mend(TEXT, [Diagnostic("E0101", "x", guess.span)]) == (TEXT, ())


def test_conflict() -> None:
    """Of two patches that touch, the second is left whole for the next time."""
    one, other, far = found("one two", "1 2"), found("two three", "2 3"), found("five", "5")
    assert mend(TEXT, [other, one, far]) == ("1 2 three\nfour 5\n", (one, far))


def test_text_that_changed() -> None:
    """A diagnostic about a line that reads otherwise now is not acted on."""
    assert mend(TEXT.replace("one", "ONE"), [found("two", "2")]) == (TEXT.replace("one", "ONE"), ())


def test_difference() -> None:
    """The change is a unified diff; a missing newline at the end is said."""
    text = Mended(Path("a.rule"), "one\ntwo", "one\n2", ()).difference()
    assert text.splitlines() == [
        "--- a.rule",
        "+++ a.rule",
        "@@ -1,2 +1,2 @@",
        " one",
        "-two",
        "\\ No newline at end of file",
        "+2",
        "\\ No newline at end of file",
    ]
    odd = Mended(Path("a.rule"), "a\x0cb\nx\n", "a\x0cb\ny\n", ()).difference()
    assert " a\x0cb\n-x\n+y\n" in odd


def test_files(tmp_path: Path) -> None:
    """Files are mended as a whole, by path; those without a safe patch are left out; reading writes nothing."""
    paths = [tmp_path / name for name in ("b.rule", "a.rule", "c.rule")]
    for path in paths:
        path.write_text(TEXT, encoding="utf-8")
    wanted = [
        found("two", "2", path=str(paths[0])),
        found("one", "1", path=str(paths[1])),
        found("one", "1", path=str(paths[2]), safe=False),
    ]
    mended = mend_files(wanted)
    assert [(m.path.name, m.after) for m in mended] == [("a.rule", TEXT.replace("one", "1")), ("b.rule", TEXT.replace("two", "2"))]
    assert paths[0].read_text(encoding="utf-8") == TEXT
    for one in mended:
        write(one)
    assert [p.read_text(encoding="utf-8") for p in paths] == [TEXT.replace("two", "2"), TEXT.replace("one", "1"), TEXT]


def test_write_follows_a_link(tmp_path: Path) -> None:
    """A link stays a link: the file that it names is written."""
    target, link = tmp_path / "a.rule", tmp_path / "b.rule"
    target.write_text(TEXT, encoding="utf-8")
    link.symlink_to(target)
    write(Mended(link, TEXT, "new\n", ()))
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new\n"


def test_write_keeps_what_somebody_else_wrote(tmp_path: Path) -> None:
    """A file that was changed since it was read is not written over."""
    path = tmp_path / "a.rule"
    path.write_text("other\n", encoding="utf-8")
    with pytest.raises(UsageError, match="changed by somebody else"):
        write(Mended(path, TEXT, "new\n", ()))
    assert path.read_text(encoding="utf-8") == "other\n"


def test_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the last step fails, the old file is whole and nothing is left beside it."""
    path = tmp_path / "a.rule"
    path.write_text(TEXT, encoding="utf-8")

    def fail(self: Path, target: Path) -> None:
        raise PermissionError(13, "not allowed")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(UsageError, match="not allowed"):
        write(Mended(path, TEXT, "new\n", ()))
    with pytest.raises(PermissionError):
        replace(path, b"new")
    assert path.read_text(encoding="utf-8") == TEXT
    assert list(tmp_path.iterdir()) == [path]
