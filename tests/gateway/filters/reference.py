"""
What a filter does with a row: one function a kind, as the rules say it, and nothing clever.

A filter is the scenario's, with bytes as Python has them.  Cells are (family, qualifier, timestamp,
value, labels), in the order in which a row has them: family, qualifier, newest first.  Families are
ordered by name here, and the test makes them in that order.

evaluate() gives the cells of the row that is read.  Two exceptions are about the question, not the
answer: Invalid (the API refuses this filter) and Ambiguous (the rules leave open which of several
cells is meant: equal in family, qualifier and time, told apart by label or stripped value, and a
limit cuts between them).
"""
import re

FILTER_BYTES_MAX = 20480
NESTING_MAX = 20
LABEL = re.compile(r"[a-z0-9\-]{1,15}")


class Invalid(Exception):
    """INVALID_ARGUMENT, says the API."""


class Ambiguous(Exception):
    """More than one answer is right."""


def order(cell):
    family, qualifier, timestamp = cell[:3]
    return (family, qualifier, -timestamp)


def pooled(cells):
    """In the order of a row; of cells that are equal in it the order is left open."""
    return sorted(cells, key=lambda cell: (order(cell), cell[3], cell[4]))


def _cut_is_clear(cells, at):
    """Is it plain which cells come before `at`?"""
    if 0 < at < len(cells) and order(cells[at - 1]) == order(cells[at]):
        same = {cell for cell in cells if order(cell) == order(cells[at])}
        if len(same) > 1:
            raise Ambiguous


# --- patterns -----------------------------------------------------------------------------------


def compiled(pattern):
    """RE2's language on bytes: \\C is any byte, a dot is none that ends a line."""
    made = b""
    at = 0
    while at < len(pattern):
        if pattern[at:at + 1] == b"\\":
            pair = pattern[at:at + 2]
            made += rb"[\x00-\xff]" if pair == b"\\C" else pair
            at += 2
        else:
            made += pattern[at:at + 1]
            at += 1
    try:
        return re.compile(made)
    except re.error as error:
        raise Invalid(str(error)) from None


def matches(pattern, text):
    return compiled(pattern).fullmatch(text) is not None


# --- is it a filter? ----------------------------------------------------------------------------


def has_label(filter_):
    (name, value), = filter_.items()
    return name == "label" or any(has_label(child) for child in children(filter_))


def children(filter_):
    (name, value), = filter_.items()
    if name in ("chain", "interleave"):
        return value
    if name == "condition":
        return [value[branch] for branch in ("if", "then", "else") if branch in value]
    return []


def depth(filter_):
    return 1 + max((depth(child) for child in children(filter_)), default=0)


def check(filter_, in_condition=False):
    """Raises Invalid for what the API refuses."""
    (name, value), = filter_.items()
    if name in ("chain", "interleave") and len(value) < 2:
        raise Invalid(f"{name} of {len(value)}")
    if name == "chain" and sum(has_label(child) for child in value) > 1:
        raise Invalid("two labels in a chain")
    if name in ("pass", "block", "sink", "stripValue") and value is not True:
        raise Invalid(f"{name} that is false")
    if name == "sink" and in_condition:
        raise Invalid("a sink inside of a condition")
    if name in ("cellsPerRowLimit", "cellsPerColumnLimit") and value <= 0:
        raise Invalid(f"{name} of {value}")
    if name == "cellsPerRowOffset" and value < 0:
        raise Invalid(f"{name} of {value}")
    if name == "sample" and not 0 < value < 1:
        raise Invalid(f"a chance of {value}")
    if name == "label" and not LABEL.fullmatch(value):
        raise Invalid(f"label {value}")
    if name == "rowKeyRegex" and not value:
        raise Invalid("an empty pattern for keys")
    if name == "familyRegex" and ":" in value:
        raise Invalid("a colon in a pattern for families")
    if name in ("rowKeyRegex", "qualifierRegex", "valueRegex"):
        compiled(value)
    if name == "familyRegex":
        compiled(value.encode())
    for child in children(filter_):
        check(child, in_condition or name == "condition")


def names_no_family(filter_, families):
    """Does it name a family, exactly, that the table has not?  NOT_FOUND, says the API."""
    (name, value), = filter_.items()
    if name == "columnRange":
        return value["family"] not in families
    if name == "familyRegex" and value and not set(value) & set(".*+?()[]{}|\\^$"):
        return value not in families
    return any(names_no_family(child, families) for child in children(filter_))


# --- what it does -------------------------------------------------------------------------------


def _keep(test):
    """A filter that looks at each cell by itself."""
    return lambda value, key, cells: ([cell for cell in cells if test(value, cell)], [])


def _chain(filters, key, cells):
    sunk = []
    for each in filters:
        cells, more = apply(each, key, cells)
        sunk += more
    return cells, sunk


def _interleave(filters, key, cells):
    out, sunk = [], []
    for each in filters:
        kept, more = apply(each, key, cells)
        out += kept
        sunk += more
    return pooled(out), sunk


def _condition(condition, key, cells):
    seen, _ = apply(condition["if"], key, cells)
    branch = "then" if seen else "else"
    return apply(condition[branch], key, cells) if branch in condition else ([], [])


def _row_limit(count, key, cells):
    _cut_is_clear(cells, count)
    return cells[:count], []


def _row_offset(count, key, cells):
    _cut_is_clear(cells, count)
    return cells[count:], []


def _column_limit(count, key, cells):
    kept = []
    for column in sorted({cell[:2] for cell in cells}):
        versions = [cell for cell in cells if cell[:2] == column]
        _cut_is_clear(versions, count)
        kept += versions[:count]
    return kept, []


def _in_column_range(bounds, cell):
    return cell[0] == bounds["family"] and _in_bounds(bounds, cell[1])


def _in_bounds(bounds, data):
    if "start" in bounds:
        if data < bounds["start"] or (bounds.get("startOpen") and data == bounds["start"]):
            return False
    if "end" in bounds:
        if data > bounds["end"] or (not bounds.get("endClosed") and data == bounds["end"]):
            return False
    return True


def _in_time(bounds, cell):
    end = bounds.get("end", 0)
    return bounds.get("start", 0) <= cell[2] and (end == 0 or cell[2] < end)


def _has_bits(mask, cell):
    value = cell[3]
    return len(value) == len(mask) and all(v & m == m for v, m in zip(value, mask))


KINDS = {
    "chain": _chain,
    "interleave": _interleave,
    "condition": _condition,
    "pass": lambda value, key, cells: (cells, []),
    "block": lambda value, key, cells: ([], []),
    "sink": lambda value, key, cells: ([], cells),
    "rowKeyRegex": lambda value, key, cells: (cells if matches(value, key) else [], []),
    "familyRegex": _keep(lambda value, cell: matches(value.encode(), cell[0].encode())),
    "qualifierRegex": _keep(lambda value, cell: matches(value, cell[1])),
    "valueRegex": _keep(lambda value, cell: matches(value, cell[3])),
    "columnRange": _keep(_in_column_range),
    "timestampRange": _keep(_in_time),
    "valueRange": _keep(lambda value, cell: _in_bounds(value, cell[3])),
    "bitmask": _keep(_has_bits),
    "cellsPerRowOffset": _row_offset,
    "cellsPerRowLimit": _row_limit,
    "cellsPerColumnLimit": _column_limit,
    "stripValue": lambda value, key, cells: ([(*cell[:3], b"", cell[4]) for cell in cells], []),
    "label": lambda value, key, cells: ([(*cell[:4], (*cell[4], value)) for cell in cells], []),
}


def apply(filter_, key, cells):
    """What goes on, and what went into sinks."""
    if not cells:
        return [], []
    (name, value), = filter_.items()
    return KINDS[name](value, key, cells)


def evaluate(filter_, key, cells):
    """The cells of the row as it is read."""
    out, sunk = apply(filter_, key, cells)
    return pooled(out + sunk)
