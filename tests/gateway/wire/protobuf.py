"""Protobuf's wire format: fields written one after another, and messages taken apart."""
import struct


def varint(value):
    value &= (1 << 64) - 1
    made = bytearray()
    while value >= 128:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)


def number(field, value):
    return varint(field << 3) + varint(value)


def double(field, value):
    return varint(field << 3 | 1) + struct.pack("<d", value)


def data(field, value):
    """Bytes, text or a message, present even when it is empty."""
    if isinstance(value, str):
        value = value.encode()
    return varint(field << 3 | 2) + varint(len(value)) + value


def _take_varint(message, at):
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if not byte & 128:
            return value, at


def fields(message):
    """(field, value) in their order; value is a number or bytes."""
    at = 0
    while at < len(message):
        key, at = _take_varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = _take_varint(message, at)
        elif kind == 1:
            value, at = message[at:at + 8], at + 8
        elif kind == 2:
            size, at = _take_varint(message, at)
            value, at = message[at:at + size], at + size
            if len(value) != size:
                raise ValueError("a field longer than its message")
        elif kind == 5:
            value, at = message[at:at + 4], at + 4
        else:
            raise ValueError(f"wire type {kind}")
        yield key >> 3, value


def signed(value):
    return value - (1 << 64) if value >> 63 else value
