"""Many rows a request, sustained, each once: against LMDB alone without sync, and against Redis."""
from ..measure import WRITE_SECONDS_LEAST
from .record import LOG_RECORD_BYTES, record

BATCH_ROWS = 100
IN_FLIGHT = 128  # requests
LMDB_BATCH_ROWS = 20000
SORTED_ROWS = 400000      # of 1 000 bytes: what memory holds
TRANSACTION_ROWS = 4096   # about what the flush puts into one
GROWTH = 1.15  # over what the least time would take


def ours_once(bench, result, rows, options):
    """Into an empty server; gives the figures, flushing until the last row was acknowledged."""
    with bench.cluster() as cluster:
        before = cluster.store()
        figures = bench.load(cluster, "write", operations=rows, distribution="sequential",
                             batch=BATCH_ROWS, in_flight=IN_FLIGHT,
                             **{"records": rows, **options}).run()
        bench.note_window(result, before, cluster.store(), figures)
    return figures


def batches(bench, result, rows, options, peer):
    """
    Rows are counted, not seconds, for a B+tree slows down as it grows.  If the rows are in before
    the least time has passed, both sides get more of them, and that first try counts for nothing.
    """
    while True:
        bench.say(f"ours, how long {rows} rows take")
        figures = ours_once(bench, result, rows, options)
        if figures.seconds >= WRITE_SECONDS_LEAST or result.unfit:
            break
        result.details["windows"].clear()
        rows = int(rows * max(GROWTH * WRITE_SECONDS_LEAST / figures.seconds, GROWTH))
    result.details["rows"] = rows
    first = [figures]  # it was measured as the others will be

    def ours():
        return (first.pop() if first else ours_once(bench, result, rows, options)).per_second

    return bench.turns(result, ours, lambda: peer(rows))


def beside_lmdb(bench, rows, keys):
    result = bench.result("rows/s", f"rows of 100 bytes, {BATCH_ROWS} a request, {IN_FLIGHT} in flight",
                          f"LMDB alone, sorted batches of {LMDB_BATCH_ROWS}, no sync", 0.6,
                          write=True)

    def peer(count):
        return bench.workshop.raw("lmdb_batch", rows=count, value_bytes=100, keys=keys,
                                  batch=LMDB_BATCH_ROWS)["rows_per_second"]

    return batches(bench, result, bench.plan.rows(rows),
                   {"value_size": 100, "keys": keys}, peer)


@record("batch_write_100b", 13, "random rows of 100 bytes, 100 a request, 10 M rows",
        raw=["lmdb_batch"])
def batch_write_100b(bench):
    return beside_lmdb(bench, 10000000, "hashed")


@record("batch_write_series", 10, "rows of 100 bytes of 1 000 hosts in arrival order, 20 M rows",
        raw=["lmdb_batch"])
def batch_write_series(bench):
    return beside_lmdb(bench, 20000000, "series")


@record("batch_write_1k", 13, "random rows of 1 000 bytes, 100 a request, 4 GB", raw=["lmdb_batch"])
def batch_write_1k(bench):
    """
    There are 4 M keys on both sides, however many rows a minute takes: Redis has to hold them in
    memory.  Ours writes them one after the other and begins again; redis-benchmark throws dice.
    """
    keys = bench.plan.rows(4000000)
    result = bench.result("rows/s", f"rows of 1 000 bytes, {BATCH_ROWS} a request, {IN_FLIGHT} in flight",
                          "Redis SET, 50 connections, pipeline of 16", 0.7, write=True)

    def peer(rows):
        with bench.redis() as redis:
            return redis.benchmark("set", 0, 50, 1000, keys, pipeline=16,
                                   requests=rows)["per_second"]

    batches(bench, result, keys, {"records": keys, "value_size": 1000, "keys": "hashed"}, peer)
    raw = bench.workshop.raw("lmdb_batch", rows=result.details["rows"], value_bytes=1000,
                             distinct=keys, batch=SORTED_ROWS, transaction=TRANSACTION_ROWS,
                             log_bytes=LOG_RECORD_BYTES)
    result.notes.append(f"the same rows into LMDB alone, {SORTED_ROWS:,} of them sorted at a time, "
                        f"it and a log of as many bytes synced: {raw['rows_per_second']:,.0f} "
                        "rows/s")
    return result
