"""Every record, in the order of the table."""
from .record import Bench, Record  # noqa: F401
from . import writes, batches, reads, latency, storage, scale, overload, copies, gateway, hotspots, measuring  # noqa: F401

ALL = Record.all_records
