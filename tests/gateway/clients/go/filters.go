package main

import (
	"cloud.google.com/go/bigtable"
)

func filtersOf(value any) ([]bigtable.Filter, error) {
	made := []bigtable.Filter{}
	for _, each := range objects(value) {
		filter, err := filterOf(each)
		if err != nil {
			return nil, err
		}
		made = append(made, filter)
	}
	return made, nil
}

func conditionOf(condition object) (bigtable.Filter, error) {
	made := map[string]bigtable.Filter{}
	for _, name := range []string{"if", "then", "else"} {
		if condition[name] != nil {
			filter, err := filterOf(condition[name].(object))
			if err != nil {
				return nil, err
			}
			made[name] = filter
		}
	}
	return bigtable.ConditionFilter(made["if"], made["then"], made["else"]), nil
}

// The client's ranges of columns and values begin closed and end open, always.
func isUsual(bounds object) bool {
	return !truth(bounds["startOpen"]) && !truth(bounds["endClosed"])
}

func rangeFilterOf(name string, bounds object) (bigtable.Filter, error) {
	if !isUsual(bounds) {
		return nil, lacks("ranges in filters other than closed, open")
	}
	if name == "columnRange" {
		return bigtable.ColumnRangeFilter(text(bounds["family"]), string(bytesOf(bounds["start"])),
			string(bytesOf(bounds["end"]))), nil
	}
	return bigtable.ValueRangeFilter(bytesOf(bounds["start"]), bytesOf(bounds["end"])), nil
}

// filterOf makes the client's filter of one of the scenario, which has one name in it.
func filterOf(filter object) (bigtable.Filter, error) {
	for name, value := range filter {
		switch name {
		case "chain", "interleave":
			parts, err := filtersOf(value)
			if err != nil {
				return nil, err
			}
			if name == "chain" {
				return bigtable.ChainFilters(parts...), nil
			}
			return bigtable.InterleaveFilters(parts...), nil
		case "condition":
			return conditionOf(value.(object))
		case "columnRange", "valueRange":
			return rangeFilterOf(name, value.(object))
		case "timestampRange":
			bounds := value.(object)
			return bigtable.TimestampRangeFilterMicros(bigtable.Timestamp(integer(bounds["start"])),
				bigtable.Timestamp(integer(bounds["end"]))), nil
		default:
			return simpleFilterOf(name, value)
		}
	}
	return nil, lacks("an empty filter")
}

func simpleFilterOf(name string, value any) (bigtable.Filter, error) {
	switch name {
	case "rowKeyRegex":
		return bigtable.RowKeyFilter(string(bytesOf(value))), nil
	case "familyRegex":
		return bigtable.FamilyFilter(text(value)), nil
	case "qualifierRegex":
		return bigtable.ColumnFilter(string(bytesOf(value))), nil
	case "valueRegex":
		return bigtable.ValueFilter(string(bytesOf(value))), nil
	case "cellsPerRowOffset":
		return bigtable.CellsPerRowOffsetFilter(int(integer(value))), nil
	case "cellsPerRowLimit":
		return bigtable.CellsPerRowLimitFilter(int(integer(value))), nil
	case "cellsPerColumnLimit":
		return bigtable.LatestNFilter(int(integer(value))), nil
	case "stripValue":
		return bigtable.StripValueFilter(), nil
	case "sample":
		return bigtable.RowSampleFilter(fraction(value)), nil
	case "label":
		return bigtable.LabelFilter(text(value)), nil
	case "pass":
		return bigtable.PassAllFilter(), nil
	case "block":
		return bigtable.BlockAllFilter(), nil
	}
	return nil, lacks("a filter " + name)
}
