"""Bytes as the scenario writes them, as runners are given them, and as results show them.

  written    "text" | {"hex": "00ff"} | {"int64": -5} | {"repeat": "x", "times": 1048576}
  given      "7465"  (hexadecimal)    | {"hex": "78", "times": 1048576}
  shown      "7465", or above 64 bytes "sha256:<digest>:<size>"

All three of one thing are made here, so that runners know two rules and no more.
"""
import hashlib

SHOWN_BYTES_MAX = 64

# What of a step is bytes.  start and end are bytes too, unless they are numbers: then times.
SINGLE = {"row", "qualifier", "value", "append", "state", "prefix", "rowKeyRegex",
          "qualifierRegex", "valueRegex", "bitmask", "start", "end", "bytes"}
LISTS = {"keys", "splits", "prefixes"}


class Mistake(Exception):
    """The scenario itself is wrong."""


def is_written(value):
    """Is this one of the forms above?"""
    return isinstance(value, str) or (isinstance(value, dict) and len(value) <= 2 and
                                      set(value) & {"hex", "int64", "repeat"} != set())


def decode(written):
    """The bytes themselves."""
    if isinstance(written, str):
        return written.encode()
    if isinstance(written, dict):
        if set(written) == {"hex"}:
            return bytes.fromhex(written["hex"])
        if set(written) == {"int64"}:
            return written["int64"].to_bytes(8, "big", signed=True)
        if set(written) == {"repeat", "times"}:
            return written["repeat"].encode() * written["times"]
    raise Mistake(f"{written!r} is not a way to write bytes")


def give(written):
    """As a runner gets them: what is long stays short on the way."""
    if isinstance(written, dict) and "repeat" in written:
        return {"hex": written["repeat"].encode().hex(), "times": written["times"]}
    return decode(written).hex()


def show(data):
    """As results have them."""
    if len(data) <= SHOWN_BYTES_MAX:
        return data.hex()
    return f"sha256:{hashlib.sha256(data).hexdigest()}:{len(data)}"


def for_runner(node):
    """A step as runners get it: all bytes given, everything else as it is."""
    if isinstance(node, list):
        return [for_runner(item) for item in node]
    if not isinstance(node, dict):
        return node
    made = {}
    for name, value in node.items():
        if name in LISTS and isinstance(value, list):
            made[name] = [give(item) for item in value]
        elif name in SINGLE and is_written(value):
            made[name] = give(value)
        else:
            made[name] = for_runner(value)
    return made
