"""What becomes of the rates when there are more rows."""
import contextlib

from .record import record

SIZES = (1000000, 4000000, 16000000)
READ_SECONDS = 10


@record("scale_rows", 18, "random writes and reads of 100 bytes at 1 M, 4 M, 16 M rows",
        parts=["write", "read"])
def scale_rows(bench):
    """Three servers, one a size, measured in turns; only one has anything to do at a time."""
    writes = bench.result("rows/s", "random writes of 100 bytes, 16 M rows", "at 1 M rows", 0.35,
                          part="write", write=True)
    reads = bench.result("rows/s", "random reads of 100 bytes, 16 M rows", "at 1 M rows", 0.7,
                         part="read")
    with contextlib.ExitStack() as stack:
        clusters = []
        for size in SIZES:
            rows = bench.plan.rows(size)
            cluster = stack.enter_context(bench.cluster())
            bench.say(f"filling {rows} rows")
            load = bench.load(cluster, "write", records=rows, value_size=100, keys="hashed")
            load.fill()
            cluster.flush()
            load.read_all()
            clusters.append((rows, cluster))

        def reading(which):
            rows, cluster = clusters[which]
            return bench.load(cluster, "read", records=rows, value_size=100, keys="hashed",
                              in_flight=64).run(bench.plan.seconds(READ_SECONDS)).per_second

        def writing(which):
            rows, cluster = clusters[which]
            load = bench.load(cluster, "write", records=rows, value_size=100, keys="hashed",
                              in_flight=64)
            return bench.write_window(writes, cluster, load).per_second

        bench.turns(reads, lambda: reading(2), lambda: reading(0))
        bench.turns(writes, lambda: writing(2), lambda: writing(0))
        bench.say("4 M rows")
        reads.notes.append(f"at 4 M rows: {reading(1):,.0f} rows/s")
        writes.notes.append(f"at 4 M rows: {writing(1):,.0f} rows/s")
    return [writes, reads]
