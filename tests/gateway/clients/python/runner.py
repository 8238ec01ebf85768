"""
Takes google-cloud-bigtable through the steps that come in, one a line; README.md of tests/gateway
says what a step is.  Usage: runner.py PROJECT INSTANCE, with BIGTABLE_EMULATOR_HOST set.

Data calls go through the data client (BigtableDataClient), the others through the admin clients.
"""
import json
import sys
import traceback

import grpc
from google.api_core import exceptions
from google.cloud.bigtable import data
from google.cloud.bigtable.data import mutations as m
from google.cloud.bigtable.data import read_modify_write_rules as rmw

import admin
from filters import filter_of
from notation import Lacks, bytes_of, shown

DEADLINE_SECONDS = 60


class Place:
    """The clients of one project and instance."""

    def __init__(self, name):
        self.project, self.instance = name.split("/")
        self.data = data.BigtableDataClient(project=self.project)
        self.admin = admin.Admin(self.project, self.instance)
        self.tables = {}

    def table(self, step):
        name = (step["table"], step.get("through"))
        if name not in self.tables:
            self.tables[name] = self.data.get_table(self.instance, name[0], app_profile_id=name[1])
        return self.tables[name]


def timeouts(step):
    """A deadline of the whole is one of each attempt too: the client checks that it is not less."""
    seconds = step["deadlineMs"] / 1000 if "deadlineMs" in step else DEADLINE_SECONDS
    return {"operation_timeout": seconds, "attempt_timeout": seconds}


# --- writing --------------------------------------------------------------------------------------


def _delete_column(a):
    return m.DeleteRangeFromColumn(a["family"], bytes_of(a["qualifier"]), a.get("start"),
                                   a.get("end"))


def _add(a):
    if "bytes" in a:
        raise Lacks("AddToCell of bytes")
    return m.AddToCell(a["family"], bytes_of(a["qualifier"]), a["input"],
                       timestamp_micros=a["timestamp"])


def _merge(_):
    raise Lacks("MergeToCell")


MUTATIONS = {
    "set": lambda a: m.SetCell(a["family"], bytes_of(a["qualifier"]), bytes_of(a["value"]),
                               timestamp_micros=a["timestamp"]),
    "add": _add,
    "merge": _merge,
    "deleteColumn": _delete_column,
    "deleteFamily": lambda a: m.DeleteAllFromFamily(a["family"]),
    "deleteRow": lambda a: m.DeleteAllFromRow(),
}


def mutations_of(written):
    made = []
    for each in written:
        (kind, arguments), = each.items()
        made.append(MUTATIONS[kind](arguments))
    return made


def mutate_row(place, step):
    place.table(step).mutate_row(bytes_of(step["row"]), mutations_of(step["mutations"]),
                                 **timeouts(step))
    return {}


def mutate_rows(place, step):
    entries = [m.RowMutationEntry(bytes_of(entry["row"]), mutations_of(entry["mutations"]))
               for entry in step["entries"]]
    failures = []
    try:
        place.table(step).bulk_mutate_rows(entries, **timeouts(step))
    except data.exceptions.MutationsExceptionGroup as group:
        for each in group.exceptions:
            failures.append({"index": each.index, **error_of(each)})
    return {"failures": sorted(failures, key=lambda failure: failure["index"])}


def check_and_mutate(place, step):
    predicate = filter_of(step["predicate"]) if "predicate" in step else None
    matched = place.table(step).check_and_mutate_row(
        bytes_of(step["row"]), predicate, true_case_mutations=mutations_of(step.get("then", [])),
        false_case_mutations=mutations_of(step.get("otherwise", [])),
        operation_timeout=DEADLINE_SECONDS)
    return {"matched": matched}


def read_modify_write(place, step):
    rules = []
    for rule in step["rules"]:
        column = (rule["family"], bytes_of(rule["qualifier"]))
        if "append" in rule:
            rules.append(rmw.AppendValueRule(*column, bytes_of(rule["append"])))
        else:
            rules.append(rmw.IncrementRule(*column, rule["increment"]))
    row = place.table(step).read_modify_write_row(bytes_of(step["row"]), rules,
                                                  operation_timeout=DEADLINE_SECONDS)
    return {"row": shown_row(row)}


# --- reading --------------------------------------------------------------------------------------


def shown_row(row):
    cells = []
    for cell in row.cells:
        made = [cell.family, shown(cell.qualifier), cell.timestamp_micros, shown(cell.value)]
        if cell.labels:
            made.append(list(cell.labels))
        cells.append(made)
    return {"row": shown(row.row_key), "cells": cells}


def prefix_range(prefix):
    kept = prefix.rstrip(b"\xff")
    end = kept[:-1] + bytes([kept[-1] + 1]) if kept else None
    return data.RowRange(prefix, end)


def range_of(bounds):
    start = bytes_of(bounds["start"]) if "start" in bounds else None
    end = bytes_of(bounds["end"]) if "end" in bounds else None
    return data.RowRange(
        start, end,
        start_is_inclusive=not bounds.get("startOpen", False) if start is not None else None,
        end_is_inclusive=bounds.get("endClosed", False) if end is not None else None)


def query_of(step):
    if step.get("reversed"):
        raise Lacks("reversed scans")
    if step.get("stats"):
        raise Lacks("statistics of a read")
    ranges = [range_of(bounds) for bounds in step.get("ranges", [])]
    ranges += [prefix_range(bytes_of(prefix)) for prefix in step.get("prefixes", [])]
    return data.ReadRowsQuery(
        row_keys=[bytes_of(key) for key in step.get("keys", [])] or None, row_ranges=ranges or None,
        limit=step.get("limit"), row_filter=filter_of(step["filter"]) if "filter" in step else None)


def read_rows(place, step):
    rows = place.table(step).read_rows(query_of(step), **timeouts(step))
    return {"rows": [shown_row(row) for row in rows]}


def read_row(place, step):
    row_filter = filter_of(step["filter"]) if "filter" in step else None
    row = place.table(step).read_row(bytes_of(step["row"]), row_filter=row_filter, **timeouts(step))
    return {"row": shown_row(row) if row is not None else None}


def read_some(place, step):
    """Some rows, then the iterator is closed: the client cancels the call."""
    rows = place.table(step).read_rows_stream(data.ReadRowsQuery(), **timeouts(step))
    count = 0
    for _ in rows:
        count += 1
        if count == step["count"]:
            break
    del rows
    return {"count": count}


def sample_row_keys(place, step):
    samples = place.table(step).sample_row_keys(**timeouts(step))
    offsets = [offset for _, offset in samples]
    return {"keys": [shown(key) for key, _ in samples if key], "ascending": offsets == sorted(offsets)}


def ping(place, _):
    place.data._gapic_client.ping_and_warm(
        name=f"projects/{place.project}/instances/{place.instance}")
    return {}


def hll(_, __):
    raise Lacks("a library of sketches")


ACTIONS = {
    "mutateRow": mutate_row, "mutateRows": mutate_rows, "checkAndMutate": check_and_mutate,
    "readModifyWrite": read_modify_write, "readRow": read_row, "readRows": read_rows,
    "readSome": read_some, "sampleRowKeys": sample_row_keys, "ping": ping, "hllCount": hll, "hllMerge": hll,
}

# --- steps ----------------------------------------------------------------------------------------


def error_of(error):
    """As results have it; None for one that no server gave."""
    seen = error
    while seen is not None:
        if isinstance(seen, exceptions.GoogleAPICallError) and seen.grpc_status_code is not None:
            code = seen.grpc_status_code
            return {"code": code.name, "text": seen.message or ""}
        if isinstance(seen, grpc.RpcError) and hasattr(seen, "code"):
            return {"code": seen.code().name, "text": seen.details() or ""}
        if isinstance(seen, BaseException) and getattr(seen, "exceptions", None):
            seen = seen.exceptions[-1]
        else:
            seen = seen.__cause__
    return None


def outcome_of(step, places, default):
    name = step.get("in", default)
    try:
        if name not in places:
            places[name] = Place(name)
        place = places[name]
        if step["do"] in ACTIONS:
            return {"result": ACTIONS[step["do"]](place, step)}
        if step["do"] in admin.ACTIONS:
            return {"result": admin.ACTIONS[step["do"]](place.admin, step)}
        raise Lacks(step["do"])
    except Lacks as lack:
        return {"lacks": str(lack)}
    except Exception as error:  # the client's own refusals have many classes
        made = error_of(error)
        if made is not None:
            return {"error": made}
        return {"refused": traceback.format_exc()[-600:]}


def main():
    default = f"{sys.argv[1]}/{sys.argv[2]}"
    places = {}
    for line in sys.stdin:
        step = json.loads(line)
        print(json.dumps({"step": step["step"], **outcome_of(step, places, default)}), flush=True)
    for place in places.values():
        place.data.close()


main()
