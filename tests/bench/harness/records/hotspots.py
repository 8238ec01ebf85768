"""
Hot ranges, met by splitting and moving: four servers with a quarter of a processor each, one copy of each tablet.
The client has the rest of the machine.
"""
from statistics import mean, median

from ..edubba import ServersCluster
from ..load import TABLE
from ..measure import AT_MOST
from .record import record

SERVERS = 4
SHARE = 0.25
BEFORE_SECONDS = 3  # so long one server has it alone: nothing is split sooner
TIMES = 3
WINDOW = 2          # intervals that must stay at it


def cluster_of(bench, **master_settings):
    return ServersCluster(bench.workshop, SERVERS, master_settings=master_settings,
                          quick=bench.plan.quick, share=None if bench.plan.quick else SHARE)


def seconds_until(rates, level):
    """From the start to the end of the first WINDOW intervals (of a second) that reach it; None: never."""
    for i in range(len(rates) - WINDOW + 1):
        if mean(rates[i:i + WINDOW]) >= level:
            return i + WINDOW
    return None


@record("hot_range", 7, "a hot range of uniform keys in one tablet, until it is spread", group="hotspots")
def hot_range(bench):
    """Every turn has a table of its own, which begins as one tablet."""
    result = bench.result("s", "until throughput is three times what one server gave", "", 20, AT_MOST,
                          paired=True)
    seconds = bench.plan.seconds(45)
    rows = bench.plan.rows(200000)
    with cluster_of(bench) as cluster:
        load = bench.load(cluster, "read", records=rows, value_size=100, in_flight=2048, verify=True)

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
