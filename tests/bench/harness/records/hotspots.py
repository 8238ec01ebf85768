"""
Hot ranges, met by splitting and moving: four servers with a quarter of a processor each, one copy of each tablet.
The client has the rest of the machine.
"""
import json
import re
import threading
import time
from statistics import mean, median

from ..edubba import ServersCluster
from ..load import TABLE
from ..measure import AT_MOST
from ..process import Failure
from .record import record

SERVERS = 4
SHARE = 0.25
IN_FLIGHT = 2048    # one server alone is as full with it as four are
BATTERY_IN_FLIGHT = 8192  # where keys are spread, who waits for its quota has most of 2048, and the others too few
BEFORE_SECONDS = 3  # so long one server has it alone: nothing is split sooner
FILL_SECONDS = 15   # for so long the memory of one server takes more than can be flushed
TIMES = 3
WINDOW = 2          # intervals that must stay at it
REST_SECONDS = 600  # in which a load that has come to rest must move nothing
CHANGE_RATE = 2000  # requests a second while tablets change: a fraction of what the servers can do
TABLETS = 16        # of the table that is changed: four a server
SALTS = 3


def cluster_of(bench, share=SHARE, **master_settings):
    return ServersCluster(bench.workshop, SERVERS, master_settings=master_settings,
                          quick=bench.plan.quick, share=None if bench.plan.quick else share)


def seconds_until(rates, level):
    """From the start to the end of the first WINDOW intervals (of a second) that reach it; None: never."""
    for i in range(len(rates) - WINDOW + 1):
        if mean(rates[i:i + WINDOW]) >= level:
            return i + WINDOW
    return None


@record("hot_range", 7, "a hot range of uniform keys in one tablet, until it is spread", group="hotspots")
def hot_range(bench):
    """Every turn has a table of its own, which begins as one tablet."""
    result = bench.result("s", "until throughput is three times what one server gave", "", 20, AT_MOST)
    seconds = bench.plan.seconds(45)
    rows = bench.plan.rows(200000)
    with cluster_of(bench) as cluster:
        load = bench.load(cluster, "read", records=rows, value_size=100, in_flight=IN_FLIGHT, verify=True)

        def ours():
            bench.load(cluster, "write", records=rows, value_size=100).fill()
            parts, _ = load.intervals(seconds)
            rates = [part["rows_per_s"] for part in parts]
            before = median(rates[:BEFORE_SECONDS])
            found = seconds_until(rates, TIMES * before)
            result.details.setdefault("rates", []).append([round(rate) for rate in rates])
            if found is None and not bench.plan.quick:
                result.notes.append(f"not within {seconds:g} s: {before:,.0f} rows/s at first, at most "
                                    f"{max(rates):,.0f}")
            cluster.ebt("deletetable", TABLE)
            return found or seconds

        return bench.turns(result, ours)


def battery(bench, cluster, seconds):
    """What came of the writes of each variant of the lab's experiment, by its name."""
    output = bench.workshop.run([
        bench.workshop.program("client/load/edubba-load"), "lab", "battery", "--masters", cluster.masters,
        "--presplit", "1", "--in-flight", str(BATTERY_IN_FLIGHT), "--records", "2000", "--duration", f"{seconds:g}",
        "--format", "json", "--quiet"])
    variants = json.loads(output.splitlines()[-1])["variants"]
    failed = sum(variant["write"]["errors"] for variant in variants)
    if failed:
        raise Failure(f"{failed} events could not be written")
    return {variant["name"]: variant["write"] for variant in variants}


def rate_from(write, start):
    """Events a second from that second on."""
    moments = [moment for moment in write["moments"] if moment["from_s"] >= start]
    return sum(moment["operations"] for moment in moments) / sum(moment["to_s"] - moment["from_s"] for moment in moments)


@record("battery_promoted", 30, "BATTERY#user#ts against BATTERY#ts, from one tablet on", group="hotspots")
def battery_promoted(bench):
    """
    The lab's experiment, whose variants begin as one tablet each and are left to the cluster.  What counts is what goes
    on, so the window begins when the memory of a server alone is full.
    """
    result = bench.result("events/s", "writes of BATTERY#user#ts", "writes of BATTERY#ts", 2.5)
    fill = 0 if bench.plan.quick else FILL_SECONDS
    with cluster_of(bench) as cluster:
        found = {}

        def rate(name):
            write = found[name]
            result.details.setdefault("from_the_first_event", {}).setdefault(name, []).append(round(write["per_second"]))
            return rate_from(write, fill)

        def ours():
            found.update(battery(bench, cluster, fill + bench.plan.seconds(30)))
            return rate("promoted")

        return bench.turns(result, ours, lambda: rate("by time"))


@record("battery_ahead", 9, "BATTERY#ts with splitting ahead, against without", group="hotspots")
def battery_ahead(bench):
    """
    Rows in order, from one tablet on: every one of them lands behind the last one.  What counts is what goes on, so the
    window begins when the memory of a server alone is full.
    """
    result = bench.result("rows/s", "appending while tablets are split ahead", "the same, and nothing is split", 1.3)
    seconds = bench.plan.seconds(45)
    fill = 0 if bench.plan.quick else FILL_SECONDS
    options = {"records": 100000000, "value_size": 100, "distribution": "sequential", "in_flight": IN_FLIGHT}
    with cluster_of(bench) as ahead, cluster_of(bench, **{"balance.enabled": "false"}) as without:
        def append(cluster):
            parts, whole = bench.load(cluster, "write", **options).intervals(fill + seconds, verify=False)
            rate = mean(part["rows_per_s"] for part in parts[fill:]) if fill else whole.per_second
            result.details.setdefault("from_the_first_row", []).append(round(whole.per_second))
            cluster.ebt("deletetable", TABLE)
            cluster.settle()
            return rate

        return bench.turns(result, lambda: append(ahead), lambda: append(without))


@record("salted_scan", 3, "a scan of all rows with three salts, against plain keys", beside=["salted_scan"],
        group="hotspots")
def salted_scan(bench):
    """On an idle cluster, whose servers are not confined: what merging three scans costs."""
    result = bench.result("rows/s", "edubba_scan_open_salted() of three salts, merged in order",
                          "the same rows with plain keys", 0.8)
    rows = bench.plan.rows(1000000)
    with cluster_of(bench, share=None, **{"balance.enabled": "false"}) as cluster:
        def run(salts, what):
            return json.loads(bench.workshop.run([
                bench.workshop.program("tests/bench/salted_scan"), "--masters", cluster.masters, "--table",
                f"SALTED{salts}", "--rows", str(rows), "--salts", str(salts), "--what", what]))["per_second"]

        for salts, splits in ((0, ",".join(f"{rows * i // SALTS:012d}" for i in range(1, SALTS))),
                              (SALTS, ",".join(f"{i}#" for i in range(1, SALTS)))):
            cluster.ebt("createtable", f"SALTED{salts}", "families=cf:maxversions=1", f"splits={splits}")
            bench.say(f"filling, {salts} salts")
            run(salts, "fill")
        cluster.settle()
        run(0, "scan")
        run(SALTS, "scan")
        return bench.turns(result, lambda: run(SALTS, "scan"), lambda: run(0, "scan"))


def moves_of(cluster):
    return sum(event["kind"] in ("lead", "move") for event in cluster.lines("events"))


@record("rest", 12, "a load that has stopped moving: moves in the ten minutes after", group="hotspots")
def rest(bench):
    result = bench.result("moves", "in ten minutes of the same load, after a minute of it", "", 0, AT_MOST,
                          paired=False)
    rows = bench.plan.rows(200000)
    with cluster_of(bench) as cluster:
        load = bench.load(cluster, "read", records=rows, value_size=100, rate=CHANGE_RATE * 10)
        bench.load(cluster, "write", records=rows, value_size=100).fill()
        bench.say("coming to rest")
        load.run(bench.plan.seconds(90))
        before = moves_of(cluster)
        load.run(bench.plan.seconds(REST_SECONDS))
        result.pairs.append((moves_of(cluster) - before, None))
        result.notes.append(f"{before} moves while the load was spread")
    if bench.plan.seconds_asked:
        result.unfit.append(f"{bench.plan.seconds_asked:g} s, not {REST_SECONDS}")
    return result


@record("planning_round", 1, "a round of planning for 1 000 servers and 100 000 tablets", group="hotspots")
def planning_round(bench):
    result = bench.result("ms", "the longest round", "", 100, AT_MOST)
    program = bench.workshop.program("tests/sim/edubba-placement-sim")

    def ours():
        output = bench.workshop.run([program, "--only", "thousand"])
        line = next(line for line in output.splitlines() if line.startswith("thousand"))
        return float(re.search(r"([0-9.]+) */ *([0-9.]+)", line).group(2))

    return bench.turns(result, ours)


def splits_and_merges(cluster, rows, end):
    """One tablet after the other is cut in halves, and put together again."""
    turn = 0
    while time.monotonic() < end:
        middle = f"{rows * (2 * (turn % TABLETS) + 1) // (2 * TABLETS):016d}"
        cluster.ebt("split", TABLE, middle)
        cluster.ebt("merge", TABLE, middle)
        turn += 1


def moves(cluster, _, end):
    """Each server in turn gives away what it has, and may be used again."""
    servers = [str(server["server"]) for server in cluster.lines("servers")]
    turn = 0
    while time.monotonic() < end:
        server = servers[turn % len(servers)]
        cluster.ebt("drain", server)
        cluster.ebt("drain", server, "--undo")
        turn += 1


def p99_while(bench, result, change):
    """p99 of reads and writes at a rate that the servers can well do, while tablets change, against before."""
    rows = bench.plan.rows(100000)
    seconds = bench.plan.seconds(20)
    with cluster_of(bench, **{"balance.enabled": "false"}) as cluster:
        bench.load(cluster, "write", records=rows, value_size=100, presplit=TABLETS).fill()
        load = bench.load(cluster, "ycsb-a", records=rows, fields=1, value_size=100, keys="ordered",
                          distribution="uniform", rate=CHANGE_RATE)
        load.run(bench.plan.seconds(5))

        def ours():
            failed = []

            def work():
                try:
                    change(cluster, rows, time.monotonic() + seconds)
                except Failure as failure:
                    failed.append(failure)

            thread = threading.Thread(target=work)
            thread.start()
            figures = load.run(seconds)
            thread.join()
            if failed:
                raise failed[0]
            return figures.p99_us

        return bench.turns(result, ours, lambda: load.run(seconds).p99_us)


@record("p99_split_merge", 4, "p99 of requests while tablets are split and merged, against before", group="hotspots")
def p99_split_merge(bench):
    result = bench.result("us", "p99 while tablets are split and merged", "p99 before", 3, AT_MOST)
    return p99_while(bench, result, splits_and_merges)


@record("p99_move", 4, "p99 of requests while tablets are moved, against before", group="hotspots")
def p99_move(bench):
    result = bench.result("us", "p99 while tablets are moved", "p99 before", 3, AT_MOST)
    return p99_while(bench, result, moves)
