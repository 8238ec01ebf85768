"""
Header lists of HTTP/2 (RFC 7541), as much as a gRPC client needs.

Encoded are literals only.  Decoded is all but Huffman codes: a value in them, which gRPC servers
use for -bin headers at most, comes out as HUFFMAN.
"""

HUFFMAN = b"?huffman?"
ENTRY_OVERHEAD = 32

STATIC = [
    (b":authority", b""), (b":method", b"GET"), (b":method", b"POST"), (b":path", b"/"),
    (b":path", b"/index.html"), (b":scheme", b"http"), (b":scheme", b"https"), (b":status", b"200"),
    (b":status", b"204"), (b":status", b"206"), (b":status", b"304"), (b":status", b"400"),
    (b":status", b"404"), (b":status", b"500"), (b"accept-charset", b""),
    (b"accept-encoding", b"gzip, deflate"), (b"accept-language", b""), (b"accept-ranges", b""),
    (b"accept", b""), (b"access-control-allow-origin", b""), (b"age", b""), (b"allow", b""),
    (b"authorization", b""), (b"cache-control", b""), (b"content-disposition", b""),
    (b"content-encoding", b""), (b"content-language", b""), (b"content-length", b""),
    (b"content-location", b""), (b"content-range", b""), (b"content-type", b""), (b"cookie", b""),
    (b"date", b""), (b"etag", b""), (b"expect", b""), (b"expires", b""), (b"from", b""),
    (b"host", b""), (b"if-match", b""), (b"if-modified-since", b""), (b"if-none-match", b""),
    (b"if-range", b""), (b"if-unmodified-since", b""), (b"last-modified", b""), (b"link", b""),
    (b"location", b""), (b"max-forwards", b""), (b"proxy-authenticate", b""),
    (b"proxy-authorization", b""), (b"range", b""), (b"referer", b""), (b"refresh", b""),
    (b"retry-after", b""), (b"server", b""), (b"set-cookie", b""),
    (b"strict-transport-security", b""), (b"transfer-encoding", b""), (b"user-agent", b""),
    (b"vary", b""), (b"via", b""), (b"www-authenticate", b""),
]


def _integer(value, prefix_bits, first):
    limit = (1 << prefix_bits) - 1
    if value < limit:
        return bytes([first | value])
    made = bytearray([first | limit])
    value -= limit
    while value >= 128:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)


def encode(headers):
    """(name, value) pairs of bytes."""
    made = bytearray()
    for name, value in headers:
        made += b"\x00" + _integer(len(name), 7, 0) + name + _integer(len(value), 7, 0) + value
    return bytes(made)


class Decoder:
    """One for each direction of a connection: it remembers."""

    def __init__(self):
        self.table = []  # newest first
        self.table_bytes_max = 4096

    def decode(self, block):
        """Pairs of bytes.  ValueError for what is no header block."""
        headers = []
        at = 0
        while at < len(block):
            first = block[at]
            if first & 0x80:
                index, at = self._take_integer(block, at, 7)
                headers.append(self._entry(index))
            elif first & 0x40:
                pair, at = self._take_literal(block, at, 6)
                self._remember(pair)
                headers.append(pair)
            elif first & 0x20:
                self.table_bytes_max, at = self._take_integer(block, at, 5)
                self._shrink()
            else:
                pair, at = self._take_literal(block, at, 4)
                headers.append(pair)
        return headers

    @staticmethod
    def _take_integer(block, at, prefix_bits):
        limit = (1 << prefix_bits) - 1
        value = block[at] & limit
        at += 1
        if value < limit:
            return value, at
        shift = 0
        while True:
            byte = block[at]
            at += 1
            value += (byte & 127) << shift
            shift += 7
            if not byte & 128:
                return value, at

    def _take_text(self, block, at):
        is_huffman = block[at] & 0x80
        size, at = self._take_integer(block, at, 7)
        text = block[at:at + size]
        return (HUFFMAN if is_huffman else bytes(text)), at + size

    def _take_literal(self, block, at, prefix_bits):
        index, at = self._take_integer(block, at, prefix_bits)
        if index:
            name = self._entry(index)[0]
        else:
            name, at = self._take_text(block, at)
        value, at = self._take_text(block, at)
        return (name, value), at

    def _entry(self, index):
        if 1 <= index <= len(STATIC):
            return STATIC[index - 1]
        if index - len(STATIC) <= len(self.table):
            return self.table[index - len(STATIC) - 1]
        raise ValueError(f"no header at index {index}")

    def _remember(self, pair):
        self.table.insert(0, pair)
        self._shrink()

    def _shrink(self):
        total = 0
        for i, (name, value) in enumerate(self.table):
            total += len(name) + len(value) + ENTRY_OVERHEAD
            if total > self.table_bytes_max:
                del self.table[i:]
                return
