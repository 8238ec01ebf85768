package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/api/iterator"
)

var tableActions = map[string]action{
	"createTable": createTable, "getTable": getTable, "listTables": listTables,
	"modifyFamilies": modifyFamilies, "protectTable": protectTable, "dropRows": dropRows,
	"deleteTable": func(ctx context.Context, c *clients, step object) (object, error) {
		return object{}, c.tables.DeleteTable(ctx, text(step["table"]))
	},
	"consistency": func(ctx context.Context, c *clients, step object) (object, error) {
		err := c.tables.WaitForReplication(ctx, text(step["table"]))
		return object{"consistent": err == nil}, err
	},
}

// --- rules ------------------------------------------------------------------------------------------

func policiesOf(value any) []bigtable.GCPolicy {
	made := []bigtable.GCPolicy{}
	for _, each := range objects(value) {
		made = append(made, policyOf(each))
	}
	return made
}

func policyOf(gc object) bigtable.GCPolicy {
	switch {
	case gc == nil:
		return bigtable.NoGcPolicy()
	case gc["versions"] != nil:
		return bigtable.MaxVersionsPolicy(int(integer(gc["versions"])))
	case gc["ageSeconds"] != nil:
		return bigtable.MaxAgePolicy(time.Duration(integer(gc["ageSeconds"])) * time.Second)
	case gc["union"] != nil:
		return bigtable.UnionPolicy(policiesOf(gc["union"])...)
	}
	return bigtable.IntersectionPolicy(policiesOf(gc["intersection"])...)
}

func ruleOf(family object) object {
	gc, _ := family["gc"].(object)
	return gc
}

// endOfTerm is where "versions() > 5" ends: before what joins it to another, or a bracket that is not its own.
func endOfTerm(rule string) int {
	for i := range rule {
		if strings.HasPrefix(rule[i:], " && ") || strings.HasPrefix(rule[i:], " || ") ||
			(rule[i] == ')' && (i == 0 || rule[i-1] != '(')) {
			return i
		}
	}
	return len(rule)
}

// parsed reads a rule as the client prints it, "(versions() > 5 || age() > 30d)", from its front.
func parsed(rule *string) any {
	if strings.HasPrefix(*rule, "(") {
		*rule = (*rule)[1:]
		parts := []any{parsed(rule)}
		kind := "union"
		for !strings.HasPrefix(*rule, ")") && *rule != "" {
			if strings.HasPrefix(*rule, " && ") {
				kind = "intersection"
			}
			*rule = (*rule)[len(" && "):]
			parts = append(parts, parsed(rule))
		}
		*rule = strings.TrimPrefix(*rule, ")")
		return object{kind: parts}
	}
	end := endOfTerm(*rule)
	word := (*rule)[:end]
	*rule = (*rule)[end:]
	if number, found := strings.CutPrefix(word, "versions() > "); found {
		versions, _ := strconv.Atoi(number)
		return object{"versions": versions}
	}
	if age, found := strings.CutPrefix(word, "age() > "); found {
		return object{"ageSeconds": seconds(age)}
	}
	return nil
}

// seconds of "10d", "36h", "5m", or of a number of microseconds.
func seconds(age string) int64 {
	units := map[string]int64{"d": 86400, "h": 3600, "m": 60}
	for suffix, unit := range units {
		if number, found := strings.CutSuffix(age, suffix); found {
			made, _ := strconv.ParseInt(number, 10, 64)
			return made * unit
		}
	}
	made, _ := strconv.ParseInt(age, 10, 64)
	return made / 1000000
}

// --- types ------------------------------------------------------------------------------------------

func typeOf(name string) bigtable.Type {
	aggregators := map[string]bigtable.Aggregator{
		"intsum": bigtable.SumAggregator{}, "intmin": bigtable.MinAggregator{},
		"intmax": bigtable.MaxAggregator{}, "inthll": bigtable.HllppUniqueCountAggregator{},
	}
	if name == "byteshll" {
		return bigtable.AggregateType{
			Input:      bigtable.BytesType{Encoding: bigtable.RawBytesEncoding{}},
			Aggregator: bigtable.HllppUniqueCountAggregator{},
		}
	}
	if aggregators[name] == nil {
		return nil
	}
	return bigtable.AggregateType{
		Input:      bigtable.Int64Type{Encoding: bigtable.BigEndianBytesEncoding{}},
		Aggregator: aggregators[name],
	}
}

func typeName(value bigtable.Type) any {
	aggregate, ok := value.(bigtable.AggregateType)
	if !ok {
		return nil
	}
	switch aggregate.Aggregator.(type) {
	case bigtable.SumAggregator:
		return "intsum"
	case bigtable.MinAggregator:
		return "intmin"
	case bigtable.MaxAggregator:
		return "intmax"
	case bigtable.HllppUniqueCountAggregator:
		if _, ok := aggregate.Input.(bigtable.BytesType); ok {
			return "byteshll"
		}
		return "inthll"
	}
	return fmt.Sprintf("%T", aggregate.Aggregator)
}

func familyOf(written object) bigtable.Family {
	return bigtable.Family{GCPolicy: policyOf(ruleOf(written)), ValueType: typeOf(text(written["type"]))}
}

// --- tables -----------------------------------------------------------------------------------------

func createTable(ctx context.Context, c *clients, step object) (object, error) {
	config := bigtable.TableConf{
		TableID: text(step["table"]), ColumnFamilies: map[string]bigtable.Family{},
	}
	for name, family := range step["families"].(object) {
		config.ColumnFamilies[name] = familyOf(family.(object))
	}
	for _, key := range list(step["splits"]) {
		config.SplitKeys = append(config.SplitKeys, string(bytesOf(key)))
	}
	if truth(step["protected"]) {
		config.DeletionProtection = bigtable.Protected
	}
	return object{}, c.tables.CreateTableFromConf(ctx, &config)
}

func getTable(ctx context.Context, c *clients, step object) (object, error) {
	if step["view"] != nil {
		return nil, lacks("other views of a table")
	}
	info, err := c.tables.TableInfo(ctx, text(step["table"]))
	if err != nil {
		return nil, err
	}
	families := object{}
	for _, family := range info.FamilyInfos {
		rule := family.GCPolicy
		families[family.Name] = object{"gc": parsed(&rule), "type": typeName(family.ValueType)}
	}
	return object{"protected": info.DeletionProtection == bigtable.Protected, "families": families}, nil
}

func listTables(ctx context.Context, c *clients, step object) (object, error) {
	if step["pageSize"] != nil {
		return nil, lacks("the size of pages")
	}
	tables, err := c.tables.Tables(ctx)
	sort.Strings(tables)
	if tables == nil {
		tables = []string{}
	}
	return object{"tables": tables}, err
}

func modifyFamilies(ctx context.Context, c *clients, step object) (object, error) {
	changes := objects(step["modifications"])
	if len(changes) != 1 {
		return nil, lacks("changes of several families in one call")
	}
	table, change := text(step["table"]), changes[0]
	if name := text(change["create"]); name != "" {
		return object{}, c.tables.CreateColumnFamilyWithConfig(ctx, table, name, familyOf(change))
	}
	if name := text(change["update"]); name != "" {
		return object{}, c.tables.SetGCPolicy(ctx, table, name, policyOf(ruleOf(change)))
	}
	return object{}, c.tables.DeleteColumnFamily(ctx, table, text(change["drop"]))
}

func protectTable(ctx context.Context, c *clients, step object) (object, error) {
	protection := bigtable.Unprotected
	if truth(step["protected"]) {
		protection = bigtable.Protected
	}
	return object{}, c.tables.UpdateTableWithDeletionProtection(ctx, text(step["table"]), protection)
}

func dropRows(ctx context.Context, c *clients, step object) (object, error) {
	if truth(step["all"]) {
		return object{}, c.tables.DropAllRows(ctx, text(step["table"]))
	}
	return object{}, c.tables.DropRowRange(ctx, text(step["table"]), string(bytesOf(step["prefix"])))
}

// --- instances, clusters, profiles ------------------------------------------------------------------

var instanceActions = map[string]action{
	"createInstance": createInstance, "getInstance": getInstance, "listInstances": listInstances,
	"updateInstance": updateInstance, "createCluster": createCluster, "getCluster": getCluster,
	"listClusters": listClusters, "createProfile": createProfile, "getProfile": getProfile,
	"listProfiles": listProfiles,
	"deleteInstance": func(ctx context.Context, c *clients, step object) (object, error) {
		return object{}, c.instances.DeleteInstance(ctx, text(step["instance"]))
	},
	"updateCluster": func(ctx context.Context, c *clients, step object) (object, error) {
		return object{}, c.instances.UpdateCluster(ctx, text(step["instance"]), text(step["cluster"]),
			int32(integer(step["nodes"])))
	},
	"deleteCluster": func(ctx context.Context, c *clients, step object) (object, error) {
		return object{}, c.instances.DeleteCluster(ctx, text(step["instance"]), text(step["cluster"]))
	},
	"updateProfile": func(ctx context.Context, c *clients, step object) (object, error) {
		return object{}, c.instances.UpdateAppProfile(ctx, text(step["instance"]), text(step["profile"]),
			bigtable.ProfileAttrsToUpdate{Description: text(step["description"]), IgnoreWarnings: true})
	},
	"deleteProfile": func(ctx context.Context, c *clients, step object) (object, error) {
		return object{}, c.instances.DeleteAppProfile(ctx, text(step["instance"]), text(step["profile"]))
	},
	"hotTablets": func(context.Context, *clients, object) (object, error) {
		return nil, lacks("ListHotTablets")
	},
}

func lastPart(name string) string { return name[strings.LastIndex(name, "/")+1:] }

func createInstance(ctx context.Context, c *clients, step object) (object, error) {
	return object{}, c.instances.CreateInstance(ctx, &bigtable.InstanceConf{
		InstanceId: text(step["instance"]), DisplayName: text(step["displayName"]),
		ClusterId: text(step["cluster"]), Zone: text(step["zone"]),
		NumNodes: int32(integer(step["nodes"])), StorageType: bigtable.SSD,
		InstanceType: bigtable.PRODUCTION,
	})
}

func getInstance(ctx context.Context, c *clients, step object) (object, error) {
	info, err := c.instances.InstanceInfo(ctx, text(step["instance"]))
	if err != nil {
		return nil, err
	}
	return object{"id": lastPart(info.Name), "displayName": info.DisplayName}, nil
}

func listInstances(ctx context.Context, c *clients, _ object) (object, error) {
	infos, err := c.instances.Instances(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, info := range infos {
		names = append(names, lastPart(info.Name))
	}
	sort.Strings(names)
	return object{"instances": names}, nil
}

func updateInstance(ctx context.Context, c *clients, step object) (object, error) {
	return object{}, c.instances.UpdateInstanceWithClusters(ctx, &bigtable.InstanceWithClustersConfig{
		InstanceID: text(step["instance"]), DisplayName: text(step["displayName"]),
	})
}

func createCluster(ctx context.Context, c *clients, step object) (object, error) {
	return object{}, c.instances.CreateCluster(ctx, &bigtable.ClusterConfig{
		InstanceID: text(step["instance"]), ClusterID: text(step["cluster"]), Zone: text(step["zone"]),
		NumNodes: int32(integer(step["nodes"])), StorageType: bigtable.SSD,
	})
}

func getCluster(ctx context.Context, c *clients, step object) (object, error) {
	info, err := c.instances.GetCluster(ctx, text(step["instance"]), text(step["cluster"]))
	if err != nil {
		return nil, err
	}
	return object{"id": lastPart(info.Name), "nodes": info.ServeNodes}, nil
}

func listClusters(ctx context.Context, c *clients, step object) (object, error) {
	infos, err := c.instances.Clusters(ctx, text(step["instance"]))
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, info := range infos {
		names = append(names, lastPart(info.Name))
	}
	sort.Strings(names)
	return object{"clusters": names}, nil
}

func createProfile(ctx context.Context, c *clients, step object) (object, error) {
	config := bigtable.ProfileConf{
		ProfileID: text(step["profile"]), InstanceID: text(step["instance"]),
		Description: text(step["description"]), RoutingPolicy: bigtable.MultiClusterRouting,
		IgnoreWarnings: true,
	}
	if routing, ok := step["routing"].(object); ok {
		config.RoutingPolicy = bigtable.SingleClusterRouting
		config.ClusterID = text(routing["cluster"])
		config.AllowTransactionalWrites = truth(routing["transactions"])
	}
	_, err := c.instances.CreateAppProfile(ctx, config)
	return object{}, err
}

func getProfile(ctx context.Context, c *clients, step object) (object, error) {
	profile, err := c.instances.GetAppProfile(ctx, text(step["instance"]), text(step["profile"]))
	if err != nil {
		return nil, err
	}
	var routing any = "any"
	if single := profile.GetSingleClusterRouting(); single != nil {
		routing = object{
			"cluster": single.GetClusterId(), "transactions": single.GetAllowTransactionalWrites(),
		}
	}
	return object{
		"id": lastPart(profile.GetName()), "description": profile.GetDescription(), "routing": routing,
	}, nil
}

func listProfiles(ctx context.Context, c *clients, step object) (object, error) {
	names := []string{}
	profiles := c.instances.ListAppProfiles(ctx, text(step["instance"]))
	for {
		profile, err := profiles.Next()
		if errors.Is(err, iterator.Done) {
			sort.Strings(names)
			return object{"profiles": names}, nil
		}
		if err != nil {
			return nil, err
		}
		names = append(names, lastPart(profile.GetName()))
	}
}
