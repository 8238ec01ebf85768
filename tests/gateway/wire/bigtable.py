"""
Requests of Bigtable's API and rows out of its answers.

Filters are the scenario's, with bytes as Python has them: {"valueRegex": b"a.*"}.  rows() checks
every rule that a ReadRows stream has, and raises Violation for a stream that breaks one.
"""
from . import protobuf as p

DATA_SERVICE = "/google.bigtable.v2.Bigtable/"
TABLE_ADMIN = "/google.bigtable.admin.v2.BigtableTableAdmin/"
# Reversed scans and last_scanned_row_key are known here: fields 1 and 4 of the feature flags.
FEATURES = (b"bigtable-features", b"CAEgAQ==")
CHUNK_BYTES_MAX = 4 << 20  # what a client takes that sets nothing

CODES = ["OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
         "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
         "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
         "UNAUTHENTICATED"]


class Violation(Exception):
    """The stream is not one that clients accept."""


def code_name(status):
    return CODES[status] if 0 <= status < len(CODES) else f"broken ({status})"


def table_name(instance, table):
    return f"{instance}/tables/{table}"


# --- requests -----------------------------------------------------------------------------------


def create_table(instance, table, families, splits=()):
    columns = b"".join(p.data(3, p.data(1, name) + p.data(2, b"")) for name in families)
    return p.data(1, instance) + p.data(2, table) + p.data(3, columns) + \
        b"".join(p.data(4, p.data(1, key)) for key in splits)


def delete_table(instance, table):
    return p.data(1, table_name(instance, table))


def set_cell(family, qualifier, timestamp, value):
    return p.data(1, p.data(1, family) + p.data(2, qualifier) + p.number(3, timestamp) +
                  p.data(4, value))


def mutate_row(name, row, mutations):
    return p.data(1, name) + p.data(2, row) + b"".join(p.data(3, m) for m in mutations)


def mutate_rows(name, entries):
    """entries: (row, mutations) pairs."""
    return p.data(1, name) + b"".join(
        p.data(2, p.data(1, row) + b"".join(p.data(2, m) for m in mutations))
        for row, mutations in entries)


def failed_entries(messages):
    """Of a MutateRows stream: {index: code}, and how many entries were answered."""
    failed, answered = {}, 0
    for message in messages:
        for field, entry in p.fields(message):
            if field != 1:
                continue
            parts = dict(p.fields(entry))
            status = dict(p.fields(parts.get(2, b"")))
            answered += 1
            if status.get(1, 0):
                failed[parts.get(1, 0)] = status[1]
    return failed, answered


def read_rows(name, keys=(), filter_=None, limit=0, is_reversed=False):
    made = p.data(1, name)
    if keys:
        made += p.data(2, b"".join(p.data(1, key) for key in keys))
    if filter_ is not None:
        made += p.data(3, encode_filter(filter_))
    if limit:
        made += p.number(4, limit)
    return made + (p.number(7, 1) if is_reversed else b"")


# --- filters ------------------------------------------------------------------------------------

SIMPLE = {"rowKeyRegex": (4, p.data), "familyRegex": (5, p.data), "qualifierRegex": (6, p.data),
          "valueRegex": (9, p.data), "cellsPerRowOffset": (10, p.number),
          "cellsPerRowLimit": (11, p.number), "cellsPerColumnLimit": (12, p.number),
          "stripValue": (13, p.number), "sample": (14, p.double), "sink": (16, p.number),
          "pass": (17, p.number), "block": (18, p.number), "label": (19, p.data)}


def _bounds(bounds, start_fields, end_fields):
    made = b""
    if "start" in bounds:
        made += p.data(start_fields[bool(bounds.get("startOpen"))], bounds["start"])
    if "end" in bounds:
        made += p.data(end_fields[bool(bounds.get("endClosed"))], bounds["end"])
    return made


def encode_filter(filter_):
    """A RowFilter message."""
    (name, value), = filter_.items()
    if name in SIMPLE:
        field, write = SIMPLE[name]
        return write(field, int(value) if isinstance(value, bool) else value)
    if name in ("chain", "interleave"):
        inner = b"".join(p.data(1, encode_filter(each)) for each in value)
        return p.data(1 if name == "chain" else 2, inner)
    if name == "condition":
        fields = {"if": 1, "then": 2, "else": 3}
        return p.data(3, b"".join(p.data(fields[branch], encode_filter(value[branch]))
                                  for branch in fields if branch in value))
    if name == "columnRange":
        return p.data(7, p.data(1, value["family"]) + _bounds(value, (2, 3), (5, 4)))
    if name == "timestampRange":
        return p.data(8, p.number(1, value.get("start", 0)) + p.number(2, value.get("end", 0)))
    if name == "valueRange":
        return p.data(15, _bounds(value, (1, 2), (4, 3)))
    if name == "bitmask":
        return p.data(20, p.data(1, value))
    raise ValueError(f"no filter is called {name}")


# --- rows ---------------------------------------------------------------------------------------


class RowReader:
    """The state of a reader: a row that is not committed, a cell that is not whole."""

    def __init__(self, is_reversed=False):
        self.is_reversed = is_reversed
        self.rows = []
        self.key = None
        self.last_key = None
        self.cells = []
        self.family = self.qualifier = None
        self.cell = None  # [family, qualifier, timestamp, labels, pieces, size]

    def take(self, message):
        if len(message) > CHUNK_BYTES_MAX:
            raise Violation(f"a message of {len(message)} bytes")
        for field, value in p.fields(message):
            if field == 1:
                self._take_chunk(value)

    def end(self):
        if self.key is not None:
            raise Violation("the stream ends inside of a row")
        return self.rows

    def _take_chunk(self, chunk):
        parts = {}
        labels = []
        for field, value in p.fields(chunk):
            if field == 5:
                labels.append(value.decode())
            else:
                parts[field] = value
        if 8 in parts and parts[8]:
            raise Violation("reset_row, which is never needed")
        if self.cell is None:
            self._begin_cell(parts, labels)
        elif 1 in parts or 2 in parts or 3 in parts or 4 in parts or labels:
            raise Violation("a piece of a cell says again whose it is")
        self._add_piece(parts.get(6, b""), parts.get(7, 0), bool(parts.get(9, 0)))

    def _begin_cell(self, parts, labels):
        key = parts.get(1, b"")
        if self.key is None:
            self._begin_row(key)
        elif key and key != self.key:
            raise Violation("a row begins inside of another")
        if 2 in parts:
            self.family = dict(p.fields(parts[2])).get(1, b"").decode()
            if 3 not in parts:
                raise Violation("a new family without a qualifier")
        if 3 in parts:
            self.qualifier = dict(p.fields(parts[3])).get(1, b"")
        if self.family is None or self.qualifier is None:
            raise Violation("a cell without family or qualifier")
        self.cell = [self.family, self.qualifier, p.signed(parts.get(4, 0)), labels, [], None]

    def _begin_row(self, key):
        if not key:
            raise Violation("a row without a key")
        if self.last_key is not None:
            is_in_order = key < self.last_key if self.is_reversed else key > self.last_key
            if not is_in_order:
                raise Violation(f"row {key!r} after {self.last_key!r}")
        self.key, self.cells, self.family, self.qualifier = key, [], None, None

    def _add_piece(self, value, value_size, is_commit):
        pieces = self.cell[4]
        pieces.append(value)
        if value_size:
            if is_commit:
                raise Violation("a row is committed inside of a cell")
            if self.cell[5] not in (None, value_size):
                raise Violation("pieces of a cell give it two sizes")
            self.cell[5] = value_size
            return
        whole = b"".join(pieces)
        if self.cell[5] is not None and self.cell[5] != len(whole):
            raise Violation(f"a cell of {self.cell[5]} bytes came with {len(whole)}")
        self.cells.append((self.cell[0], self.cell[1], self.cell[2], whole, tuple(self.cell[3])))
        self.cell = None
        if is_commit:
            self.rows.append((self.key, self.cells))
            self.last_key, self.key = self.key, None


def rows_of(messages, is_reversed=False):
    """[(key, [(family, qualifier, timestamp, value, labels)])], in the order of the stream."""
    reader = RowReader(is_reversed)
    for message in messages:
        reader.take(message)
    return reader.end()
