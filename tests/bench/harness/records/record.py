"""The frame that records are written in: what they are called, and what all of them do alike."""
import dataclasses
import typing

from ..edubba import Cluster
from ..load import Load
from ..measure import AT_LEAST, FLUSHES_LEAST, WRITE_SECONDS_LEAST, Cpu, Result
from ..redis import Redis

HIGHEST_IN_FLIGHT = 1024
WARM_UP_SECONDS = 10  # at the highest rate: by then memory is as full as it will be
STOLEN_PERCENT_MOST = 3  # by the hypervisor, from both sides of a pair; above, they are measured again
WINDOWS_MAX = 10      # a write window is prolonged so many times to see its flushes
LOG_RECORD_BYTES = 1100  # of the log, for a row of 1 000 bytes
PEER_SECONDS = 30     # of Redis' writes, prolonged until its log was rewritten meanwhile

# 64 connections with one request in flight each: 64 clients of one process, as 64 programs would
# have them.  One client over 64 connections has one loop, which two cores take turns at.
SEPARATE = {"clients": 64, "in_flight": 1}


@dataclasses.dataclass
class Record:
    name: str
    minutes: int  # at full length, about
    about: str
    function: typing.Callable
    programs: tuple = ()  # of the build, besides those that all records need
    group: str = ""  # measured only when it is asked for
    parts: tuple = ()  # of what it makes several of: NAME.PART each; () = one, called as it is
    all_records: typing.ClassVar[list] = []

    def measure(self, bench):
        """Returns a list of Result."""
        found = self.function(bench)
        return found if isinstance(found, list) else [found]

    def names(self):
        """What its results are called."""
        return [f"{self.name}.{part}" for part in self.parts] or [self.name]

    def broken(self, text):
        return Result(self.name, "", self.about, "", 0, broken=[text])


def record(name, minutes, about, raw=(), beside=(), group="", parts=()):
    """
    Makes the function below it a record: it takes a Bench and returns a Result, or several.  `raw`
    and `beside` name the programs of tests/bench/raw and of tests/bench that it starts; without
    them nothing is measured.  What a record may be skipped for is not among them.  `parts`: see
    Record.
    """
    programs = (*(f"tests/bench/raw/raw_{program}" for program in raw),
                *(f"tests/bench/{program}" for program in beside))

    def add(function):
        Record.all_records.append(Record(name, minutes, about, function, programs, group,
                                         tuple(parts)))
        return function
    return add


class Bench:
    """What a record works with."""

    def __init__(self, workshop, plan, progress, record_of):
        self.workshop = workshop
        self.plan = plan
        self.progress = progress
        self.record = record_of
        self.never_readers = 0  # so many crowds of them were started

    def say(self, text):
        self.progress.say(f"{self.record.name}: {text}")

    def cluster(self, **settings):
        return Cluster(self.workshop, settings, quick=self.plan.quick)

    def redis(self):
        return Redis(self.workshop)

    def load(self, cluster, workload, may_fail=False, **options):
        return Load(self.workshop, cluster, workload, options, may_fail)

    def result(self, unit, ours, peer, target, sense=AT_LEAST, part=None, write=False,
               paired=True):
        """`part` is one of the record's parts, where it has any."""
        if part not in (self.record.parts or (None,)):
            raise ValueError(f"{self.record.name} has no part {part}: @record names them")
        return Result(f"{self.record.name}.{part}" if part else self.record.name, unit, ours, peer, target, sense,
                      unfit=self.plan.unfit(write, paired))

    def turns(self, result, ours, peer=None, count=None):
        """
        Ours and the peer in turns; each function gives one figure.  A pair from which the hypervisor
        took processors is measured again, whatever its figures were, as often as there are pairs.
        """
        count = count or self.plan.pairs
        disturbed = []
        for turn in range(count):
            pair, stolen = self.pair(f"{turn + 1} of {count}", ours, peer)
            while stolen > STOLEN_PERCENT_MOST and len(disturbed) < count and not self.plan.quick:
                disturbed.append({"pair": pair, "steal_percent": stolen})
                pair, stolen = self.pair(f"{turn + 1} of {count}, again", ours, peer)
            result.pairs.append(pair)
        if disturbed:
            result.details["disturbed_pairs"] = disturbed
            result.notes.append(f"measured again, as the hypervisor took more than {STOLEN_PERCENT_MOST} % of the "
                                f"processors: {len(disturbed)} of {count + len(disturbed)} pairs")
        return result

    def pair(self, which, ours, peer):
        """One turn, and how many percent of the processors were stolen meanwhile."""
        cpu = Cpu()
        self.say(f"ours, {which}")
        our_figure = ours()
        their_figure = None
        if peer:
            self.say(f"peer, {which}")
            their_figure = peer()
        return (our_figure, their_figure), cpu.percent()["steal"]

    def write_window(self, result, cluster, load, usual=WRITE_SECONDS_LEAST, settle=True):
        """
        Runs a load of writes for at least its time and at least five whole flushes; gives the
        figures of all of it, and then waits for the rest of the flushing, which does not count.
        """
        seconds = self.plan.seconds(usual)
        before = cluster.store()
        figures = load.run(seconds)
        wanted = 0 if self.plan.quick or result.unfit else FLUSHES_LEAST
        for _ in range(WINDOWS_MAX):
            if cluster.flushes() - before["flushes"] >= wanted:
                break
            figures = figures.with_more(load.run(seconds))
        self.note_window(result, before, cluster.store(), figures)
        if settle:
            cluster.settle()
        return figures

    def highest_rate(self, result, cluster, shape, **how):
        """
        Rows a second that single-row writes come to at the most, and can keep up: with so many in
        flight that no more would bring anything, in memory that is full when the window begins
        (else the first seconds would be a burst that nobody has flushed yet), and over whole
        flushes.  What is flushed afterwards is not counted: as much waited at the beginning.
        """
        load = self.load(cluster, "write", in_flight=HIGHEST_IN_FLIGHT, **shape)
        load.run(self.plan.seconds(WARM_UP_SECONDS))
        return self.write_window(result, cluster, load, **how).per_second

    def redis_window(self, result, redis, test, *shape):
        """
        Redis' writes for a while, with at least one rewriting of its log from beginning to end; it
        is waited for what is left of the last one.  Gives requests a second over all of it.
        """
        seconds = self.plan.seconds(PEER_SECONDS)
        before = redis.rewrites()
        parts = [redis.benchmark(test, seconds, *shape)]
        while (not self.plan.quick and not result.unfit and redis.rewrites() == before
               and len(parts) < WINDOWS_MAX):
            parts.append(redis.benchmark(test, seconds, *shape))
        seen = redis.rewrites() - before
        redis.settle()
        result.details.setdefault("peer_windows", []).append({
            "rewrites": seen, "requests": sum(p["requests"] for p in parts),
            "seconds": round(sum(p["requests"] / p["per_second"] for p in parts), 2)})
        if seen == 0 and not self.plan.quick:
            self.unfit(result, "a window of Redis without a rewriting of its log")
        return (sum(p["requests"] for p in parts)
                / sum(p["requests"] / p["per_second"] for p in parts))

    @staticmethod
    def unfit(result, reason):
        if reason not in result.unfit:
            result.unfit.append(reason)

    def note_window(self, result, before, after, figures):
        """`before` and `after` are the store's status."""
        flushes = after["flushes"] - before["flushes"]
        result.details.setdefault("windows", []).append({
            "flushes": flushes, "flush_bytes": after["flush_bytes"] - before["flush_bytes"],
            "rows": figures.rows, "seconds": round(figures.seconds, 2),
            "client_cpu_s": figures.client_cpu_s})
        if not self.plan.quick and flushes < FLUSHES_LEAST:
            self.unfit(result, f"fewer than {FLUSHES_LEAST} flushes in a window")
