"""Single-row durable writes, and adds to one cell, against Redis with every write synced."""
from .record import LOG_RECORD_BYTES, SEPARATE, record

ROWS = 1000000
VALUE_BYTES = 1000


def write_beside_redis(bench, target, load_options, redis_clients):
    rows = bench.plan.rows(ROWS)
    result = bench.result("rows/s", "single-row writes of 1 000 bytes",
                          f"Redis SET, {redis_clients} connections", target, write=True)
    with bench.cluster() as cluster, bench.redis() as redis:
        load = bench.load(cluster, "write", records=rows, value_size=VALUE_BYTES,
                          **load_options)
        bench.say("filling")
        load.fill()
        redis.fill(rows, VALUE_BYTES)
        cluster.settle()
        redis.settle()

        def ours():
            return bench.write_window(result, cluster, load).per_second

        def peer():
            return bench.redis_window(result, redis, "set", redis_clients, VALUE_BYTES, rows)

        bench.turns(result, ours, peer)
        bench.say("reading back")
        bench.load(cluster, "read", records=rows, value_size=VALUE_BYTES).run(
            bench.plan.seconds(5))
    return result


@record("write_1k_c64", 9, "single-row durable writes, 1 000-byte values, 64 in flight")
def write_1k_c64(bench):
    return write_beside_redis(bench, 1.3, {"in_flight": 64}, 50)


@record("write_1k_64x1", 9, "the same over 64 connections with one in flight each",
        raw=["nng_streams"])
def write_1k_64x1(bench):
    result = write_beside_redis(bench, 0.9, SEPARATE, 64)
    raw = bench.workshop.raw("nng_streams", log="yes", connections=64,
                             request_bytes=LOG_RECORD_BYTES, reply_bytes=100,
                             seconds=max(int(bench.plan.seconds(5)), 1))
    result.notes.append(f"nng's streams and a log alone, 64 connections: {raw['per_second']:,.0f} "
                        f"rows/s, {raw['client_us']:.1f} us CPU at the client and "
                        f"{raw['server_us']:.1f} at the server")
    return result


@record("incr_hot_c64", 8, "AddToCell on one cell, 64 in flight")
def incr_hot_c64(bench):
    """
    The sum is read before and after each run, and must be exact (--verify).  The adds of one cell
    fold into one, so its memtable never grows; what has it flushed is the length of the log since
    its first entry.  log_limit is a thirty-second of its default: flushes come 32 times as often
    as they would, and a minute sees more than five of them.
    """
    result = bench.result("adds/s", "AddToCell on one cell", "Redis INCR, 50 connections", 1.5,
                          write=True)
    with bench.cluster(log_limit="16 MiB") as cluster, bench.redis() as redis:
        load = bench.load(cluster, "add", records=1, in_flight=64)

        def ours():
            return bench.write_window(result, cluster, load).per_second

        def peer():
            return bench.redis_window(result, redis, "incr", 50, 3, 0)

        return bench.turns(result, ours, peer)
