#!/usr/bin/env python3
"""tests/gateway/hostile.py: what no client should do, done to a gateway that serves another client.

Each attack has its own connections, a bound for the gateway's memory, and a well-behaved client
beside it that reads and writes all the time: every one of its calls must be answered, soon at the
99th hundredth (SERVICE_SECONDS_MAX).  After each attack the gateway must live and its memory come back.

Standard library only: frames are made by hand (wire/).  Exit status 0 if nothing failed.
"""
import argparse
import pathlib
import random
import struct
import sys
import threading
import time

sys.dont_write_bytecode = True

from driver.cluster import ROOT, Cluster, Failure, Missing, Shop  # noqa: E402
from driver.machine import Machine  # noqa: E402
from wire import bigtable as bt  # noqa: E402
from wire import http2  # noqa: E402
from wire import protobuf as p  # noqa: E402

INSTANCE = "projects/hostile/instances/hostile"
TABLE = bt.table_name(INSTANCE, "t")
READ = bt.DATA_SERVICE + "ReadRows"
MUTATE = bt.DATA_SERVICE + "MutateRow"
MUTATE_MANY = bt.DATA_SERVICE + "MutateRows"
READ_NONE = bt.read_rows(TABLE, [b"none"])

MIB = 1 << 20
SERVICE_SECONDS_MAX = 2.5      # the 99th hundredth of a bystander's calls; other tests run beside it
CALLS_MIN = 150                # of a bystander's, to be judged: one may be slow for the machine's sake
LARGE_ROWS = 64                # of a MiB each, for readers that stop
STOPPED_READERS = 100
STREAM_BYTES_MAX = 6 * MIB     # docs/gateway.md: a message, a row, the scan's read-ahead, with room
IDLE_STREAMS = 4000
IDLE_STREAM_BYTES_MAX = 64 * 1024
REST_BYTES_MAX = 64 * MIB      # what may stay after an attack: allocators keep some


class Bystander(threading.Thread):
    """A client that behaves, beside the attack."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.address = address
        self.over = threading.Event()
        self.seconds = []
        self.faults = []

    def run(self):
        try:
            with http2.Connection(self.address) as connection:
                number = 0
                while not self.over.is_set():
                    number += 1
                    self._once(connection, b"bystander%d" % (number % 100), b"%d" % number)
                    time.sleep(0.005)
        except (http2.Broken, bt.Violation) as fault:
            self.faults.append(str(fault))

    def _once(self, connection, row, value):
        begun = time.monotonic()
        cell = bt.set_cell("f", b"q", 1000, value)
        status, text, _ = connection.ask(MUTATE, bt.mutate_row(TABLE, row, [cell]))
        if status != 0:
            self.faults.append(f"a write failed: {bt.code_name(status)} {text}")
        status, text, answer = connection.ask(READ, bt.read_rows(TABLE, [row]))
        if status != 0:
            self.faults.append(f"a read failed: {bt.code_name(status)} {text}")
        elif [cell[3] for _, cells in bt.rows_of(answer) for cell in cells] != [value]:
            self.faults.append(f"a read after write gave {bt.rows_of(answer)!r}"[:200])
        self.seconds.append(time.monotonic() - begun)

    def is_unmeasured(self):
        return self.is_alive() and len(self.seconds) < CALLS_MIN

    def end(self):
        """None, or what was wrong with its service; how long it took is another matter."""
        self.over.set()
        self.join(http2.TIMEOUT_SECONDS)
        if self.is_alive():
            return "its last call was not answered"
        if self.faults:
            return f"{len(self.faults)} faults, the first: {self.faults[0]}"
        if len(self.seconds) < CALLS_MIN:
            return f"only {len(self.seconds)} calls were answered"
        return None

    def slow_seconds(self):
        """The 99th hundredth of its calls."""
        return sorted(self.seconds)[int(len(self.seconds) * 0.99)]


class Stage:
    """The cluster, what is counted, and what attacks need of both."""

    def __init__(self, cluster, is_sanitized=False):
        self.cluster = cluster
        self.is_sanitized = is_sanitized
        self.skipped = 0
        host, port = cluster.address.split(":")
        self.address = (host, int(port))
        self.passed = 0
        self.failed = 0
        self.random = random.Random(4)

    def connect(self, **options):
        return http2.Connection(self.address, **options)

    def check(self, what, fault):
        """fault: None, or a sentence."""
        if fault is None or fault is False:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {what}: {fault}", flush=True)

    def expect(self, what, outcome, codes):
        """An outcome of ask() with one of these codes."""
        name = bt.code_name(outcome[0])
        fault = f"{name} ({outcome[1]}), not {' or '.join(codes)}"
        self.check(what, None if name in codes else fault)

    def memory_within(self, what, before, most):
        """The gateway holds no more than so much above what it held."""
        if self.is_sanitized:  # a sanitizer's own memory is many times the gateway's
            self.skipped += 1
            print(f"skipped: {what}: memory: not judged under a sanitizer")
            return
        more = self.cluster.memory_bytes() - before
        self.check(f"{what}: memory", None if more <= most else
                   f"{more / MIB:.1f} MiB more, {most / MIB:.1f} were allowed")

    def soon_answered(self, what, bystander, machine):
        """It was answered in its time, or somebody else had the machine."""
        slow = bystander.slow_seconds()
        most = SERVICE_SECONDS_MAX * (10 if self.is_sanitized else 1)
        if slow > most and machine.was_elsewhere():
            self.skipped += 1
            print(f"skipped: {what}: {slow:.2f} s says nothing: others had "
                  f"{machine.others_percent():.0f} % of the processors")
            return
        self.check(what, None if slow <= most else
                   f"the 99th hundredth of its calls took {slow:.2f} s, others had "
                   f"{machine.others_percent():.0f} % of the processors")

    def run(self, attack):
        """One attack, with a bystander, and what must hold after it."""
        name = attack.__name__.replace("_", " ")
        before = self.cluster.memory_bytes()
        threads = self.cluster.thread_count()
        bystander = Bystander(self.address)
        machine = Machine()
        bystander.start()
        begun = time.monotonic()
        try:
            attack(self)
        except (http2.Broken, bt.Violation, ValueError) as fault:
            self.check(name, f"it could not be carried out: {fault}")
        while bystander.is_unmeasured() and time.monotonic() - begun < 60:  # after a short attack
            time.sleep(0.05)
        fault = bystander.end()
        self.check(f"{name}: another client's service", fault)
        if fault is None:
            self.soon_answered(f"{name}: soon answered", bystander, machine)
        self.check(f"{name}: the gateway lives", None if self.cluster.gateway_lives() else
                   f"it ended with {self.cluster.gateway.returncode}")
        if not self.cluster.gateway_lives():
            raise Failure("there is no gateway any more")
        self.check(f"{name}: memory comes back", self._settles(before))
        more = self.cluster.thread_count() - threads
        self.check(f"{name}: threads", None if more <= 4 else f"{more} more than before")
        print(f"{name}: {time.monotonic() - begun:.1f} s", flush=True)

    def _settles(self, before):
        if self.is_sanitized:
            return None
        end = time.monotonic() + 60
        while time.monotonic() < end:
            more = self.cluster.memory_bytes() - before
            if more <= REST_BYTES_MAX:
                return None
            time.sleep(0.2)
        return f"{more / MIB:.1f} MiB more than before, a minute after the end"


# --- attacks ----------------------------------------------------------------------------------------


def malformed_messages(stage):
    """Bytes that are no protobuf, and protobuf that is no request."""
    with stage.connect() as connection:
        for what, message in [
                ("a field longer than the message", b"\x0a\xff\xff\xff\xff\x07abc"),
                ("an endless number", b"\x08" + b"\xff" * 20),
                ("a wire type that is none", b"\x0f\x00"),
                ("nothing", b""),
                ("no table's name", p.data(1, "nonsense")),
                ("a name of no text", p.data(1, b"projects/\xff\xfe/instances/i/tables/\0"))]:
            codes = ["INVALID_ARGUMENT"] + (["NOT_FOUND"] if "name of" in what else [])
            stage.expect(f"malformed: {what}", connection.ask(READ, message), codes)
        for _ in range(2000):
            filter_ = {"chain": [{"valueRegex": b"a.*"}, {"pass": True}]}
            message = bytearray(bt.read_rows(TABLE, [b"a"], filter_))
            for _ in range(stage.random.randint(1, 6)):
                message[stage.random.randrange(len(message))] = stage.random.randrange(256)
            status, text, _ = connection.ask(READ, bytes(message))
            if not 0 <= status < len(bt.CODES) or bt.code_name(status) in ("UNKNOWN", "INTERNAL", "DATA_LOSS"):
                stage.check("malformed: changed bytes", f"{bt.code_name(status)}: {text}")
                return
        stage.check("malformed: changed bytes", None)


def nested_filters(stage):
    """Filters deeper than the API allows, up to what a stack would not take."""
    with stage.connect() as connection:
        for depth in (19, 21, 1000, 20000):
            message = p.number(17, 1)
            for _ in range(depth):
                message = p.data(1, p.data(1, message) + p.data(1, p.number(17, 1)))
            request = p.data(1, TABLE) + p.data(3, message)
            wanted = ["OK"] if depth == 19 else ["INVALID_ARGUMENT"]
            stage.expect(f"a filter {depth} deep", connection.ask(READ, request), wanted)


def many_small_fields(stage):
    """A request whose decoded form would be many times its size."""
    with stage.connect() as connection:
        before = stage.cluster.memory_bytes()
        request = p.data(1, TABLE) + p.data(2, b"") * (4 * MIB)
        outcome = connection.ask(MUTATE_MANY, request)
        stage.expect("millions of empty entries", outcome,
                     ["INVALID_ARGUMENT", "UNAVAILABLE", "RESOURCE_EXHAUSTED"])
        stage.memory_within("millions of empty entries", before, 1024 * MIB)


def wrong_frames(stage):
    """What is no HTTP/2, or not now: the connection may be closed, nothing else may happen."""
    for what, data in [
            ("noise", stage.random.randbytes(4096)),
            ("a frame larger than agreed", struct.pack(">I", 1 << 23)[1:] + b"\0\0\0\0\0\1"),
            ("data on a stream that is not open", b"\0\0\1\0\1\0\0\0\7x"),
            ("headers that point nowhere", b"\0\0\1\1\5\0\0\0\1\xff"),
            ("settings of five bytes", b"\0\0\5\4\0\0\0\0\0abcde"),
            ("a window update of nothing", b"\0\0\4\10\0\0\0\0\0\0\0\0\0"),
            ("a window that overflows", b"\0\0\4\10\0\0\0\0\0\x7f\xff\xff\xff" * 3),
            ("a stream of the server's", b"\0\0\2\1\5\0\0\0\2" + b"\x83\x86"),
            ("a continuation of nothing", b"\0\0\1\x09\4\0\0\0\1x")]:
        try:
            with stage.connect() as connection:
                connection.send_raw(data)
                connection.pump(0.1)
        except http2.Broken:
            pass
        with stage.connect() as connection:
            stage.expect(f"after {what}", connection.ask(READ, READ_NONE), ["OK"])


def endless_headers(stage):
    """Header blocks that go on and on, and headers that are too large."""
    try:
        with stage.connect() as connection:
            call = connection.open(READ, [(b"x-large", b"v" * 16000)])
            connection.send_data(call, b"\0\0\0\0\0", is_end=True)
            connection.pump(0.2)
    except http2.Broken:
        pass
    before = stage.cluster.memory_bytes()
    try:
        with stage.connect() as connection:
            connection.send(http2.HEADERS, 0, 1, b"")
            for _ in range(4096):
                connection.send(http2.CONTINUATION, 0, 1, b"\x00\x01a\x7f" + b"x" * 4)
    except http2.Broken:
        pass
    stage.memory_within("endless headers", before, 32 * MIB)


def huge_messages(stage):
    """Messages at the bound and above it; lengths that promise more than ever comes."""
    with stage.connect() as connection:  # libgrpc looks at the length when all of it is there
        call = connection.open(MUTATE)
        connection.send_data(call, b"\0" + struct.pack(">I", 257 * MIB))
        piece = bytes(MIB)
        for _ in range(257):
            connection.send_data(call, piece)
        list(connection.messages(call, 20))
        stage.expect("a message above 256 MiB", (call.status, call.text), ["RESOURCE_EXHAUSTED"])
    before = stage.cluster.memory_bytes()
    waiting = []
    for _ in range(200):
        connection = stage.connect()
        call = connection.open(MUTATE)
        connection.send_data(call, b"\0" + struct.pack(">I", 250 * MIB) + b"x" * 1000)
        waiting.append(connection)
    stage.memory_within("250 MiB promised 200 times and not sent", before, 64 * MIB)
    for connection in waiting:
        connection.close()
    with stage.connect() as connection:
        value = b"v" * (100 * MIB)
        cell = bt.set_cell("f", b"q", 1000, value)
        outcome = connection.ask(MUTATE, bt.mutate_row(TABLE, b"hundred", [cell]))
        stage.expect("a value of 100 MiB", outcome, ["OK"])
        status, _, answer = connection.ask(READ, bt.read_rows(TABLE, [b"hundred"]))
        values = [c[3] for _, cells in bt.rows_of(answer) for c in cells] if status == 0 else []
        stage.check("a value of 100 MiB comes back",
                    None if values == [value] else bt.code_name(status))
        drop = bt.mutate_row(TABLE, b"hundred", [p.data(4, b"")])  # DeleteFromRow
        stage.expect("its row goes", connection.ask(MUTATE, drop), ["OK"])


def compressed_and_flagged(stage):
    """Frames of gRPC that say they are compressed, and do not; flags that are none."""
    for flag in (1, 2, 255):
        with stage.connect() as connection:
            call = connection.open(READ)
            connection.send_data(call, bytes([flag]) + struct.pack(">I", 4) + b"junk", is_end=True)
            list(connection.messages(call, 20))
            stage.check(f"a message flagged {flag}", None if call.status != 0 else "it was taken")
    with stage.connect() as connection:
        framed = b"\0" + struct.pack(">I", len(READ_NONE)) + READ_NONE
        call = connection.open(READ)
        connection.send_data(call, framed * 3, is_end=True)
        list(connection.messages(call, 20))
        stage.check("three messages where one belongs", None if 0 <= call.status < len(bt.CODES)
                    else call.text)
    with stage.connect() as connection:
        for method in ("NoSuchCall", "ExecuteQuery", "PrepareQuery", "ReadChangeStream"):
            outcome = connection.ask(bt.DATA_SERVICE + method, p.data(1, INSTANCE))
            stage.expect(f"{method}, which is not served", outcome, ["UNIMPLEMENTED"])


def idle_streams(stage):
    """Thousands of calls that were begun and never said what they want."""
    before = stage.cluster.memory_bytes()
    connections = []
    opened = 0
    while opened < IDLE_STREAMS and len(connections) < 200:
        connection = stage.connect()
        connections.append(connection)
        for _ in range(100):
            connection.open(READ)
            opened += 1
        connection.pump(0.01)
    time.sleep(1)
    stage.memory_within(f"{opened} idle streams", before, opened * IDLE_STREAM_BYTES_MAX)
    with stage.connect() as connection:
        stage.expect("a call beside them", connection.ask(READ, READ_NONE), ["OK"])
    for connection in connections:
        connection.close()


def idle_connections(stage):
    """Connections that say nothing, or half a preface."""
    before = stage.cluster.memory_bytes()
    connections = [stage.connect() for _ in range(500)]
    stage.memory_within("500 silent connections", before, 500 * 128 * 1024)
    for connection in connections:
        connection.close()


def stopped_readers(stage):
    """Readers of a large table who take a little and then nothing: each holds its share at most."""
    before = stage.cluster.memory_bytes()
    connections = []
    for _ in range(STOPPED_READERS):
        connection = stage.connect(window=16384)
        connection.begin(READ, bt.read_rows(bt.table_name(INSTANCE, "large")))
        connections.append(connection)
    most = 0
    for _ in range(30):
        time.sleep(0.1)
        most = max(most, stage.cluster.memory_bytes() - before)
    allowed = STOPPED_READERS * STREAM_BYTES_MAX
    is_good = most <= allowed or stage.is_sanitized
    stage.check(f"{STOPPED_READERS} stopped readers: memory at its most", None if is_good else
                f"{most / MIB:.0f} MiB, {allowed / MIB:.0f} were allowed")
    reader = connections[0]
    call = next(iter(reader.calls.values()))
    end = time.monotonic() + 60
    while not call.is_over() and time.monotonic() < end:  # one of them goes on: all must come
        reader.give_window(call, MIB)
        reader.pump(0.2)
    rows = bt.rows_of(call.received)
    stage.check("one that goes on gets all", None if call.status == 0 and len(rows) == LARGE_ROWS else
                f"status {call.status}, {len(rows)} rows")
    for connection in connections:
        connection.close()


def storm(connection):
    large = bt.read_rows(bt.table_name(INSTANCE, "large"))
    cell = bt.set_cell("f", b"q", 1000, b"v")
    for i in range(5000):
        if i % 2:
            call = connection.begin(READ, large)
        else:
            call = connection.begin(MUTATE, bt.mutate_row(TABLE, b"cancelled", [cell]))
        if i % 3 == 0:
            connection.pump(0)
        connection.cancel(call)
        connection.forget(call)
        if connection.goaway is not None:
            break


def cancellations(stage):
    """Calls that are cancelled as soon as they are made, thousands of them, reads and writes."""
    with stage.connect() as connection:
        try:
            storm(connection)
        except http2.Broken:  # told to go: what was said before is looked at below
            pass
        stage.check("the connection outlives a storm of cancellations, or is told to go",
                    None if connection.goaway is None or "calm" in connection.goaway.lower()
                    or "too_many" in connection.goaway.lower() else connection.goaway)
    with stage.connect() as connection:
        stage.expect("a call after it", connection.ask(READ, READ_NONE), ["OK"])


def cancelled_scans(stage):
    """A reader that goes in the middle of a table: soon nothing is read for it any more, within 0.1 s
    where the machine has time for all that takes part, as once in ten it has."""
    prompt = 0
    for _ in range(10):
        with stage.connect() as connection:
            before = stage.cluster.scanned_bytes()
            call = connection.begin(READ, bt.read_rows(bt.table_name(INSTANCE, "large")))
            while not call.received and not call.is_over():
                connection.pump(0.2)
            connection.cancel(call)
        time.sleep(0.1)
        at_once = stage.cluster.scanned_bytes() - before
        later = None
        last = at_once
        while later != last:
            later = last
            time.sleep(0.5)
            last = stage.cluster.scanned_bytes() - before
        prompt += later == at_once
        stage.check("a cancelled scan stops long before the end", None if later < LARGE_ROWS / 2 * MIB else
                    f"{later / MIB:.1f} MiB were read of {LARGE_ROWS}")
    stage.check("and within 0.1 s", None if prompt else "not once in ten")


def sudden_ends(stage):
    """Connections cut in the middle of a call, on either side of its message."""
    for i in range(300):
        connection = stage.connect(window=16384 if i % 2 else None)
        connection.begin(READ, bt.read_rows(bt.table_name(INSTANCE, "large")))
        if i % 3 == 0:
            connection.pump(0.01)
        connection.close()
    for _ in range(300):
        connection = stage.connect()
        call = connection.open(MUTATE)
        connection.send_data(call, b"\0" + struct.pack(">I", 1000) + b"x" * 500)
        connection.close()


def passed_deadlines(stage):
    """Deadlines of a millisecond, by the thousand."""
    with stage.connect() as connection:
        large = bt.read_rows(bt.table_name(INSTANCE, "large"))
        codes = set()
        for _ in range(300):
            call = connection.begin(READ, large, deadline_ms=1)
            list(connection.messages(call, 20))
            codes.add(bt.code_name(call.status))
        stage.check("deadlines", None if codes <= {"DEADLINE_EXCEEDED", "broken (-1)", "CANCELLED"}
                    else f"codes {sorted(codes)}")


def pings_without_calls(stage, seconds=65):
    """A ping every 10 s on a connection that has no call, as clients send them: never a GOAWAY."""
    with stage.connect() as connection:
        end = time.monotonic() + seconds
        sent = 0
        try:
            while time.monotonic() < end:
                connection.ping()
                sent += 1
                until = time.monotonic() + 10
                while time.monotonic() < until:
                    connection.pump(0.5)
        except http2.Broken as fault:
            stage.check("pings every 10 s", f"the connection ended: {fault}, {connection.goaway}")
            return
        stage.check("pings every 10 s: no GOAWAY", connection.goaway)
        stage.check("pings every 10 s: answered", None if connection.pings_answered == sent else
                    f"{connection.pings_answered} of {sent}")
        stage.expect("a call after them", connection.ask(READ, READ_NONE), ["OK"])


ATTACKS = [malformed_messages, nested_filters, many_small_fields, wrong_frames, endless_headers,
           huge_messages, compressed_and_flagged, idle_streams, idle_connections, stopped_readers,
           cancellations, cancelled_scans, sudden_ends, passed_deadlines, pings_without_calls]


def prepare(stage):
    """Tables `t` for everybody and `large` for readers that stop."""
    with stage.connect() as connection:
        for table in ("t", "large"):
            outcome = connection.ask(bt.TABLE_ADMIN + "CreateTable",
                                     bt.create_table(INSTANCE, table, ["f"]))
            if outcome[0] != 0:
                raise Failure(f"table {table}: {bt.code_name(outcome[0])} {outcome[1]}")
        for i in range(LARGE_ROWS):
            cell = bt.set_cell("f", b"q", 1000, stage.random.randbytes(MIB))
            name = bt.table_name(INSTANCE, "large")
            outcome = connection.ask(MUTATE, bt.mutate_row(name, b"row%04d" % i, [cell]))
            if outcome[0] != 0:
                raise Failure(f"row {i}: {bt.code_name(outcome[0])} {outcome[1]}")


def main(arguments):
    names = {attack.__name__: attack for attack in ATTACKS}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--only", action="append", choices=list(names))
    parser.add_argument("--keep", action="store_true", help="leave the folder with logs and data")
    options = parser.parse_args(arguments)
    shop = Shop(options.build, options.keep)
    stage = None
    missing_count = 0
    trouble = None
    try:
        stage = Stage(Cluster(shop), is_sanitized="san" in pathlib.Path(options.build).name)
        prepare(stage)
        for name in options.only or names:
            stage.run(names[name])
    except Missing as missing:
        missing_count = 1
        print(f"skipped: {missing}")
    except (Failure, http2.Broken) as failure:
        trouble = failure
        log = pathlib.Path(shop.folder) / "gateway.log"
        if log.exists():
            print(log.read_text(errors="replace")[-2000:])
        print(f"FAILED: {failure}")
    finally:
        shop.close()
    passed, failed, skipped = (stage.passed, stage.failed, stage.skipped) if stage else (0, 0, 0)
    failed += trouble is not None
    skipped += missing_count
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
