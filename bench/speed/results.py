"""The tables of a run, its file with the facts of the machine, and its place in the documentation."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import json
import os
import platform
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results"
DOCUMENT = ROOT / "docs" / "explanation" / "speed.md"
LIBRARIES = ("pyahocorasick", "hyperscan", "google-re2", "attrs")
Answer = dict[str, Any]
Row = tuple[str, ...]


def page(measured: Answer) -> str:
    """Return the tables of a run as Markdown."""
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in sections(measured).items())


def sections(measured: Answer) -> dict[str, str]:
    """Return the tables by their titles."""
    found: dict[str, str] = {}
    if "workloads" in measured:
        works = measured["workloads"]
        found["Against the targets"] = table(("target", "wanted", "measured", ""), list(targets(works)))
        found["Throughput"] = table(*throughput(works))
        found["Ratios"] = table(*ratios(works))
        found["Chart"] = chart(works)
    if "layouts" in measured:
        found["Layouts"] = table(
            ("the log's lines", "ns a line", "MB/s", "peak MB"),
            [(r["name"], f"{r['cpu'] / r['lines'] * 1e9:,.0f}", speed(r), peak(r)) for r in measured["layouts"]],
        )
    if "curves" in measured:
        curves = measured["curves"]
        found["Growth against the targets"] = table(("target", "wanted", "measured", ""), list(growth(curves)))
        found["Rules"] = table(
            ("rules", "backend", "MB/s", "peak MB"), [(f"{r['rules']:,}", r["backend"], speed(r), peak(r)) for r in curves["rules"]]
        )
        found["Size of a log with few events, on disk"] = table(
            ("MB", "scan MB/s", "raw loop MB/s", "grep MB/s", "scan over raw", "scan over grep", "peak MB"), [*disk(curves["disk"])]
        )
        found["Size of a log, through a pipe"] = table(
            ("MB", "MB/s", "peak MB", "sightings", "runs"),
            [(f"{r['mb']:,}", speed(r), peak(r), f"{r['sightings']:,}", f"{r['runs']:,}") for r in curves["size"]],
        )
        found["Ranks"] = table(
            ("ranks", "MB/s", "peak MB", "sightings", "runs"),
            [(f"{r['ranks']:,}", speed(r), peak(r), f"{r['sightings']:,}", f"{r['runs']:,}") for r in curves["ranks"]],
        )
    return found


# ------------------------------------------------------------------ targets


def targets(works: Answer) -> Iterator[Row]:
    """Yield each target of the workloads that were measured: what, wanted, measured, whether it is met."""
    sparse, dense, storm, files = (works.get(name, {"found": {}})["found"] for name in ("sparse", "dense", "storm", "files"))
    yield from _over("sparse: scan over the raw loop, pyahocorasick", 0.85, sparse, "scan pyahocorasick", "raw pyahocorasick")
    yield from _over("sparse: scan over the raw loop, Hyperscan", 0.6, sparse, "scan hyperscan", "raw hyperscan")
    yield from _over("sparse: scan over grep -F -f, Hyperscan", 4, sparse, "scan hyperscan", "grep")
    yield from _over(
        "the same by wall time: scan over the raw loop, Hyperscan", 0.6, sparse, "scan hyperscan", "raw hyperscan", "wall"
    )
    yield from _over("the same by wall time: scan over grep -F -f, Hyperscan", 4, sparse, "scan hyperscan", "grep", "wall")
    yield from _over("dense: scan over line by line, pyahocorasick", 5, dense, "scan pyahocorasick", "naive")
    yield from _over("dense: scan over line by line, Hyperscan", 5, dense, "scan hyperscan", "naive")
    yield from _over("dense: scan over grep -F -f, Hyperscan", 0.5, dense, "scan hyperscan", "grep")
    if "scan pyahocorasick" in sparse and "scan pyahocorasick" in dense:
        yield _judged(
            "dense over sparse, pyahocorasick", 0.6, rate(dense["scan pyahocorasick"]) / rate(sparse["scan pyahocorasick"])
        )
    for name, answer in storm.items():
        if name.startswith("scan"):
            yield _judged(f"storm: processor seconds a GB, {name[5:]}", 60, 1e9 / rate(answer), most=True)
    for name, one in files.items():
        two = files.get(name.replace("scan ", "scan, 2 jobs, "))
        if name.startswith("scan ") and two is not None:
            yield _judged(f"files: wall time of one job over that of two, {name[5:]}", 1.6, one["wall"] / two["wall"])
            yield f"files: processor time of two jobs over that of one, {name[5:]}", "", f"{two['cpu'] / one['cpu']:.2f}", ""
    for name, found in (("sparse", sparse), ("dense", dense)):
        if "session" in found:
            answer = found["session"]
            yield _judged(f"{name}: µs a line, fed one by one to a session", 100, answer["cpu"] / answer["lines"] * 1e6, most=True)


def disk(measured: list[Answer]) -> Iterator[Row]:
    """Yield the rows of the curve over logs on disk."""
    for one in measured:
        scan, others = one["scan"], [one.get(name) for name in ("raw", "grep")]
        yield (
            f"{one['mb']:,}",
            speed(scan),
            *(speed(other) if other else "" for other in others),
            *(f"{rate(scan) / rate(other):.2f}" if other else "" for other in others),
            peak(scan),
        )


def growth(curves: Answer) -> Iterator[Row]:
    """Yield each target of the curves."""
    for backend, wanted in (("pyahocorasick", 0.6), ("hyperscan", 0.8)):
        by_count = {r["rules"]: r for r in curves["rules"] if r["backend"] == backend}
        if by_count:
            yield _judged(f"5,000 rules over 50, {backend}", wanted, rate(by_count[5_000]) / rate(by_count[50]))
    on_disk = max(curves["disk"], key=lambda one: int(one["mb"]))
    label = f"few events, {on_disk['mb']:,} MB on disk, {on_disk['backend']}"
    if on_disk["backend"] == "hyperscan":
        yield _judged(f"{label}: scan over the raw loop", 0.6, rate(on_disk["scan"]) / rate(on_disk["raw"]))
        if "grep" in on_disk:
            yield _judged(f"{label}: scan over grep -F -f", 4, rate(on_disk["scan"]) / rate(on_disk["grep"]))
    sizes = {r["mb"]: r for r in curves["size"]}
    largest = max(sizes)
    yield _judged(f"peak memory, {largest:,} MB over 100 MB", 1.2, sizes[largest]["peak"] / sizes[100]["peak"], most=True)
    yield _judged(f"peak memory in MB, {largest:,} MB", 250, sizes[largest]["peak"] / 1e6, most=True)


def _over(what: str, wanted: float, found: Answer, mine: str, other: str, time: str = "cpu") -> Iterator[Row]:
    if mine in found and other in found:
        yield _judged(what, wanted, rate(found[mine], time) / rate(found[other], time))


def _judged(what: str, wanted: float, measured: float, *, most: bool = False) -> Row:
    met = measured <= wanted if most else measured >= wanted
    return what, f"{'at most' if most else 'at least'} {wanted:g}", f"{measured:.2f}", "met" if met else "**missed**"


# ------------------------------------------------------------------ tables


def rate(answer: Answer, time: str = "cpu") -> float:
    """Return bytes for each second of the processor, or of the clock on the wall (`wall`)."""
    return float(answer["bytes"] / answer[time])


def speed(answer: Answer) -> str:
    """Return the throughput in MB/s."""
    value = rate(answer) / 1e6
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def peak(answer: Answer) -> str:
    """Return the peak of memory in MB."""
    return f"{answer['peak'] / 1e6:,.0f}"


def columns(works: Answer) -> list[str]:
    """Return who was measured on any workload, in order."""
    return list(dict.fromkeys(name for work in works.values() for name in work["found"]))


def throughput(works: Answer) -> tuple[Row, list[Row]]:
    """Return the throughput of all, and the memory of the scan."""
    names = columns(works)
    scans = [name for name in names if name.startswith("scan")]
    rows = []
    for name, work in works.items():
        found = work["found"]
        most = max((found[s]["peak"] for s in scans if s in found), default=0)
        cells = (speed(found[column]) if column in found else "" for column in names)
        rows.append((name, f"{work['bytes'] / 1e6:,.0f}", *cells, f"{most / 1e6:,.0f}"))
    return ("MB/s", "MB", *names, "peak MB"), rows


def ratios(works: Answer) -> tuple[Row, list[Row]]:
    """Return how many times as fast a scan is as each other one."""
    names = columns(works)
    scans = [name for name in names if name.startswith("scan ")]
    others = [name for name in names if not name.startswith("scan")]
    rows = [
        (f"{name}, {scan.removeprefix('scan ')}", *(_ratio(work["found"], scan, other) for other in others))
        for name, work in works.items()
        for scan in scans
        if scan in work["found"]
    ]
    return ("scan over", *others), rows


def _ratio(found: Answer, mine: str, other: str) -> str:
    return f"{rate(found[mine]) / rate(found[other]):.2f}" if other in found else ""


def table(head: Row, rows: list[Row]) -> str:
    """Return a Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def chart(works: Answer) -> str:
    """Return a chart of the throughput of scans."""
    names = list(works)
    scans = [name for name in columns(works) if name.startswith("scan ")]
    values = {scan: [rate(works[n]["found"][scan]) / 1e6 if scan in works[n]["found"] else 0.0 for n in names] for scan in scans}
    bars = "\n".join(f"  bar [{', '.join(f'{value:.1f}' for value in row)}]" for row in values.values())
    told = " and ".join(f"{scan.removeprefix('scan ')}" for scan in scans)
    return (
        f"Throughput of a scan in MB for each second of the processor, {told} (bars stand in front of each other).\n\n"
        f'```mermaid\nxychart-beta\n  x-axis [{", ".join(names)}]\n  y-axis "MB/s"\n{bars}\n```'
    )


# ------------------------------------------------------------------ what is kept


def machine() -> Answer:
    """Return the facts of the machine."""
    info = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.exists() else None
    return {
        "cpu": model[1] if model else platform.processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "python": platform.python_version(),
        "load": [round(value, 1) for value in os.getloadavg()],
        "libraries": {name: _version(name) for name in LIBRARIES},
    }


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def write(measured: Answer) -> list[Path]:
    """Keep what was measured in the file of the day and machine, and show it in the documentation."""
    facts = machine()
    day = dt.datetime.now(tz=dt.UTC).date().isoformat()
    kind = re.sub(r"[^a-z0-9]+", "-", f"{facts['cpu']} {facts['cores']} cores".lower()).strip("-")
    path = RESULTS / f"{day}-{kind}.json"
    path.parent.mkdir(exist_ok=True)
    kept = json.loads(path.read_text()) if path.exists() else {}
    part = next(name for name in ("curves", "layouts", "workloads") if name in measured)
    kept[part] = {"machine": facts, **measured}
    path.write_text(json.dumps(kept, indent=1) + "\n")
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(shown(text, part, f"{_told(day, facts)}\n\n{page(measured)}"), encoding="utf-8")
    return [path, DOCUMENT]


def shown(text: str, part: str, tables: str) -> str:
    """Return a document with the tables of one part in place of those that it has."""
    begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
    head, found, rest = text.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{DOCUMENT} has no {begin} … {end}")
    return f"{head}{begin}\n{tables}\n{end}{tail}"


def _told(day: str, facts: Answer) -> str:
    libraries = ", ".join(f"{name} {version}" for name, version in facts["libraries"].items())
    load = "/".join(str(value) for value in facts["load"])
    return f"Measured on {day}: {facts['cpu']}, {facts['cores']} cores, Python {facts['python']}, {libraries}; load {load}."
