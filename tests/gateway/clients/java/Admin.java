import static com.google.cloud.bigtable.admin.v2.models.GCRules.GCRULES;

import com.google.bigtable.admin.v2.GcRule;
import com.google.cloud.bigtable.admin.v2.BigtableInstanceAdminClient;
import com.google.cloud.bigtable.admin.v2.BigtableInstanceAdminSettings;
import com.google.cloud.bigtable.admin.v2.BigtableTableAdminClient;
import com.google.cloud.bigtable.admin.v2.BigtableTableAdminSettings;
import com.google.cloud.bigtable.admin.v2.models.AppProfile;
import com.google.cloud.bigtable.admin.v2.models.AppProfile.MultiClusterRoutingPolicy;
import com.google.cloud.bigtable.admin.v2.models.AppProfile.SingleClusterRoutingPolicy;
import com.google.cloud.bigtable.admin.v2.models.Cluster;
import com.google.cloud.bigtable.admin.v2.models.ColumnFamily;
import com.google.cloud.bigtable.admin.v2.models.CreateAppProfileRequest;
import com.google.cloud.bigtable.admin.v2.models.CreateClusterRequest;
import com.google.cloud.bigtable.admin.v2.models.CreateInstanceRequest;
import com.google.cloud.bigtable.admin.v2.models.CreateTableRequest;
import com.google.cloud.bigtable.admin.v2.models.GCRules;
import com.google.cloud.bigtable.admin.v2.models.Instance;
import com.google.cloud.bigtable.admin.v2.models.ModifyColumnFamiliesRequest;
import com.google.cloud.bigtable.admin.v2.models.StorageType;
import com.google.cloud.bigtable.admin.v2.models.Table;
import com.google.cloud.bigtable.admin.v2.models.Type;
import com.google.cloud.bigtable.admin.v2.models.UpdateAppProfileRequest;
import com.google.cloud.bigtable.admin.v2.models.UpdateInstanceRequest;
import com.google.cloud.bigtable.admin.v2.models.UpdateTableRequest;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Tables by BigtableTableAdminClient; instances, clusters, profiles by BigtableInstanceAdminClient. */
final class Admin {
  private final BigtableTableAdminClient tables;
  private final BigtableInstanceAdminClient instances;

  Admin(String project, String instance) throws Exception {
    tables = BigtableTableAdminClient.create(BigtableTableAdminSettings.newBuilder()
        .setProjectId(project).setInstanceId(instance).build());
    instances = BigtableInstanceAdminClient.create(
        BigtableInstanceAdminSettings.newBuilder().setProjectId(project).build());
  }

  Map<String, Runner.Action> actions() {
    Map<String, Runner.Action> made = new HashMap<>();
    made.put("createTable", this::createTable);
    made.put("getTable", this::getTable);
    made.put("listTables", this::listTables);
    made.put("modifyFamilies", this::modifyFamilies);
    made.put("protectTable", this::protectTable);
    made.put("deleteTable", done(step -> tables.deleteTable(Runner.text(step, "table"))));
    made.put("dropRows", done(this::dropRows));
    made.put("consistency", this::consistency);
    putInstances(made);
    putProfiles(made);
    return made;
  }

  /** What gives nothing back. */
  private interface Deed {
    void run(JsonObject step) throws Exception;
  }

  private static Runner.Action done(Deed deed) {
    return step -> {
      deed.run(step);
      return new JsonObject();
    };
  }

  private static JsonObject names(String what, List<String> all) {
    JsonArray made = new JsonArray();
    all.stream().sorted().forEach(made::add);
    JsonObject result = new JsonObject();
    result.add(what, made);
    return result;
  }

  // --- rules and types ----------------------------------------------------------------------------

  private static GCRules.GCRule rule(JsonObject gc) {
    if (gc.has("versions")) {
      return GCRULES.maxVersions(gc.get("versions").getAsInt());
    }
    if (gc.has("ageSeconds")) {
      return GCRULES.maxAge(gc.get("ageSeconds").getAsLong(), TimeUnit.SECONDS);
    }
    if (gc.has("union")) {
      GCRules.UnionRule union = GCRULES.union();
      gc.getAsJsonArray("union").forEach(part -> union.rule(rule(part.getAsJsonObject())));
      return union;
    }
    GCRules.IntersectionRule both = GCRULES.intersection();
    gc.getAsJsonArray("intersection").forEach(part -> both.rule(rule(part.getAsJsonObject())));
    return both;
  }

  private static GCRules.GCRule ruleOf(JsonObject family) {
    return family.has("gc") ? rule(family.getAsJsonObject("gc")) : GCRULES.defaultRule();
  }

  private static JsonElement shown(GcRule rule) {
    JsonObject made = new JsonObject();
    switch (rule.getRuleCase()) {
      case MAX_NUM_VERSIONS:
        made.addProperty("versions", rule.getMaxNumVersions());
        return made;
      case MAX_AGE:
        made.addProperty("ageSeconds", rule.getMaxAge().getSeconds());
        return made;
      case UNION:
        made.add("union", shown(rule.getUnion().getRulesList()));
        return made;
      case INTERSECTION:
        made.add("intersection", shown(rule.getIntersection().getRulesList()));
        return made;
      default:
        return JsonNull.INSTANCE;
    }
  }

  private static JsonArray shown(List<GcRule> rules) {
    JsonArray made = new JsonArray();
    rules.forEach(rule -> made.add(shown(rule)));
    return made;
  }

  private static Type type(JsonObject family) {
    switch (Runner.text(family, "type")) {
      case "intsum":
        return Type.int64Sum();
      case "intmin":
        return Type.int64Min();
      case "intmax":
        return Type.int64Max();
      case "inthll":
        return Type.int64Hll();
      case "byteshll":
        return Type.Aggregate.create(Type.rawBytes(), Type.Aggregate.Aggregator.Hll.create());
      default:
        return Type.raw();
    }
  }

  private static String name(Type type) {
    if (!(type instanceof Type.Aggregate)) {
      return null;
    }
    Type.Aggregate aggregate = (Type.Aggregate) type;
    if (aggregate.getAggregator() instanceof Type.Aggregate.Aggregator.Sum) {
      return "intsum";
    }
    if (aggregate.getAggregator() instanceof Type.Aggregate.Aggregator.Min) {
      return "intmin";
    }
    if (aggregate.getAggregator() instanceof Type.Aggregate.Aggregator.Max) {
      return "intmax";
    }
    return aggregate.getInputType() instanceof Type.Bytes ? "byteshll" : "inthll";
  }

  // --- tables -------------------------------------------------------------------------------------

  private JsonObject createTable(JsonObject step) {
    CreateTableRequest request = CreateTableRequest.of(Runner.text(step, "table"));
    for (Map.Entry<String, JsonElement> family : step.getAsJsonObject("families").entrySet()) {
      JsonObject written = family.getValue().getAsJsonObject();
      request.addFamily(family.getKey(), ruleOf(written), type(written));
    }
    Runner.list(step, "splits").forEach(key -> request.addSplit(Runner.bytesOf(key)));
    if (Runner.truth(step, "protected")) {
      request.setDeletionProtection(true);
    }
    tables.createTable(request);
    return new JsonObject();
  }

  private JsonObject listTables(JsonObject step) {
    if (step.has("pageSize")) {
      throw new Runner.Lacks("the size of pages");
    }
    return names("tables", tables.listTables());
  }

  private JsonObject getTable(JsonObject step) {
    if (step.has("view")) {
      throw new Runner.Lacks("other views of a table");
    }
    Table table = tables.getTable(Runner.text(step, "table"));
    JsonObject families = new JsonObject();
    for (ColumnFamily family : table.getColumnFamilies()) {
      JsonObject made = new JsonObject();
      made.add("gc", shown(family.getGCRule().toProto()));
      made.addProperty("type", name(family.getValueType()));
      families.add(family.getId(), made);
    }
    JsonObject result = new JsonObject();
    result.addProperty("protected", table.isDeletionProtected());
    result.add("families", families);
    return result;
  }

  private JsonObject modifyFamilies(JsonObject step) {
    ModifyColumnFamiliesRequest request =
        ModifyColumnFamiliesRequest.of(Runner.text(step, "table"));
    for (JsonElement each : Runner.list(step, "modifications")) {
      JsonObject change = each.getAsJsonObject();
      if (change.has("create")) {
        request.addFamily(Runner.text(change, "create"), ruleOf(change), type(change));
      } else if (change.has("update")) {
        request.updateFamily(Runner.text(change, "update"), ruleOf(change));
      } else {
        request.dropFamily(Runner.text(change, "drop"));
      }
    }
    tables.modifyFamilies(request);
    return new JsonObject();
  }

  private JsonObject protectTable(JsonObject step) {
    tables.updateTable(UpdateTableRequest.of(Runner.text(step, "table"))
        .setDeletionProtection(Runner.truth(step, "protected")));
    return new JsonObject();
  }

  private void dropRows(JsonObject step) {
    if (Runner.truth(step, "all")) {
      tables.dropAllRows(Runner.text(step, "table"));
    } else {
      tables.dropRowRange(Runner.text(step, "table"), Runner.bytesOf(step.get("prefix")));
    }
  }

  private JsonObject consistency(JsonObject step) {
    tables.awaitReplication(Runner.text(step, "table"));
    JsonObject result = new JsonObject();
    result.addProperty("consistent", true);
    return result;
  }

  // --- instances and clusters -----------------------------------------------------------------------

  private void putInstances(Map<String, Runner.Action> made) {
    made.put("createInstance", done(step -> instances.createInstance(
        CreateInstanceRequest.of(Runner.text(step, "instance"))
            .setDisplayName(Runner.text(step, "displayName"))
            .addCluster(Runner.text(step, "cluster"), Runner.text(step, "zone"),
                (int) Runner.number(step, "nodes"), StorageType.SSD))));
    made.put("getInstance", this::getInstance);
    made.put("listInstances", step -> names("instances",
        instances.listInstances().stream().map(Instance::getId).collect(Collectors.toList())));
    made.put("updateInstance", done(step -> instances.updateInstance(
        UpdateInstanceRequest.of(Runner.text(step, "instance"))
            .setDisplayName(Runner.text(step, "displayName")))));
    made.put("deleteInstance",
        done(step -> instances.deleteInstance(Runner.text(step, "instance"))));
    made.put("createCluster", done(step -> instances.createCluster(
        CreateClusterRequest.of(Runner.text(step, "instance"), Runner.text(step, "cluster"))
            .setZone(Runner.text(step, "zone")).setServeNodes((int) Runner.number(step, "nodes"))
            .setStorageType(StorageType.SSD))));
    made.put("getCluster", this::getCluster);
    made.put("listClusters", step -> names("clusters",
        instances.listClusters(Runner.text(step, "instance")).stream().map(Cluster::getId)
            .collect(Collectors.toList())));
    made.put("updateCluster", done(step -> instances.resizeCluster(Runner.text(step, "instance"),
        Runner.text(step, "cluster"), (int) Runner.number(step, "nodes"))));
    made.put("deleteCluster", done(step -> instances.deleteCluster(
        Runner.text(step, "instance"), Runner.text(step, "cluster"))));
    made.put("hotTablets", step -> {
      throw new Runner.Lacks("ListHotTablets");
    });
  }

  private JsonObject getInstance(JsonObject step) {
    Instance instance = instances.getInstance(Runner.text(step, "instance"));
    JsonObject result = new JsonObject();
    result.addProperty("id", instance.getId());
    result.addProperty("displayName", instance.getDisplayName());
    return result;
  }

  private JsonObject getCluster(JsonObject step) {
    Cluster cluster =
        instances.getCluster(Runner.text(step, "instance"), Runner.text(step, "cluster"));
    JsonObject result = new JsonObject();
    result.addProperty("id", cluster.getId());
    result.addProperty("nodes", cluster.getServeNodes());
    return result;
  }

  // --- profiles -------------------------------------------------------------------------------------

  private void putProfiles(Map<String, Runner.Action> made) {
    made.put("createProfile", done(step -> instances.createAppProfile(
        CreateAppProfileRequest.of(Runner.text(step, "instance"), Runner.text(step, "profile"))
            .setDescription(Runner.text(step, "description")).setIgnoreWarnings(true)
            .setRoutingPolicy(routing(step.get("routing"))))));
    made.put("getProfile", this::getProfile);
    made.put("listProfiles", step -> names("profiles",
        instances.listAppProfiles(Runner.text(step, "instance")).stream().map(AppProfile::getId)
            .collect(Collectors.toList())));
    made.put("updateProfile", done(step -> instances.updateAppProfile(
        UpdateAppProfileRequest.of(Runner.text(step, "instance"), Runner.text(step, "profile"))
            .setDescription(Runner.text(step, "description")).setIgnoreWarnings(true))));
    made.put("deleteProfile", done(step -> instances.deleteAppProfile(
        Runner.text(step, "instance"), Runner.text(step, "profile"), true)));
  }

  private static AppProfile.RoutingPolicy routing(JsonElement written) {
    if (written.isJsonPrimitive()) {
      return MultiClusterRoutingPolicy.of();
    }
    JsonObject single = written.getAsJsonObject();
    return SingleClusterRoutingPolicy.of(
        Runner.text(single, "cluster"), Runner.truth(single, "transactions"));
  }

  private JsonObject getProfile(JsonObject step) {
    AppProfile profile =
        instances.getAppProfile(Runner.text(step, "instance"), Runner.text(step, "profile"));
    JsonObject result = new JsonObject();
    result.addProperty("id", profile.getId());
    result.addProperty("description", profile.getDescription());
    if (profile.getPolicy() instanceof SingleClusterRoutingPolicy) {
      SingleClusterRoutingPolicy single = (SingleClusterRoutingPolicy) profile.getPolicy();
      JsonObject routing = new JsonObject();
      routing.addProperty("cluster", single.getClusterId());
      routing.addProperty("transactions", single.getAllowTransactionalWrites());
      result.add("routing", routing);
    } else {
      result.addProperty("routing", "any");
    }
    return result;
  }
}
