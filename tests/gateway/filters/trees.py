"""Random rows of few and telling bytes, and random filters that find something in them."""

FAMILIES = ["a", "b", "c-1"]
QUALIFIERS = [b"", b"a", b"ab", b"b", b"\x00", b"\xff", b"x\ny"]
VALUES = [b"", b"a", b"ab", b"abc", b"\n", b"\x00\xff", b"\xf0\x0f", b"zz", b"a\nb"]
KEYS = [b"a", b"ab", b"abc", b"b", b"b\x00", b"c\nd", b"\x00", b"\xff", b"\xff\xff", b"row-1",
        b"row-2"]
TIMES = [0, 1000, 2000, 3000, 10000]
LABELS = ["one", "two-2", "3"]
LITERALS = [b"a", b"b", b"ab", b"x", b"\\xff", b"\\x00", b"row", b"-"]
LEAVES = ["pass", "block", "sink", "rowKeyRegex", "familyRegex", "qualifierRegex", "valueRegex",
          "columnRange", "timestampRange", "valueRange", "bitmask", "cellsPerRowOffset",
          "cellsPerRowLimit", "cellsPerColumnLimit", "stripValue", "label"]


def rows(random):
    """{key: cells}, cells as reference.py has them."""
    made = {}
    for key in KEYS + [b"more%03d" % i for i in range(random.randint(0, 20))]:
        cells = {}
        for _ in range(random.randint(1, 14)):
            cell = (random.choice(FAMILIES), random.choice(QUALIFIERS), random.choice(TIMES))
            cells[cell] = random.choice(VALUES)
        made[key] = sorted(((*cell, value, ()) for cell, value in cells.items()),
                           key=lambda cell: (cell[0], cell[1], -cell[2]))
    return made


def pattern(random, size=3):
    """A regular expression that both RE2 and Python read alike."""
    kind = random.randint(0, 8 if size else 3)
    if kind <= 1:
        return random.choice(LITERALS)
    if kind == 2:
        return random.choice([b".", b".*", b".+", b"\\C", b"\\C*"])
    if kind == 3:
        return random.choice([b"[ab]", b"[^a]", b"[a-z]*", b"[\\x00-\\x0f]"])
    if kind == 4:
        return b"(" + pattern(random, size - 1) + b"|" + pattern(random, size - 1) + b")"
    if kind == 5:
        return b"(?:" + pattern(random, size - 1) + b")" + random.choice([b"?", b"*", b"+", b"{1,2}"])
    return pattern(random, size - 1) + pattern(random, size - 1)


def bounds(random, values):
    """Never one that is empty by its bounds alone (an open end of no bytes): that is left open."""
    low, high = sorted([random.choice(values), random.choice(values)])
    made = {}
    if random.random() < 0.8:
        made["start"] = low
        if low != high and random.random() < 0.5:
            made["startOpen"] = True
    if random.random() < 0.8:
        made["end"] = high
        if low == high or high == b"" or random.random() < 0.5:
            made["endClosed"] = True
    return made


def leaf(random, with_label, with_sink):
    name = random.choice(LEAVES)
    if (name == "label" and not with_label) or (name == "sink" and not with_sink):
        name = "pass"
    if name in ("pass", "block", "sink", "stripValue"):
        return {name: True}
    if name in ("rowKeyRegex", "qualifierRegex", "valueRegex"):
        return {name: pattern(random)}
    if name == "familyRegex":
        return {name: random.choice(["a", "a|b", "c.*", "[abc]", ".*", "c-1", "missing"])}
    if name == "columnRange":
        return {name: {"family": random.choice(FAMILIES), **bounds(random, QUALIFIERS)}}
    if name == "timestampRange":
        start, end = sorted([random.choice(TIMES), random.choice(TIMES)])
        return {name: {"start": start, "end": end + 1000 if random.random() < 0.8 else 0}}
    if name == "valueRange":
        return {name: bounds(random, VALUES)}
    if name == "bitmask":
        return {name: random.choice([b"\x00\xff", b"\x20", b"\x61", b"\x00", b"\x70\x0f"])}
    if name == "label":
        return {name: random.choice(LABELS)}
    return {name: random.randint(0 if name == "cellsPerRowOffset" else 1, 6)}


def tree(random, levels=4, with_label=True, with_sink=True):
    """A filter that the API takes: of a chain's members one at most has a label."""
    if levels <= 1 or random.random() < 0.3:
        return leaf(random, with_label, with_sink)
    kind = random.choice(["chain", "chain", "interleave", "condition"])
    if kind == "condition":
        made = {"if": tree(random, levels - 1, False, False)}
        for branch in ("then", "else"):
            if random.random() < 0.8:
                made[branch] = tree(random, levels - 1, with_label, False)
        if len(made) == 1:
            made["then"] = {"pass": True}
        return {kind: made}
    count = random.randint(2, 4)
    labelled = random.randrange(count)
    return {kind: [tree(random, levels - 1, with_label and (kind == "interleave" or i == labelled),
                        with_sink) for i in range(count)]}


REFUSED = [
    {"chain": []}, {"chain": [{"pass": True}]}, {"interleave": []}, {"interleave": [{"pass": True}]},
    {"pass": False}, {"block": False}, {"cellsPerRowLimit": 0}, {"cellsPerColumnLimit": 0},
    {"cellsPerRowLimit": -1}, {"sample": 0.0}, {"sample": 1.0},
    {"sample": -0.5}, {"sample": 2.0}, {"rowKeyRegex": b""}, {"familyRegex": "a:b"},
    {"valueRegex": b"("}, {"qualifierRegex": b"[a"}, {"rowKeyRegex": b"*"}, {"label": "Capital"},
    {"label": ""}, {"label": "longer-than-15-c"}, {"label": "under_score"},
    {"chain": [{"label": "one"}, {"label": "two"}]},
    {"condition": {"if": {"pass": True}, "then": {"sink": True}}},
    {"condition": {"if": {"sink": True}, "then": {"pass": True}}},
]


def smaller(filter_):
    """Filters that are a step simpler, for finding the least that shows a difference."""
    (name, value), = filter_.items()
    if name in ("chain", "interleave"):
        yield from value
        if len(value) > 2:
            for i in range(len(value)):
                yield {name: value[:i] + value[i + 1:]}
        for i, child in enumerate(value):
            for simpler in smaller(child):
                yield {name: [*value[:i], simpler, *value[i + 1:]]}
    elif name == "condition":
        yield from value.values()
        for branch, child in value.items():
            for simpler in smaller(child):
                yield {name: {**value, branch: simpler}}
