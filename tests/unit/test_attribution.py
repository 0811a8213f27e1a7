"""The built-ins: each value has a proof, each refusal a reason."""

from __future__ import annotations

from making import activity, at, sighting, timeline

from denpex_rules.attribution import Known, Unknown, call
from denpex_rules.sighting import Actor
from denpex_rules.timeline import Timeline
from denpex_rules.topology import Topology

LOGS = [activity(f"r{r}.log", [("09:00:00", "10:30:00")], actor=Actor(rank=r, host="node-01")) for r in range(4)]


def world(size: int | None = 4, logs: list | None = None) -> Timeline:
    """Return a timeline of four ranks' logs in a job of `size` ranks."""
    made = LOGS if logs is None else logs
    ranks = frozenset(a.actor.rank for a in made if a.actor.rank is not None)
    return timeline([], made, topology=Topology(world_size=size, ranks=ranks))


def of_ranks(*ranks: int, **fields: int) -> tuple:
    """Return one sighting for each rank."""
    return tuple(sighting("t", at("10:00:00"), actor=Actor(rank=r), source=f"r{r}.log", **fields) for r in ranks)


def test_missing_rank_is_the_one_that_did_not_report() -> None:
    """Three of four ranks report and the fourth's log was read: it is missing, likely."""
    result = call(world(), "missing_from", (of_ranks(0, 1, 3),))
    assert isinstance(result, Known)
    assert (result.value, result.certainty) == ((2,), "likely")


def test_unread_rank_is_not_missing() -> None:
    """A rank whose log was not read may have reported too: nothing is known, and its log is what is needed."""
    result = call(world(logs=LOGS[:3]), "missing_from", (of_ranks(0, 1),))
    assert isinstance(result, Unknown)
    assert [n.rank for n in result.needs] == [3]


def test_nobody_is_missing_when_all_report() -> None:
    """All ranks reporting leaves nobody to name."""
    assert isinstance(call(world(), "missing_from", (of_ranks(0, 1, 2, 3),)), Unknown)


def test_lowest_counter_is_behind() -> None:
    """The rank whose last sequence number is lowest is behind the others."""
    shown = (*of_ranks(0, 1, 3, seq=8412), *of_ranks(2, seq=8410))
    result = call(world(), "lowest", ((shown, "seq"),))
    assert isinstance(result, Known)
    assert result.value == (2,)


def test_equal_counters_name_nobody() -> None:
    """Equal counters everywhere mean that all joined: nobody is behind."""
    assert isinstance(call(world(), "lowest", ((of_ranks(0, 1, 2, 3, seq=8412), "seq"),)), Unknown)


def test_lowest_needs_every_rank() -> None:
    """A rank that shows no counter may be further behind than the lowest shown."""
    result = call(world(), "lowest", (((*of_ranks(0, 1, seq=9), *of_ranks(2, seq=8)), "seq"),))
    assert isinstance(result, Unknown)
    assert [n.rank for n in result.needs] == [3]


def test_uninitialised_counter_is_no_counter() -> None:
    """A number far beyond any sequence number is ignored."""
    shown = (*of_ranks(0, 1, 3, seq=76280750235782912), *of_ranks(2, seq=8))
    assert isinstance(call(world(), "lowest", ((shown, "seq"),)), Unknown)


def test_odd_one_out_differs_from_the_majority() -> None:
    """The rank whose value no other shares is named; an even split names nobody."""
    result = call(world(), "odd_one_out", (((*of_ranks(0, 1, 3, size=8), *of_ranks(2, size=4)), "size"),))
    assert isinstance(result, Known)
    assert result.value == (2,)
    assert isinstance(call(world(), "odd_one_out", (((*of_ranks(0, 1, size=8), *of_ranks(2, 3, size=4)), "size"),)), Unknown)


def test_odd_one_out_needs_a_majority_of_the_job() -> None:
    """Two ranks against one are no majority of four: the fourth may side with the one."""
    assert isinstance(call(world(), "odd_one_out", (((*of_ranks(0, 1, size=8), *of_ranks(2, size=4)), "size"),)), Unknown)


def test_not_among_names_who_shows_something_else() -> None:
    """The rank whose stack is not in the collective is named, as likely; where none differs, nobody is."""
    result = call(world(), "not_among", (of_ranks(0, 1, 2, 3), of_ranks(0, 1, 3)))
    assert isinstance(result, Known)
    assert (result.value, result.certainty) == ((2,), "likely")
    assert isinstance(call(world(), "not_among", (of_ranks(0, 1, 2, 3), of_ranks(0, 1, 2, 3))), Unknown)
    assert isinstance(call(world(), "not_among", (of_ranks(0, 1, 2, 3), of_ranks())), Unknown)


def test_not_among_needs_every_rank() -> None:
    """A rank that shows nothing may be the one: its log is asked for where it was not read."""
    result = call(world(), "not_among", (of_ranks(0, 1, 2), of_ranks(0, 1)))
    assert isinstance(result, Unknown)
    assert "rank 3" in result.reason


def test_first_silent_needs_a_clear_margin() -> None:
    """A rank that fell silent minutes before the others is named; one within the usual spacing is not."""
    early = activity("r2.log", [("09:00:00", "09:40:00")], actor=Actor(rank=2))
    logs = [*(a for a in LOGS if a.actor.rank != 2), early]
    result = call(world(logs=logs), "first_silent", ((sighting("t", at("10:20:00")),),))
    assert isinstance(result, Known)
    assert result.value == (2,)
    assert isinstance(call(world(), "first_silent", ((sighting("t", at("10:20:00")),),)), Unknown)


def test_first_silent_refuses_an_untimed_symptom() -> None:
    """Without a time of the symptom nothing can be said about what came before it."""
    assert isinstance(call(world(), "first_silent", ((sighting("t"),),)), Unknown)


def test_rank_of_an_unmapped_device_says_what_is_missing() -> None:
    """No init line maps the device: the answer is a reason and the host whose rank logs are needed."""
    result = call(world(), "rank_of", (Known("node-02"), Known("0000:41:00")))
    assert isinstance(result, Unknown)
    assert result.needs[0].host == "node-02"


def test_unknown_argument_makes_the_result_unknown() -> None:
    """An unknown argument is passed on with its reason."""
    assert call(world(), "host_of", (Unknown("no line"),)) == Unknown("no line")


def test_needs_are_words() -> None:
    """A need names the log and the interval."""
    need = call(world(logs=LOGS[:3]), "missing_from", (of_ranks(0, 1),)).needs[0]
    assert need.text() == "the log of rank 3"


GROUPS = ({0: 0, 1: 1}, {0: 2, 1: 3}, {0: 0, 1: 2}, {0: 1, 1: 3})


def groups(*waiting: tuple[int, int, str], logs: list | None = None, known: tuple = GROUPS) -> object:
    """Return who is missing among ranks that wait, each with its number in a group, in a job of two by two ranks."""
    made = LOGS if logs is None else logs
    line = timeline([], made, topology=Topology(world_size=4, ranks=frozenset(range(4)), communicators=known))
    step = tuple(sighting("t", at("10:00:00"), actor=Actor(rank=r), source=f"r{r}.log", member=m, group=g) for r, m, g in waiting)
    return call(line, "missing_member", (step, step))


def test_missing_member_is_found_by_global_rank() -> None:
    """Member 0 of the group of ranks 2 and 3 is global rank 2, never rank 0."""
    result = groups((3, 1, "ID 7"), (1, 1, "ID 3"), (0, 0, "ID 3"), known=GROUPS[:2])
    assert isinstance(result, Known)
    assert result.value == (2,)


def test_doubt_about_the_group_leaves_all_that_may_be_missing() -> None:
    """Rank 3 is member 1 of two groups: either other member may be the missing one."""
    result = groups((3, 1, "ID 7"))
    assert isinstance(result, Known)
    assert result.value == (1, 2)


def test_who_waits_in_another_group_is_not_missing() -> None:
    """A member that waits elsewhere is innocent; what is missing there counts."""
    result = groups((0, 0, "ID 3"), (1, 1, "ID 9"))
    assert isinstance(result, Unknown)


def test_unread_member_is_not_missing() -> None:
    """A member without a log may have reported; its log is needed."""
    result = groups((0, 0, "ID 3"), logs=LOGS[:1])
    assert isinstance(result, Unknown)


def test_group_without_init_lines_names_nobody() -> None:
    """No communicator numbers the printers like that: nothing tells the members."""
    assert isinstance(groups((3, 5, "ID 7")), Unknown)


def test_cut_logs_without_a_world_size_miss_nobody() -> None:
    """Where nothing tells the number of ranks and no launcher's log was read, a rank that did not report may just be cut off."""
    result = call(world(size=None), "missing_from", (of_ranks(0, 1, 3),))
    assert isinstance(result, Unknown)
    assert [n.kind for n in result.needs] == ["agent"]
