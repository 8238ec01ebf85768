"""Far more than the server can do, and clients that never read."""
import json
import os

from ..measure import AT_MOST
from ..process import Failure, wait_until
from .record import record
from .storage import GIB, Peak

OFFERED = 10
HIGHEST_SECONDS = 30
MEMORY_MOST = GIB  # twice the memory_limit of 512 MiB: docs/configuration.md, "Memory"
NEVER_READERS = 100
NEVER_READERS_QUICK = 4


@record("overload", 10, "10 x the highest rate for 60 s, and 100 clients that never read",
        beside=["never_read", "control_probe"], parts=["goodput", "memory", "control"])
def overload(bench):
    rows = bench.plan.rows(1000000)
    seconds = bench.plan.seconds(60)
    goodput = bench.result("rows/s", f"writes acknowledged, {OFFERED} x the highest rate offered",
                           "the highest rate", 0.8, part="goodput", write=True)
    memory = bench.result("bytes", "peak anonymous memory meanwhile", "", MEMORY_MOST,
                          AT_MOST, part="memory", write=True)
    control = bench.result("ms", "p99 of control requests meanwhile", "", 200, AT_MOST,
                           part="control", write=True)
    with bench.cluster() as cluster:
        shape = {"records": rows, "value_size": 1000}
        bench.say("filling")
        bench.load(cluster, "write", **shape).fill()
        cluster.flush()
        seen = {}

        def offered():
            # Not settled in between: memory is as full when far too much begins to be offered.
            seen["highest"] = bench.highest_rate(goodput, cluster, shape, usual=HIGHEST_SECONDS,
                                                 settle=False)
            rate = f"{seen['highest'] * OFFERED:.0f}"
            load = bench.load(cluster, "write", may_fail=True, rate=rate, late_max=1, timeout=5,
                              **shape)
            idlers = start_never_readers(bench, cluster, rows)
            probe = start_probe(bench, cluster, seconds)
            with Peak(cluster) as peak:
                figures = load.run(seconds)
            memory.pairs.append((peak.bytes, None))
            control.pairs.append((finish_probe(bench, probe)["p99_us"] / 1000, None))
            goodput.details.setdefault("refused", []).append(figures.errors)
            bench.workshop.stop(idlers)
            cluster.settle()
            return figures.per_second

        bench.turns(goodput, offered, lambda: seen["highest"])
    return [goodput, memory, control]


def start_never_readers(bench, cluster, rows):
    """Plain sockets that ask on and on and take nothing (tests/bench/never_read.c)."""
    count = NEVER_READERS if not bench.plan.quick else NEVER_READERS_QUICK
    process = bench.workshop.start(
        [bench.workshop.program("tests/bench/never_read"), f"tcp://127.0.0.1:{cluster.port}",
         str(count), str(rows)], "never_read.log")
    log = bench.workshop.folder / "never_read.log"

    def ready():
        if process.poll() is not None:
            raise Failure(log.read_text().strip())
        return log.read_text().count("ready") > bench.never_readers

    wait_until(ready, 30, "clients that never read have connected")
    bench.never_readers += 1
    return process


def start_probe(bench, cluster, seconds):
    """Asks master and tablet server on the control lane all the while (tests/bench/control_probe.c)."""
    path = bench.workshop.folder / "probe.json"
    process = bench.workshop.start(
        [bench.workshop.program("tests/bench/control_probe"), str(path), str(max(seconds, 1)),
         f"tcp://127.0.0.1:{cluster.port}", cluster.masters], "probe.log")
    return process, path


def finish_probe(bench, probe):
    process, path = probe
    process.wait(120)
    bench.workshop.processes.remove(process)
    if process.returncode != 0:
        raise Failure((bench.workshop.folder / "probe.log").read_text().strip())
    document = json.loads(path.read_text())
    os.unlink(path)
    return document
