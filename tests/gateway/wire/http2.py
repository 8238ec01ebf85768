"""
One HTTP/2 connection with gRPC calls on it, driven by its caller: nothing happens between calls of
its functions, so a reader that stops is one that does not call.

    connection = Connection(("127.0.0.1", port))
    call = connection.begin("/google.bigtable.v2.Bigtable/ReadRows", request)
    for message in connection.messages(call): ...
    call.status, call.text

The receive windows are as large as they can be, unless `window` says otherwise: then they are that,
and only give_window() makes them larger.
"""
import select
import socket
import struct
import time

from . import hpack

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
WINDOW_MAX = (1 << 31) - 1
WINDOW_DEFAULT = 65535
CANCEL = 8
TIMEOUT_SECONDS = 60


class Broken(Exception):
    """The other side has closed the connection, or said GOAWAY."""


class Call:
    """One stream of gRPC.  status is None until it has ended."""

    def __init__(self, stream, window):
        self.stream = stream
        self.send_window = window
        self.buffer = bytearray()
        self.received = []
        self.received_bytes = 0
        self.headers = {}
        self.status = None
        self.text = ""

    def is_over(self):
        return self.status is not None


class Connection:
    """See above.  One thread."""

    def __init__(self, address, window=None):
        self.socket = socket.create_connection(address, TIMEOUT_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.decoder = hpack.Decoder()
        self.window = window
        self.inbox = bytearray()
        self.next_stream = 1
        self.calls = {}
        self.send_window = WINDOW_DEFAULT
        self.peer_window = WINDOW_DEFAULT
        self.peer_frame_max = 16384
        self.goaway = None
        self.pings_answered = 0
        self.header_block = None
        settings = struct.pack(">HI", 1, 0)  # no table of headers
        settings += struct.pack(">HI", 4, WINDOW_MAX if window is None else window)
        self._write(PREFACE + self._framed(SETTINGS, 0, 0, settings))
        if window is None:
            self.send(WINDOW_UPDATE, 0, 0, struct.pack(">I", WINDOW_MAX - WINDOW_DEFAULT))

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- frames -------------------------------------------------------------------------------------

    @staticmethod
    def _framed(kind, flags, stream, payload):
        return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + \
            struct.pack(">I", stream) + payload

    def _write(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Broken(str(error)) from None

    def send(self, kind, flags, stream, payload):
        """Any frame, as it is."""
        self._write(self._framed(kind, flags, stream, payload))

    def _reply(self, data):
        """What the other side is owed for what it sent.  Where it has closed since, that is not the end
        of what there is to read: what it sent before may wait still, and who has read it all is told."""
        try:
            self._write(data)
        except Broken:
            pass

    def send_raw(self, data):
        """What is no frame at all."""
        self._write(data)

    def _read_frame(self, end):
        """The next frame, or None when the time is over."""
        while True:
            if len(self.inbox) >= 9:
                size = int.from_bytes(self.inbox[:3], "big")
                if len(self.inbox) >= 9 + size:
                    kind, flags = self.inbox[3], self.inbox[4]
                    stream = int.from_bytes(self.inbox[5:9], "big") & WINDOW_MAX
                    payload = bytes(self.inbox[9:9 + size])
                    del self.inbox[:9 + size]
                    return kind, flags, stream, payload
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.socket], [], [], left)[0]:
                return None
            try:
                data = self.socket.recv(1 << 18)
            except OSError as error:
                raise Broken(str(error)) from None
            if not data:
                raise Broken("closed")
            self.inbox += data

    def pump(self, seconds=0.0):
        """Take in the frames that come within so long; True if there was one at least."""
        frame = self._read_frame(time.monotonic() + seconds)
        if frame is None:
            return False
        while frame is not None:
            self._take(*frame)
            frame = self._read_frame(time.monotonic()) if len(self.inbox) >= 9 else None
        return True

    def _take(self, kind, flags, stream, payload):
        call = self.calls.get(stream)
        if kind == SETTINGS and not flags & ACK:
            self._take_settings(payload)
        elif kind == PING:
            if flags & ACK:
                self.pings_answered += 1
            else:
                self._reply(self._framed(PING, ACK, 0, payload))
        elif kind == GOAWAY:
            self.goaway = payload[8:].decode(errors="replace") or str(payload[4:8].hex())
        elif kind == WINDOW_UPDATE:
            more = int.from_bytes(payload, "big") & WINDOW_MAX
            if stream == 0:
                self.send_window += more
            elif call:
                call.send_window += more
        elif kind in (HEADERS, CONTINUATION):
            self._take_headers(call, kind, flags, payload)
        elif kind == DATA and call:
            self._take_data(call, flags, payload)
        elif kind == RST_STREAM and call and not call.is_over():
            call.status = -1
            call.text = f"RST_STREAM {int.from_bytes(payload, 'big')}"

    def _take_settings(self, payload):
        for at in range(0, len(payload) - 5, 6):
            name, value = struct.unpack(">HI", payload[at:at + 6])
            if name == 4:
                for call in self.calls.values():
                    call.send_window += value - self.peer_window
                self.peer_window = value
            elif name == 5:
                self.peer_frame_max = value
        self._reply(self._framed(SETTINGS, ACK, 0, b""))

    def _take_headers(self, call, kind, flags, payload):
        if kind == HEADERS:
            pad = payload[0] if flags & 8 else 0
            start = (1 if flags & 8 else 0) + (5 if flags & 32 else 0)
            self.header_block = (bytearray(payload[start:len(payload) - pad]), flags & END_STREAM)
        elif self.header_block:
            self.header_block[0].extend(payload)
        if not flags & END_HEADERS:
            return
        block, is_end = self.header_block
        self.header_block = None
        headers = dict(self.decoder.decode(bytes(block)))  # always: it has a memory
        if call is None:
            return
        call.headers.update(headers)
        if is_end and not call.is_over():
            call.text = headers.get(b"grpc-message", b"").decode(errors="replace")
            status = headers.get(b"grpc-status", b"2")
            call.status = int(status) if status.isdigit() else 2

    def _take_data(self, call, flags, payload):
        if flags & 8:
            payload = payload[1:len(payload) - payload[0]]
        call.received_bytes += len(payload)
        call.buffer += payload
        while len(call.buffer) >= 5:
            size = int.from_bytes(call.buffer[1:5], "big")
            if len(call.buffer) < 5 + size:
                break
            call.received.append(bytes(call.buffer[5:5 + size]))
            del call.buffer[:5 + size]
        if self.window is None and payload:
            self.give_window(call, len(payload))

    def give_window(self, call, size):
        update = struct.pack(">I", size)
        self._reply(self._framed(WINDOW_UPDATE, 0, 0, update))
        if not call.is_over():
            self._reply(self._framed(WINDOW_UPDATE, 0, call.stream, update))

    # --- calls --------------------------------------------------------------------------------------

    def open(self, path, headers=()):
        """A call whose message is still to come."""
        call = Call(self.next_stream, self.peer_window)
        self.next_stream += 2
        self.calls[call.stream] = call
        pairs = [(b":method", b"POST"), (b":scheme", b"http"), (b":path", path.encode()),
                 (b":authority", b"gateway"), (b"te", b"trailers"),
                 (b"content-type", b"application/grpc"), (b"user-agent", b"edubba-test"), *headers]
        self.send(HEADERS, END_HEADERS, call.stream, hpack.encode(pairs))
        return call

    def send_data(self, call, data, is_end=False, timeout=TIMEOUT_SECONDS):
        """As the windows allow it; stops when the call has ended."""
        end = time.monotonic() + timeout
        view = memoryview(data)
        while len(view) and not call.is_over():
            size = min(len(view), self.peer_frame_max, self.send_window, call.send_window)
            if size <= 0:
                if time.monotonic() > end:
                    raise Broken("no window for sending")
                self.pump(0.1)
                continue
            self.send(DATA, 0, call.stream, bytes(view[:size]))
            self.send_window -= size
            call.send_window -= size
            view = view[size:]
            self.pump(0)
        if is_end and not call.is_over():
            self.send(DATA, END_STREAM, call.stream, b"")

    def begin(self, path, message, headers=(), deadline_ms=None):
        """A call with its one message."""
        headers = list(headers)
        if deadline_ms is not None:
            headers.append((b"grpc-timeout", b"%dm" % deadline_ms))
        call = self.open(path, headers)
        self.send_data(call, b"\0" + struct.pack(">I", len(message)) + message, is_end=True)
        return call

    def cancel(self, call):
        if not call.is_over():
            self.send(RST_STREAM, 0, call.stream, struct.pack(">I", CANCEL))
            call.status, call.text = 1, "cancelled here"

    def forget(self, call):
        self.calls.pop(call.stream, None)

    def messages(self, call, timeout=TIMEOUT_SECONDS):
        """Each message as it comes, until the call has ended."""
        end = time.monotonic() + timeout
        while True:
            while call.received:
                yield call.received.pop(0)
            if call.is_over():
                self.forget(call)
                return
            if time.monotonic() > end:
                raise Broken(f"no answer within {timeout} s")
            self.pump(0.2)

    def ask(self, path, message, timeout=TIMEOUT_SECONDS, **options):
        """The whole call: status, text, messages."""
        call = self.begin(path, message, **options)
        received = list(self.messages(call, timeout))
        return call.status, call.text, received

    def ping(self):
        self.send(PING, 0, 0, b"edubba..")
