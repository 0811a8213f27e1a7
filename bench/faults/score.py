"""Judge recorded runs in every view, and print the tables."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / "tests"), str(Path(__file__).parents[2])]

from denpex_rules import compile_rules, load_pack  # noqa: E402
from fault_runs import VERDICTS, VIEWS, Run, judge, judge_launcher, load, read, views  # noqa: E402

GIVEN = {"all", "shuffled"}
Tally = Counter[str]


def judge_all(folders: Iterable[Path], *, verbose: bool = False) -> int:
    """Judge the runs below their folders, print the tables, and return 1 when an innocent was named."""
    program = compile_rules(load_pack())
    by_fault: dict[str, Tally] = defaultdict(Counter)
    by_launcher: dict[str, Tally] = defaultdict(Counter)
    by_view: dict[str, Tally] = defaultdict(Counter)
    for run in map(load, folders):
        if not run.truth.struck:
            print(f"spoiled, not counted: {run.name} ended before its step, or had to be ended")
            continue
        launcher = judge_launcher(run.truth)
        for view, files in views(run):
            answer = judge(read(files, program), run.truth)
            by_view[view][answer.verdict] += 1
            by_view[view]["silent"] += answer.verdict == "undecided" and answer.silent
            by_view[view]["fact"] += answer.verdict == "undecided" and answer.names_fact
            by_view[view]["class"] += answer.verdict == "right" and (answer.classed or run.truth.expect in {"healthy", "recovered"})
            if view == "all":
                for tally in (by_fault[run.fault], by_launcher[run.launcher]):
                    tally[answer.verdict] += 1
                    tally[f"launcher {launcher}"] += 1
            if verbose and view == "all" and answer.verdict == "right" and not answer.classed and run.truth.expect == "rank":
                print(f"another class: {run.name}: said {answer.said}")
            if told(verbose, view, answer.verdict):
                where = f" {files[0][0]}" if view == "one file" else ""
                fact = "" if answer.names_fact or answer.verdict != "undecided" else ", without the missing log"
                print(f"{answer.verdict}: {run.name} {view}{where}: truth {truth_text(run)}; said {answer.said}{fact}")
    show(by_fault, by_launcher, by_view)
    return int(any(tally[word] for tally in by_view.values() for word in ("wrong certain", "wrong likely")))


def told(verbose: bool, view: str, verdict: str) -> bool:
    """Whether an answer is worth a line: a wrong one always, an undecided one where all logs were given."""
    return verdict.startswith("wrong") or (verdict == "undecided" and (view in GIVEN or verbose))


def truth_text(run: Run) -> str:
    """The truth in a few words."""
    return f"{run.truth.expect} {list(run.truth.victims)}" if run.truth.victims else run.truth.expect


def show(by_fault: dict[str, Tally], by_launcher: dict[str, Tally], by_view: dict[str, Tally]) -> None:
    """Print the tables in Markdown: by fault and by launcher with all logs given, and by view."""
    for title, table in (("fault", by_fault), ("launcher", by_launcher)):
        print(f"\n| {title} | runs | denpex_rules: {' / '.join(VERDICTS)} | torchrun's Root Cause: right / wrong / none |")
        print("|---|---|---|---|")
        for name, tally in [*table.items(), ("**all**", sum(table.values(), Counter()))]:
            own = " / ".join(str(tally[word]) for word in VERDICTS)
            other = " / ".join(str(tally[f"launcher {word}"]) for word in ("right", "wrong certain", "undecided"))
            print(f"| {name} | {sum(tally[word] for word in VERDICTS)} | {own} | {other} |")
    columns = [*VERDICTS, "of these: no failure seen", "of these: name a log that is missing", "right, and of an acceptable class"]
    print(f"\n| logs given | scans | {' | '.join(columns)} |")
    print("|---|---|" + "---|" * len(columns))
    for view in VIEWS:
        tally = by_view[view]
        cells = [str(tally[word]) for word in VERDICTS]
        cells += [str(tally["silent"]), str(tally["fact"]), str(tally["class"])]
        print(f"| {view} | {sum(tally[word] for word in VERDICTS)} | {' | '.join(cells)} |")
