"""What came of a step against what should have: the part of the driver that judges.

An expectation may say less than a result does:

  "*"                   anything that is there
  {"now": true}         a time in microseconds, of the last ten minutes
  {"contains": [...]}   a list that has these, and maybe more
  {"number": 17}        a cell's value whose number `ebt` shows as 17 (for results of ebt only)
  {"text": "..."}       (of an error) what its text has in it; compared only when a client shows texts

Rows are compared cell by cell.  Bigtable promises no order of families, and some clients keep rows
in maps, so cells are sorted by family and qualifier first; versions of a column must come newest
first from every client.
"""
import time

from . import notation

NOW_SECONDS_MAX = 600


def difference(expected, result, path="", now_s=None):
    """None, or a sentence: where they differ first."""
    where = path or "it"
    if isinstance(expected, str) and expected == "*":
        return None
    if isinstance(expected, dict):
        if expected == {"now": True}:
            return _now_difference(result, where, now_s)
        if set(expected) == {"contains"}:
            return _contains_difference(expected["contains"], result, where)
        if not isinstance(result, dict):
            return f"{where} is {_short(result)}, not an object"
        return _object_difference(expected, result, path, now_s)
    if isinstance(expected, list):
        return _list_difference(expected, result, path, now_s)
    if type(expected) is not type(result) or expected != result:
        return f"{where} is {_short(result)}, {_short(expected)} was expected"
    return None


def _short(value):
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "..."


def _now_difference(result, where, now_s):
    now_us = int((time.time() if now_s is None else now_s) * 1e6)
    if not isinstance(result, int) or isinstance(result, bool):
        return f"{where} is {_short(result)}, not a time"
    if abs(now_us - result) > NOW_SECONDS_MAX * 1000000:
        return f"{where} is {result} us, which is not now ({now_us} us)"
    return None


def _contains_difference(expected, result, where):
    if not isinstance(result, list):
        return f"{where} is {_short(result)}, not a list"
    for item in expected:
        if item not in result:
            return f"{where} lacks {_short(item)}: {_short(result)}"
    return None


def _object_difference(expected, result, path, now_s):
    for name in expected:
        if name not in result:
            return f"{path or 'it'} lacks {name}"
        found = difference(expected[name], result[name], f"{path}.{name}" if path else name, now_s)
        if found:
            return found
    for name in result:
        if name not in expected:
            return f"{path or 'it'} has {name}, which was not expected: {_short(result[name])}"
    return None


def _list_difference(expected, result, path, now_s):
    where = path or "it"
    if not isinstance(result, list):
        return f"{where} is {_short(result)}, not a list"
    for i, (wanted, got) in enumerate(zip(expected, result)):
        found = difference(wanted, got, f"{path}[{i}]", now_s)
        if found:
            return found
    if len(expected) != len(result):
        more = (result if len(result) > len(expected) else expected)[min(len(expected), len(result))]
        what = "more" if len(result) > len(expected) else "less"
        return f"{where} has {len(result)} items, {what} than {len(expected)}: {_short(more)}"
    return None


# --- rows ---------------------------------------------------------------------------------------


def order_fault(row):
    """None, or a sentence: versions of a column that do not come newest first."""
    newest = {}
    for family, qualifier, timestamp, *_ in row["cells"]:
        if timestamp > newest.get((family, qualifier), timestamp):
            return f"row {row['row']}: {family}:{qualifier} has {timestamp} after an older version"
        newest[family, qualifier] = timestamp
    return None


def _cell_key(cell):
    family, qualifier, timestamp, value = cell[:4]
    labels = cell[4] if len(cell) > 4 else []
    time_key = -timestamp if isinstance(timestamp, int) else 0
    return (family, qualifier, time_key, str(value), labels)


def sorted_cells(row):
    return {"row": row["row"], "cells": sorted(row["cells"], key=_cell_key)}


def written_row(row):
    """An expected row with its bytes as results show them."""
    cells = []
    for family, qualifier, timestamp, value, *labels in row.get("cells", []):
        if notation.is_written(value) and value != "*":
            value = notation.show(notation.decode(value))
        cells.append([family, notation.show(notation.decode(qualifier)), timestamp, value, *labels])
    return {"row": notation.show(notation.decode(row["row"])), "cells": cells}


def written_result(result):
    """An expected result with its bytes as results show them."""
    made = dict(result)
    if isinstance(made.get("row"), dict):
        made["row"] = written_row(made["row"])
    if isinstance(made.get("rows"), list):
        made["rows"] = [written_row(row) for row in made["rows"]]
    keys = made.get("keys")
    if isinstance(keys, list):
        made["keys"] = [notation.show(notation.decode(key)) for key in keys]
    elif isinstance(keys, dict):
        made["keys"] = {"contains": [notation.show(notation.decode(k)) for k in keys["contains"]]}
    return made


def _normal(result):
    """Rows with their cells sorted; the rest as it is."""
    made = dict(result)
    if isinstance(made.get("row"), dict):
        made["row"] = sorted_cells(made["row"])
    if isinstance(made.get("rows"), list):
        made["rows"] = [sorted_cells(row) for row in made["rows"]]
    return made


def rows_of(result):
    if isinstance(result.get("row"), dict):
        return [result["row"]]
    return result.get("rows") or []


def rows_difference(ours, theirs):
    """Two lists of rows, none of them an expectation: None, or where they differ first."""
    return _list_difference([sorted_cells(row) for row in theirs],
                            [sorted_cells(row) for row in ours], "rows", None)


# --- outcomes -----------------------------------------------------------------------------------


def _error_difference(expected, error):
    if expected["code"] != error.get("code"):
        return (f"it failed with {error.get('code')} ({_short(error.get('text'))}), "
                f"{expected['code']} was expected")
    text = expected.get("text")
    if text and error.get("text") is not None and text not in error["text"]:
        return f"its text is {_short(error['text'])}, which does not have {text!r}"
    return None


def _failures_difference(expected, failures):
    """Of mutateRows: per entry an error."""
    wanted = {failure["index"]: failure for failure in expected}
    got = {failure["index"]: failure for failure in failures}
    if sorted(wanted) != sorted(got):
        return f"entries {sorted(got)} failed, {sorted(wanted)} were expected to"
    for index, failure in wanted.items():
        found = _error_difference(failure, got[index])
        if found:
            return f"entry {index}: {found}"
    return None


def judge(expected, outcome, now_s=None):
    """None, or a sentence: how the outcome of a step is not what was expected."""
    if "error" in expected:
        failures = (outcome.get("result") or {}).get("failures")
        if failures:  # clients that blame each entry for what befell the call
            found = [_error_difference(expected["error"], failure) for failure in failures]
            return next((fault for fault in found if fault), None)
        if "error" not in outcome:
            return (f"it succeeded with {_short(outcome.get('result'))}, "
                    f"{expected['error']['code']} was expected")
        return _error_difference(expected["error"], outcome["error"])
    if "error" in outcome:
        return f"it failed with {outcome['error'].get('code')}: {outcome['error'].get('text')}"
    result = outcome.get("result")
    if not isinstance(result, dict):
        return f"the runner gave neither result nor error: {_short(outcome)}"
    for row in rows_of(result):
        found = order_fault(row)
        if found:
            return found
    wanted = written_result(expected["result"])
    if "failures" in wanted:
        found = _failures_difference(wanted.pop("failures"), result.get("failures", []))
        result = {k: v for k, v in result.items() if k != "failures"}
        if found:
            return found
    return difference(_normal(wanted), _normal(result), now_s=now_s)
