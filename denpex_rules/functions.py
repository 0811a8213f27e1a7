"""The typed built-ins that rules may call: the only things that attribute. Names, types and meaning; `blame` evaluates them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import frozen


@frozen
class Signature:
    """One built-in: accepted argument bases (one tuple an overload), the base of its result, and its meaning.

    The argument base "step" wants the name of a step; "capture" wants `step.field`.
    """

    name: str
    overloads: tuple[tuple[str, ...], ...]
    result: str
    summary: str


FUNCTIONS: Final[Mapping[str, Signature]] = {
    f.name: f
    for f in (
        Signature(
            "rank_of",
            (("host", "device"), ("host", "pid"), ("host", "local_rank")),
            "rank",
            "the rank that ran on that device, process or local rank of that host, proven by lines that say so",
        ),
        Signature("host_of", (("rank",),), "host", "the host that a rank ran on, proven by lines that say so"),
        Signature("device_of", (("rank",),), "device", "the device that a rank used, proven by lines that say so"),
        Signature(
            "missing_from",
            (("step",),),
            "ranks",
            "the job's ranks that are not among the step's sightings although their logs were read over its time",
        ),
        Signature(
            "missing_member",
            (("step", "step"),),
            "ranks",
            "the ranks that are not among the first step's sightings although they belong to a process group that the second "
            "step's sightings name (`group`, `member`), by the communicator that numbers its members alike",
        ),
        Signature(
            "not_among",
            (("step", "step"),),
            "ranks",
            "the ranks among the first step's sightings that are not among the second's, where every rank is among the first's",
        ),
        Signature(
            "lowest",
            (("capture",),),
            "ranks",
            "the ranks whose highest value of the capture is lowest, where another rank's is higher",
        ),
        Signature(
            "odd_one_out",
            (("capture",),),
            "ranks",
            "the ranks whose value of the capture differs from the one that more than half of the job's ranks show",
        ),
        Signature(
            "first_silent",
            (("step",),),
            "ranks",
            "the ranks whose last line before the step came first, by more than their usual spacing and the skew bound",
        ),
    )
}
