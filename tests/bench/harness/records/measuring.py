"""
What it costs to measure load: a server that does beside one that does not, at the same time, each with a client of its
own that keeps it as busy as it can.  What the machine does meanwhile meets both.
"""
import pathlib

from ..measure import AT_MOST, Cpu
from .record import STOLEN_PERCENT_MOST, record

SECONDS = 8
TURNS = 12  # of either: the middle one of so many is judged
TARGET = 1.02
FLUSHING = "flush"  # the thread that is left out: it measures nothing, and what it has to do comes in heaps


def busy_ns(process):
    """Of all threads that answer requests, or tell of them."""
    total = 0
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        try:
            if (task / "comm").read_text().strip() != FLUSHING:
                total += int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            pass
    return total


def turn(sides, seconds):
    """Microseconds of the server's CPU an operation, of each side; both run at once."""
    before = [busy_ns(cluster.server) for cluster, _ in sides]
    running = [load.start(seconds) for _, load in sides]
    figures = [load.finish(process) if process.wait() is not None else None
               for (_, load), process in zip(sides, running)]
    after = [busy_ns(cluster.server) for cluster, _ in sides]
    return [(b - a) / 1000 / f.rows for a, b, f in zip(before, after, figures)]


def cost(bench, part, workload, clusters):
    result = bench.result("us", f"a server's CPU a {part}, measuring load", "not measuring", TARGET, AT_MOST,
                          part=part)
    rows = bench.plan.rows(200000)
    sides = []
    for cluster in clusters:
        load = bench.load(cluster, workload, records=rows, value_size=100, in_flight=64)
        load.fill()
        load.read_all()
        sides.append((cluster, load))
    turn(sides, bench.plan.seconds(2))  # by then the tablet is known to be busy
    turns = 1 if bench.plan.quick else TURNS
    stolen = 0
    while len(result.pairs) < turns and stolen <= turns:
        bench.say(f"{part}: {len(result.pairs) + 1} of {turns}")
        cpu = Cpu()
        order = sides if len(result.pairs) % 2 == 0 else sides[::-1]
        costs = turn(order, bench.plan.seconds(SECONDS))
        if cpu.percent()["steal"] > STOLEN_PERCENT_MOST and not bench.plan.quick and stolen < turns:
            stolen += 1
            continue
        result.pairs.append(tuple(costs if order is sides else costs[::-1]))
    if stolen:
        result.notes.append(f"measured again, as the hypervisor took more than {STOLEN_PERCENT_MOST} % of the "
                            f"processors: {stolen} turns")
    return result


@record("measuring_cost", 5, "the server's CPU an operation, measuring load beside not", group="hotspots",
        parts=["read", "write"])
def measuring_cost(bench):
    with bench.cluster() as measuring, bench.cluster(measure_load="false") as blind:
        return [cost(bench, "read", "read", (measuring, blind)),
                cost(bench, "write", "write", (measuring, blind))]
