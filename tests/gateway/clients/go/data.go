package main

import (
	"context"
	"encoding/json"

	"cloud.google.com/go/bigtable"
)

var dataActions = map[string]action{
	"mutateRow": mutateRow, "mutateRows": mutateRows, "checkAndMutate": checkAndMutate,
	"readModifyWrite": readModifyWrite, "readRow": readRow, "readRows": readRows,
	"readSome": readSome, "sampleRowKeys": sampleRowKeys,
	"ping": func(ctx context.Context, c *clients, _ object) (object, error) {
		return object{}, c.data.PingAndWarm(ctx)
	},
	"hllCount": sketches, "hllMerge": sketches,
}

func sketches(context.Context, *clients, object) (object, error) {
	return nil, lacks("a library of sketches")
}

func fraction(value any) float64 {
	made, err := value.(json.Number).Float64()
	if err != nil {
		panic(err)
	}
	return made
}

// --- writing ----------------------------------------------------------------------------------------

func addMutation(into *bigtable.Mutation, kind string, m object) {
	family, qualifier := text(m["family"]), string(bytesOf(m["qualifier"]))
	at := bigtable.Timestamp(integer(m["timestamp"]))
	switch kind {
	case "set":
		into.Set(family, qualifier, at, bytesOf(m["value"]))
	case "add":
		if m["bytes"] != nil {
			panic(lacks("AddToCell of bytes"))
		}
		into.AddIntToCell(family, qualifier, at, integer(m["input"]))
	case "merge":
		into.MergeBytesToCell(family, qualifier, at, bytesOf(m["state"]))
	case "deleteColumn":
		if m["start"] == nil && m["end"] == nil {
			into.DeleteCellsInColumn(family, qualifier)
		} else {
			into.DeleteTimestampRange(family, qualifier, bigtable.Timestamp(integer(m["start"])),
				bigtable.Timestamp(integer(m["end"])))
		}
	case "deleteFamily":
		into.DeleteCellsInFamily(family)
	case "deleteRow":
		into.DeleteRow()
	}
}

func mutationOf(written any) *bigtable.Mutation {
	made := bigtable.NewMutation()
	for _, each := range objects(written) {
		for kind, m := range each {
			addMutation(made, kind, m.(object))
		}
	}
	return made
}

func tableOf(c *clients, step object) *bigtable.Table {
	return c.data.Open(text(step["table"]))
}

func keyOf(step object) string { return string(bytesOf(step["row"])) }

func mutateRow(ctx context.Context, c *clients, step object) (object, error) {
	return object{}, tableOf(c, step).Apply(ctx, keyOf(step), mutationOf(step["mutations"]))
}

func mutateRows(ctx context.Context, c *clients, step object) (object, error) {
	keys := []string{}
	mutations := []*bigtable.Mutation{}
	for _, entry := range objects(step["entries"]) {
		keys = append(keys, keyOf(entry))
		mutations = append(mutations, mutationOf(entry["mutations"]))
	}
	each, err := tableOf(c, step).ApplyBulk(ctx, keys, mutations)
	if err != nil {
		return nil, err
	}
	failures := []any{}
	for i, fault := range each {
		if fault == nil {
			continue
		}
		made, ok := errorOf(fault)
		if !ok {
			return nil, fault
		}
		made["index"] = i
		failures = append(failures, made)
	}
	return object{"failures": failures}, nil
}

func checkAndMutate(ctx context.Context, c *clients, step object) (object, error) {
	var predicate bigtable.Filter
	if step["predicate"] != nil {
		made, err := filterOf(step["predicate"].(object))
		if err != nil {
			return nil, err
		}
		predicate = made
	}
	var then, otherwise *bigtable.Mutation
	if step["then"] != nil {
		then = mutationOf(step["then"])
	}
	if step["otherwise"] != nil {
		otherwise = mutationOf(step["otherwise"])
	}
	matched := false
	err := tableOf(c, step).Apply(ctx, keyOf(step),
		bigtable.NewCondMutation(predicate, then, otherwise),
		bigtable.GetCondMutationResult(&matched))
	return object{"matched": matched}, err
}

func readModifyWrite(ctx context.Context, c *clients, step object) (object, error) {
	rules := bigtable.NewReadModifyWrite()
	for _, rule := range objects(step["rules"]) {
		family, qualifier := text(rule["family"]), string(bytesOf(rule["qualifier"]))
		if rule["append"] != nil {
			rules.AppendValue(family, qualifier, bytesOf(rule["append"]))
		} else {
			rules.Increment(family, qualifier, integer(rule["increment"]))
		}
	}
	row, err := tableOf(c, step).ApplyReadModifyWrite(ctx, keyOf(step), rules)
	if err != nil {
		return nil, err
	}
	return object{"row": shownRow(keyOf(step), row)}, nil
}

// --- reading ----------------------------------------------------------------------------------------

func shownRow(key string, row bigtable.Row) object {
	cells := []any{}
	for family, items := range row {
		for _, item := range items {
			qualifier := item.Column[len(family)+1:] // the client puts the family in front
			cell := []any{family, shown([]byte(qualifier)), int64(item.Timestamp), shown(item.Value)}
			if len(item.Labels) > 0 {
				cell = append(cell, item.Labels)
			}
			cells = append(cells, cell)
		}
	}
	return object{"row": shown([]byte(key)), "cells": cells}
}

func rangeOf(bounds object) bigtable.RowRange {
	start, end := string(bytesOf(bounds["start"])), string(bytesOf(bounds["end"]))
	startOpen, endClosed := truth(bounds["startOpen"]), truth(bounds["endClosed"])
	switch {
	case bounds["end"] == nil && !startOpen:
		return bigtable.InfiniteRange(start)
	case bounds["start"] == nil && endClosed:
		return bigtable.InfiniteReverseRange(end)
	case startOpen && endClosed:
		return bigtable.NewOpenClosedRange(start, end)
	case startOpen:
		return bigtable.NewOpenRange(start, end)
	case endClosed:
		return bigtable.NewClosedRange(start, end)
	}
	return bigtable.NewClosedOpenRange(start, end)
}

func rowSetOf(step object) (bigtable.RowSet, error) {
	keys, prefixes := list(step["keys"]), list(step["prefixes"])
	ranges := bigtable.RowRangeList{}
	for _, bounds := range objects(step["ranges"]) {
		ranges = append(ranges, rangeOf(bounds))
	}
	for _, prefix := range prefixes {
		ranges = append(ranges, bigtable.PrefixRange(string(bytesOf(prefix))))
	}
	switch {
	case len(keys) > 0 && len(ranges) > 0:
		return nil, lacks("keys and ranges in one read")
	case len(keys) > 0:
		made := bigtable.RowList{}
		for _, key := range keys {
			made = append(made, string(bytesOf(key)))
		}
		return made, nil
	case len(ranges) == 1:
		return ranges[0], nil
	case len(ranges) > 1:
		return ranges, nil
	}
	return bigtable.InfiniteRange(""), nil
}

func optionsOf(step object, stats *object) ([]bigtable.ReadOption, error) {
	made := []bigtable.ReadOption{}
	if step["filter"] != nil {
		filter, err := filterOf(step["filter"].(object))
		if err != nil {
			return nil, err
		}
		made = append(made, bigtable.RowFilter(filter))
	}
	if limit := integer(step["limit"]); limit > 0 {
		made = append(made, bigtable.LimitRows(limit))
	}
	if truth(step["reversed"]) {
		made = append(made, bigtable.ReverseScan())
	}
	if truth(step["stats"]) {
		made = append(made, bigtable.WithFullReadStats(func(full *bigtable.FullReadStats) {
			*stats = object{
				"rowsReturned":  full.ReadIterationStats.RowsReturnedCount,
				"cellsReturned": full.ReadIterationStats.CellsReturnedCount,
			}
		}))
	}
	return made, nil
}

func readRows(ctx context.Context, c *clients, step object) (object, error) {
	set, err := rowSetOf(step)
	if err != nil {
		return nil, err
	}
	var stats object
	options, err := optionsOf(step, &stats)
	if err != nil {
		return nil, err
	}
	rows := []any{}
	err = tableOf(c, step).ReadRows(ctx, set, func(row bigtable.Row) bool {
		rows = append(rows, shownRow(row.Key(), row))
		return true
	}, options...)
	if err != nil {
		return nil, err
	}
	result := object{"rows": rows}
	if truth(step["stats"]) {
		result["stats"] = stats
	}
	return result, nil
}

func readRow(ctx context.Context, c *clients, step object) (object, error) {
	options, err := optionsOf(step, nil)
	if err != nil {
		return nil, err
	}
	row, err := tableOf(c, step).ReadRow(ctx, keyOf(step), options...)
	if err != nil {
		return nil, err
	}
	if len(row) == 0 {
		return object{"row": nil}, nil
	}
	return object{"row": shownRow(keyOf(step), row)}, nil
}

// readSome stops after some rows: the client cancels the call.
func readSome(ctx context.Context, c *clients, step object) (object, error) {
	count := int64(0)
	err := tableOf(c, step).ReadRows(ctx, bigtable.InfiniteRange(""), func(bigtable.Row) bool {
		count++
		return count < integer(step["count"])
	})
	return object{"count": count}, err
}

func sampleRowKeys(ctx context.Context, c *clients, step object) (object, error) {
	samples, err := tableOf(c, step).SampleRowKeys(ctx)
	if err != nil {
		return nil, err
	}
	keys := []any{}
	ascending := true // the client keeps offsets to itself: of the keys
	for i, key := range samples {
		if key != "" {
			keys = append(keys, shown([]byte(key)))
		}
		ascending = ascending && (i == 0 || key == "" || samples[i-1] < key)
	}
	return object{"keys": keys, "ascending": ascending}, nil
}
