"""A filter of the scenario as google-cloud-bigtable's own objects."""
from google.cloud.bigtable.data import row_filters as f

from notation import Lacks, bytes_of


def _children(filters):
    return [filter_of(each) for each in filters]


def _column_range(bounds):
    return f.ColumnRangeFilter(
        bounds["family"],
        start_qualifier=_bound(bounds, "start"), end_qualifier=_bound(bounds, "end"),
        inclusive_start=_start_inclusive(bounds), inclusive_end=_end_inclusive(bounds))


def _value_range(bounds):
    return f.ValueRangeFilter(
        start_value=_bound(bounds, "start"), end_value=_bound(bounds, "end"),
        inclusive_start=_start_inclusive(bounds), inclusive_end=_end_inclusive(bounds))


def _bound(bounds, name):
    return bytes_of(bounds[name]) if name in bounds else None


def _start_inclusive(bounds):
    return not bounds.get("startOpen", False) if "start" in bounds else None


def _end_inclusive(bounds):
    return bounds.get("endClosed", False) if "end" in bounds else None


def _times(bounds):
    import datetime
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)

    def time(name):
        if bounds.get(name, 0) == 0:
            return None
        return epoch + datetime.timedelta(microseconds=bounds[name])

    return f.TimestampRangeFilter(start=time("start"), end=time("end"))


def _condition(condition):
    branch = {name: filter_of(condition[name]) for name in ("then", "else") if name in condition}
    return f.ConditionalRowFilter(predicate_filter=filter_of(condition["if"]),
                                  true_filter=branch.get("then"), false_filter=branch.get("else"))


MAKERS = {
    "chain": lambda v: f.RowFilterChain(filters=_children(v)),
    "interleave": lambda v: f.RowFilterUnion(filters=_children(v)),
    "condition": _condition,
    "rowKeyRegex": lambda v: f.RowKeyRegexFilter(bytes_of(v)),
    "familyRegex": f.FamilyNameRegexFilter,
    "qualifierRegex": lambda v: f.ColumnQualifierRegexFilter(bytes_of(v)),
    "valueRegex": lambda v: f.ValueRegexFilter(bytes_of(v)),
    "columnRange": _column_range,
    "valueRange": _value_range,
    "timestampRange": _times,
    "cellsPerRowOffset": f.CellsRowOffsetFilter,
    "cellsPerRowLimit": f.CellsRowLimitFilter,
    "cellsPerColumnLimit": f.CellsColumnLimitFilter,
    "stripValue": f.StripValueTransformerFilter,
    "sample": f.RowSampleFilter,
    "label": f.ApplyLabelFilter,
    "sink": f.SinkFilter,
    "pass": f.PassAllFilter,
    "block": f.BlockAllFilter,
}


def filter_of(filter_):
    """The client's filter of one of the scenario, which has one name in it."""
    (name, value), = filter_.items()
    if name not in MAKERS:
        raise Lacks(f"a filter {name}")
    return MAKERS[name](value)
