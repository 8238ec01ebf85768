"""Bytes as steps give and results show them, and the one thing that is no error: a client's lack."""
import hashlib

SHOWN_BYTES_MAX = 64


class Lacks(Exception):
    """The client has no such call."""


def bytes_of(given):
    if isinstance(given, str):
        return bytes.fromhex(given)
    return bytes.fromhex(given["hex"]) * given["times"]


def shown(data):
    if len(data) <= SHOWN_BYTES_MAX:
        return data.hex()
    return f"sha256:{hashlib.sha256(data).hexdigest()}:{len(data)}"
