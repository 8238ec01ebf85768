"""Point reads and scans of what has been flushed, every value checked."""
from .record import SEPARATE, record

READ_SECONDS = 10


def read_beside_redis(bench, target, load_options, redis_clients):
    rows = bench.plan.rows(1000000)
    result = bench.result("rows/s", "random point reads of 1 000 bytes",
                          f"Redis GET, {redis_clients} connections", target)
    with bench.cluster() as cluster, bench.redis() as redis:
        load = bench.load(cluster, "read", records=rows, value_size=1000, **load_options)
        bench.say("filling")
        load.fill()
        cluster.flush()
        load.read_all()
        redis.fill(rows, 1000)
        redis.settle()
        seconds = bench.plan.seconds(READ_SECONDS)
        return bench.turns(result, lambda: load.run(seconds).per_second,
                           lambda: redis.benchmark("get", seconds, redis_clients, 1000,
                                                   rows)["per_second"])


@record("read_1k_64x1", 3, "random point reads over 64 connections with one in flight each",
        raw=["nng_streams"])
def read_1k_64x1(bench):
    result = read_beside_redis(bench, 0.7, SEPARATE, 64)
    raw = bench.workshop.raw("nng_streams", connections=64, request_bytes=100, reply_bytes=1000,
                             seconds=max(int(bench.plan.seconds(5)), 1))
    result.notes.append(f"nng's streams alone, 64 connections: {raw['per_second']:,.0f} round "
                        f"trips/s, {raw['client_us']:.1f} us CPU at the client and "
                        f"{raw['server_us']:.1f} at the server")
    return result


@record("read_1k_c64", 3, "random point reads over 1 M rows, 64 in flight")
def read_1k_c64(bench):
    return read_beside_redis(bench, 1.3, {"in_flight": 64}, 50)


def scan(bench, unit, rows, value_bytes, target, figure):
    """One client, the whole table; the scan says how many rows it met, and must have met all."""
    result = bench.result(unit, f"a full scan of rows of {value_bytes} bytes", "", target)
    with bench.cluster() as cluster:
        load = bench.load(cluster, "scan", records=rows, value_size=value_bytes)
        bench.say("filling")
        load.fill()
        cluster.flush()
        load.read_all()

        def ours():
            figures = load.run()
            if figures.rows != rows:
                result.broken.append(f"the scan met {figures.rows} rows of {rows}")
            return figure(figures)

        bench.turns(result, ours)
    bench.say("LMDB alone")
    raw = bench.workshop.raw("lmdb_read", rows=rows, value_bytes=value_bytes, seconds=1)
    result.notes.append(f"LMDB's cursor alone: {raw['scan_rows_per_second']:,.0f} rows/s, "
                        f"{raw['scan_megabytes_per_second']:,.0f} MB/s")
    return result


@record("scan_100b", 2, "full scan by one client, 10 M rows of 100 bytes", raw=["lmdb_read"])
def scan_100b(bench):
    return scan(bench, "rows/s", bench.plan.rows(10000000), 100, 1000000,
                lambda figures: figures.per_second)


@record("scan_1k", 2, "full scan by one client, 4 M rows of 1 000 bytes", raw=["lmdb_read"])
def scan_1k(bench):
    return scan(bench, "MB/s", bench.plan.rows(4000000), 1000, 500,
                lambda figures: figures.per_second * 1000 / 1e6)
