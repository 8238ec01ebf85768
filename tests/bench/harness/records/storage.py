"""Bytes on disk, bytes of memory, and how soon a killed server is back."""
import signal
import threading
import time

from ..measure import AT_MOST
from .record import record

GIB = 2**30


class Peak:
    """The most anonymous memory that the server had while this was open."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.bytes = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self):
        while not self.over.wait(0.05):
            self.bytes = max(self.bytes, self.cluster.anonymous_bytes())

    def __enter__(self):
        self.bytes = self.cluster.anonymous_bytes()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


@record("metric_bytes_per_cell", 1, "disk bytes a cell of METRIC: 1 000 hosts, 20 M cells")
def metric_bytes_per_cell(bench):
    fields = 20
    rows = bench.plan.rows(1000000)
    result = bench.result("bytes/cell", "allocated on disk, log apart", "", 30, AT_MOST,
                          paired=False)
    with bench.cluster() as cluster:
        load = bench.load(cluster, "write", records=rows, operations=rows, fields=fields,
                          value_size=8, keys="series", distribution="sequential", batch=100)
        bench.say(f"{rows * fields} cells")
        load.run()
        cluster.flush()
        result.pairs.append((cluster.disk_bytes() / (rows * fields), None))
        bench.say("reading back")
        bench.load(cluster, "scan", records=rows, fields=fields, value_size=8,
                   keys="series").run()
    return result


@record("memory", 1, "peak anonymous memory of the tablet server over a load of 4 GiB")
def memory(bench):
    rows = bench.plan.rows(4 * GIB // 1000)
    result = bench.result("bytes", "peak anonymous memory", "", GIB, AT_MOST, paired=False)
    with bench.cluster() as cluster, Peak(cluster) as peak:
        bench.say("4 GiB")
        bench.load(cluster, "write", records=rows, operations=rows, value_size=1000,
                   keys="hashed", distribution="sequential", batch=100).run()
        cluster.settle()
    result.pairs.append((peak.bytes, None))
    return result


def kill_and_start(cluster, row_reader):
    """Seconds from the start of the process until a client has read a row."""
    cluster.stop_server(signal.SIGKILL)
    begin = time.monotonic()
    cluster.start_server()
    row_reader()
    return time.monotonic() - begin


@record("restart", 2, "ready after kill -9 with full memtables")
def restart(bench):
    """The writer goes on through the kill and must end with every write acknowledged."""
    rows = bench.plan.rows(1000000)
    result = bench.result("s", "from start to the first row read, memtables full", "", 5, AT_MOST)
    with bench.cluster() as cluster:
        shape = {"records": rows, "value_size": 1000}
        load = bench.load(cluster, "write", in_flight=64, **shape)
        reader = bench.load(cluster, "read", operations=1, **shape)
        bench.say("filling")
        load.fill()
        full = 0.8 * 0.75 * 512 * 2**20  # flushing hurries above three quarters of the limit

        def ours():
            process = load.start(600)
            try:
                end = time.monotonic() + bench.plan.seconds(60)
                held = 0
                while time.monotonic() < end and held < full and process.poll() is None:
                    held = cluster.store()["memory_bytes"]
                    time.sleep(0.02)
                result.details.setdefault("memtable_bytes", []).append(held)
                seconds = kill_and_start(cluster, reader.run)
            finally:
                load.finish(process)
            cluster.settle()
            return seconds

        return bench.turns(result, ours)


@record("restart_incr_hot", 61, "the same after an hour of incr_hot")
def restart_incr_hot(bench):
    """Folded counters must not let the log grow for ever.  The sums are compared (--verify)."""
    result = bench.result("s", "from start to the first row read, after an hour of adds to one cell",
                          "", 5, AT_MOST, paired=False)
    with bench.cluster() as cluster:
        load = bench.load(cluster, "add", records=1, in_flight=64)
        seconds = bench.plan.seconds(3600)
        bench.say(f"{seconds:g} s of adds")
        load.run(seconds)
        result.details["log_bytes"] = cluster.store()["log_bytes"]
        result.pairs.append((kill_and_start(cluster, lambda: load.run(operations=1)), None))
        if seconds < 3600:
            result.unfit.append(f"{seconds:g} s, not an hour")
    return result
