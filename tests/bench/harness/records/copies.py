"""What copies cost: three of each tablet against one, on the same cores and the same disk."""
from ..edubba import Cluster, CopiesCluster
from ..load import TABLE
from .record import record

COPIES = 3
ROWS = 300000
VALUE_BYTES = 1000
IN_FLIGHT = 64
READ_SECONDS = 10
ONE_TABLET = {"tablet.soft_limit_start": "512 MiB"}  # of all rows


def with_copies_beside_one(bench, result, workload, measure, master_settings=None):
    """
    Both clusters live through the whole record, each with all rows; who is not being measured has
    nothing to do but its beacons.  The one copy is on a server that does not replicate.
    """
    rows = bench.plan.rows(ROWS)
    shape = {"records": rows, "value_size": VALUE_BYTES, "in_flight": IN_FLIGHT}
    with CopiesCluster(bench.workshop, COPIES, master_settings, bench.plan.quick) as three, \
            Cluster(bench.workshop, None, master_settings, bench.plan.quick) as one:
        loads = {}
        for name, cluster in (("three", three), ("one", one)):
            bench.say(f"filling, {name}")
            loads[name] = bench.load(cluster, workload, **shape)
            loads[name].fill()
            cluster.settle()
        three.wait_whole(TABLE)
        bench.turns(result, lambda: measure(three, loads["three"]),
                    lambda: measure(one, loads["one"]))
        three.wait_whole(TABLE)
        bench.say("reading back")
        bench.load(three, "read", **shape).run(bench.plan.seconds(5))
    return result


@record("replicated_write", 12, "single-row writes of 1 000 bytes, three copies against one")
def replicated_write(bench):
    result = bench.result("rows/s", "writes with three copies, each synced on three stores",
                          "the same with one copy", 0.3, write=True)
    return with_copies_beside_one(
        bench, result, "write",
        lambda cluster, load: bench.write_window(result, cluster, load).per_second)


def read(bench, what, master_settings=None):
    result = bench.result("rows/s", what, "the same with one copy", 0.95)
    seconds = bench.plan.seconds(READ_SECONDS)
    return with_copies_beside_one(bench, result, "read",
                                  lambda cluster, load: load.run(seconds).per_second,
                                  master_settings)


@record("replicated_read", 4, "random point reads of 1 000 bytes of one tablet, three copies against one")
def replicated_read(bench):
    """Of one tablet: nothing differs but the copies."""
    return read(bench, "point reads of one tablet with three copies, from the primary", ONE_TABLET)


@record("replicated_read_spread", 4, "the same of several tablets, which three servers lead")
def replicated_read_spread(bench):
    """Beside the copies, the client's messages to three servers are smaller than to one."""
    return read(bench, "point reads with three copies, from the primaries")
