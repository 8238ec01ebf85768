"""The gateway: beside a bare libgrpc echo, and Google's emulator under the same Go client."""
from ..gateway import Emulator, Gateway, GoLoad, GrpcLoad, MutateLoad, TABLE, build_go
from .record import record

GROUP = "gateway"  # measured with --gateway only
VALUE_BYTES = 1024
IN_FLIGHT = 64
READ_SECONDS = 10


def note_cpu(result, seen, echo):
    """Of the last pair; both are driven by the same code."""
    result.notes.append(f"CPU a call: gateway {seen['server_cpu_us']:.1f} us, its client "
                        f"{seen['client_cpu_us']:.1f}; echo {echo['server_cpu_us']:.1f}, its "
                        f"client {echo['client_cpu_us']:.1f}; messages of "
                        f"{seen['request_bytes']:.0f} and {seen['answer_bytes']:.0f} bytes")


def echo_like(bench, seen):
    """libgrpc alone, with as many calls in flight and messages of the same size."""
    return bench.workshop.raw("grpc_echo", in_flight=IN_FLIGHT,
                              request_bytes=round(seen["request_bytes"]),
                              reply_bytes=round(seen["answer_bytes"]),
                              seconds=max(int(bench.plan.seconds(READ_SECONDS)), 1))


def filled(bench, cluster, kind, rows, in_flight=IN_FLIGHT):
    """A gateway, a table with all rows, and a load for it."""
    cluster.create_table(TABLE, "cf")
    load = kind(bench.workshop, Gateway(bench.workshop, cluster), rows, VALUE_BYTES, in_flight)
    bench.say("filling")
    load.fill()
    return load


@record("gateway_write_c64", 10, "MutateRow through the gateway, 1 KiB values, 64 in flight",
        group=GROUP)
def gateway_write_c64(bench):
    rows = bench.plan.rows(500000)
    result = bench.result("calls/s", "durable MutateRow of 1 KiB",
                          "bare libgrpc echo, messages of the same size", 0.6, write=True)
    with bench.cluster() as cluster:
        load = filled(bench, cluster, MutateLoad, rows)
        cluster.settle()

        def peer():
            nonlocal echo
            echo = echo_like(bench, load.last)
            return echo["per_second"]

        echo = None
        bench.turns(result, lambda: bench.write_window(result, cluster, load).per_second, peer)
        note_cpu(result, load.last, echo)
        bench.say("reading back")
        load.ask("read", bench.plan.seconds(5))
    return result


@record("gateway_read_c64", 4, "ReadRows of one row through the gateway, 64 in flight", group=GROUP)
def gateway_read_c64(bench):
    rows = bench.plan.rows(500000)
    result = bench.result("calls/s", "ReadRows of one random row of 1 KiB",
                          "bare libgrpc echo, messages of the same size", 0.6)
    with bench.cluster() as cluster:
        load = filled(bench, cluster, GrpcLoad, rows)
        cluster.flush()
        load.ask("scan", bench.plan.seconds(READ_SECONDS), in_flight=1)
        seen = echo = None

        def ours():
            nonlocal seen
            seen = load.ask("read", bench.plan.seconds(READ_SECONDS))
            return seen["per_second"]

        def peer():
            nonlocal echo
            echo = echo_like(bench, seen)
            return echo["per_second"]

        bench.turns(result, ours, peer)
        note_cpu(result, seen, echo)
    return result


@record("gateway_scan", 4, "ReadRows of a whole table through the gateway, one stream", group=GROUP)
def gateway_scan(bench):
    rows = bench.plan.rows(1000000)
    result = bench.result("MB/s", "ReadRows of all rows of 1 KiB, one stream", "", 150)
    with bench.cluster() as cluster:
        load = filled(bench, cluster, GrpcLoad, rows, in_flight=1)
        cluster.flush()
        load.ask("scan", bench.plan.seconds(READ_SECONDS))
        seen = None

        def ours():
            nonlocal seen
            seen = load.ask("scan", bench.plan.seconds(READ_SECONDS))
            return seen["megabytes_per_second"]

        bench.turns(result, ours)
        bench.say("64 streams")
        many = load.ask("scan", bench.plan.seconds(READ_SECONDS), in_flight=IN_FLIGHT)
        row_us = seen["server_cpu_seconds"] * 1e6 / seen["rows"]
        result.notes.append(f"gateway's CPU a row {row_us:.2f} us; 64 streams together: "
                            f"{many['megabytes_per_second']:.0f} MB/s")
    return result


def beside_emulator(bench, result, ours, peer):
    """The same program of the official Go client against either; each function takes its load."""
    program = build_go(bench.workshop)
    rows = bench.plan.rows(100000)
    with bench.cluster() as cluster:
        servers = (Gateway(bench.workshop, cluster), Emulator(bench.workshop, program))
        loads = [GoLoad(bench.workshop, program, server, rows, VALUE_BYTES, IN_FLIGHT)
                 for server in servers]
        bench.say("filling")
        for load in loads:
            load.fill()
        cluster.settle()
        return bench.turns(result, lambda: ours(cluster, loads[0]), lambda: peer(loads[1]))


@record("gateway_emulator_write", 10, "Go's Apply, 64 in flight, beside Google's emulator",
        group=GROUP)
def gateway_emulator_write(bench):
    result = bench.result("rows/s", "Go client, durable writes of 1 KiB", "Google's emulator, in "
                          "memory", 0.9, write=True)
    return beside_emulator(
        bench, result, lambda cluster, load: bench.write_window(result, cluster, load).per_second,
        lambda load: load.run(bench.plan.seconds(READ_SECONDS)).per_second)


def go_reads(bench, what, about, unit, target):
    result = bench.result("rows/s", f"Go client, {about}", "Google's emulator, in memory", target)

    def figure(load):
        seen = load.ask(what, bench.plan.seconds(READ_SECONDS))
        result.details.setdefault("client_cpu_us", []).append(
            round(seen["client_cpu_s"] * 1e6 / seen[unit], 2))
        return seen[unit] / seen["seconds"]

    return beside_emulator(bench, result, lambda _, load: figure(load), figure)


@record("gateway_emulator_read", 3, "Go's ReadRow, 64 in flight, beside Google's emulator",
        group=GROUP)
def gateway_emulator_read(bench):
    return go_reads(bench, "read", "random point reads of 1 KiB", "calls", 1)


@record("gateway_emulator_scan", 3, "Go's ReadRows of all, 64 streams, beside Google's emulator",
        group=GROUP)
def gateway_emulator_scan(bench):
    return go_reads(bench, "scan", "64 scans at a time of rows of 1 KiB", "rows", 2)
