"""How long one operation takes, alone and while the server is flushing."""
from statistics import median

from ..measure import AT_MOST, WRITE_SECONDS_LEAST
from .record import LOG_RECORD_BYTES, record

ROWS = 1000000
VALUE_BYTES = 1000
SMALL_BYTES = 100    # of a request for a row, and of the answer to a write


@record("single_write_latency", 7, "one write in flight, p50", raw=["nng_echo", "log_commit"])
def single_write_latency(bench):
    """
    One write at a time fills the default memtable of 128 MiB in half a minute.  It is given an
    eighth of that, and so flushes eight times as often as it would: a minute sees at least five.
    """
    rows = bench.plan.rows(ROWS)
    result = bench.result("us", "p50 of a write of 1 000 bytes, one in flight",
                          "p50 of an nng echo, and of fdatasync", 1.4, AT_MOST, write=True)
    with bench.cluster(memtable_limit="16 MiB") as cluster:
        load = bench.load(cluster, "write", records=rows, value_size=VALUE_BYTES, in_flight=1)

        def peer():
            seconds = max(int(bench.plan.seconds(10)), 1)
            echo = bench.workshop.raw("nng_echo", seconds=seconds, request_bytes=LOG_RECORD_BYTES,
                                      reply_bytes=SMALL_BYTES)
            sync = bench.workshop.raw("log_commit", seconds=seconds, writers=1,
                                      record_bytes=LOG_RECORD_BYTES)
            return echo["p50_us"] + sync["p50_us"]

        return bench.turns(result, lambda: bench.write_window(result, cluster, load).p50_us, peer)


@record("single_read_latency", 2, "one read in flight, p50", raw=["nng_echo"])
def single_read_latency(bench):
    rows = bench.plan.rows(ROWS)
    result = bench.result("us", "p50 of a read of 1 000 bytes, one in flight",
                          "p50 of an nng echo", 1.4, AT_MOST)
    with bench.cluster() as cluster:
        load = bench.load(cluster, "read", records=rows, value_size=VALUE_BYTES, in_flight=1)
        bench.say("filling")
        load.fill()
        cluster.flush()
        load.read_all()
        seconds = bench.plan.seconds(10)

        def peer():
            return bench.workshop.raw("nng_echo", seconds=max(int(seconds), 1),
                                      request_bytes=SMALL_BYTES,
                                      reply_bytes=VALUE_BYTES)["p50_us"]

        return bench.turns(result, lambda: load.run(seconds).p50_us, peer)


def disk_alone(bench, rate, page_bytes, seconds=WRITE_SECONDS_LEAST):
    """
    A log at the same rate, and as many bytes of pages written beside it, with nothing around them:
    whatever holds that up is the disk.
    """
    return bench.workshop.raw("log_tail", rate=f"{rate:.0f}", record_bytes=LOG_RECORD_BYTES,
                              page_bytes=f"{page_bytes:.0f}",
                              file_mib=16 if bench.plan.quick else 1024,
                              seconds=max(int(bench.plan.seconds(seconds)), 1))


def note_disk_alone(result, seen):
    result.details["disk_alone"] = seen
    worst = [f"{d['log_sync_max_ms']:.0f}" for d in seen]
    tails = sorted(d["p999_us"] for d in seen)
    result.notes.append(
        f"the disk alone (raw_log_tail), the same rate and bytes, in turns with ours: p50 "
        f"{median(d['p50_us'] for d in seen):,.0f} us, p99.9 {median(tails):,.0f} "
        f"({tails[0]:,.0f}..{tails[-1]:,.0f}); its longest syncs of the log: {', '.join(worst)} ms")


@record("write_stall", 13, "write p99.9 at half of the highest rate, while flushing",
        raw=["log_tail"])
def write_stall(bench):
    """Open loop: a request counts from when it should have been sent, so no stall is hidden."""
    rows = bench.plan.rows(ROWS)
    result = bench.result("us", "p99.9 of writes at half of the highest rate", "their p50", 20,
                          AT_MOST, write=True)
    disk_alone(bench, rate=1, page_bytes=0, seconds=1)  # makes its files, and nobody waits for that
    with bench.cluster() as cluster:
        shape = {"records": rows, "value_size": VALUE_BYTES}
        bench.say("the highest rate")
        highest = bench.highest_rate(result, cluster, shape)
        result.details["highest_per_second"] = highest
        load = bench.load(cluster, "write", rate=f"{highest / 2:.0f}", **shape)
        seen, alone = [], []
        def ours():
            before = bench.workshop.disk_written_bytes()
            figures = bench.write_window(result, cluster, load, settle=False)
            pages = bench.workshop.disk_written_bytes() - before - figures.rows * LOG_RECORD_BYTES
            cluster.settle()
            seen.append((figures, max(pages, 0) / figures.seconds))
            return figures.p999_us

        def peer():
            figures, page_bytes = seen[-1]
            alone.append(disk_alone(bench, figures.per_second, page_bytes))
            return figures.p50_us

        bench.turns(result, ours, peer)
        note_disk_alone(result, alone)
        return result
