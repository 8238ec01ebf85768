import com.google.api.gax.grpc.GrpcCallContext;
import com.google.api.gax.rpc.ApiCallContext;
import com.google.api.gax.rpc.ServerStream;
import com.google.cloud.bigtable.data.v2.BigtableDataClient;
import com.google.cloud.bigtable.data.v2.BigtableDataSettings;
import com.google.cloud.bigtable.data.v2.models.BulkMutation;
import com.google.cloud.bigtable.data.v2.models.ConditionalRowMutation;
import com.google.cloud.bigtable.data.v2.models.KeyOffset;
import com.google.cloud.bigtable.data.v2.models.MutateRowsException;
import com.google.cloud.bigtable.data.v2.models.Mutation;
import com.google.cloud.bigtable.data.v2.models.MutationApi;
import com.google.cloud.bigtable.data.v2.models.Query;
import com.google.cloud.bigtable.data.v2.models.Range.ByteStringRange;
import com.google.cloud.bigtable.data.v2.models.Range.TimestampRange;
import com.google.cloud.bigtable.data.v2.models.ReadModifyWriteRow;
import com.google.cloud.bigtable.data.v2.models.Row;
import com.google.cloud.bigtable.data.v2.models.RowCell;
import com.google.cloud.bigtable.data.v2.models.RowMutation;
import com.google.cloud.bigtable.data.v2.models.RowMutationEntry;
import com.google.cloud.bigtable.data.v2.models.TableId;
import com.google.cloud.bigtable.data.v2.models.Value;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import com.google.zetasketch.HyperLogLogPlusPlus;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Data calls, by BigtableDataClient. */
final class Data {
  private final BigtableDataClient client;

  Data(String project, String instance, String profile) throws Exception {
    BigtableDataSettings.Builder settings =
        BigtableDataSettings.newBuilder().setProjectId(project).setInstanceId(instance);
    if (!profile.isEmpty()) {
      settings.setAppProfileId(profile);
    }
    client = BigtableDataClient.create(settings.build());
  }

  Map<String, Runner.Action> actions() {
    Map<String, Runner.Action> made = new HashMap<>();
    made.put("mutateRow", this::mutateRow);
    made.put("mutateRows", this::mutateRows);
    made.put("checkAndMutate", this::checkAndMutate);
    made.put("readModifyWrite", this::readModifyWrite);
    made.put("readRow", this::readRow);
    made.put("readRows", this::readRows);
    made.put("readSome", this::readSome);
    made.put("sampleRowKeys", this::sampleRowKeys);
    made.put("hllCount", this::hllCount);
    made.put("hllMerge", this::hllMerge);
    made.put("ping", step -> {
      throw new Runner.Lacks("PingAndWarm by itself: the client sends it when it connects");
    });
    return made;
  }

  private static TableId table(JsonObject step) {
    return TableId.of(Runner.text(step, "table"));
  }

  private static ByteString row(JsonObject step) {
    return Runner.bytesOf(step.get("row"));
  }

  // --- writing ------------------------------------------------------------------------------------

  private static <T extends MutationApi<T>> T fill(T into, JsonArray mutations) {
    for (JsonElement each : mutations) {
      String kind = each.getAsJsonObject().keySet().iterator().next();
      add(into, kind, each.getAsJsonObject().getAsJsonObject(kind));
    }
    return into;
  }

  private static <T extends MutationApi<T>> void add(T into, String kind, JsonObject m) {
    String family = Runner.text(m, "family");
    ByteString qualifier = m.has("qualifier") ? Runner.bytesOf(m.get("qualifier")) : ByteString.EMPTY;
    long timestamp = Runner.number(m, "timestamp");
    switch (kind) {
      case "set":
        if (timestamp == -1) {
          throw new Runner.Lacks("the server's time");
        }
        into.setCell(family, qualifier, timestamp, Runner.bytesOf(m.get("value")));
        break;
      case "add":
        if (m.has("bytes")) {
          into.addToCell(family, Value.rawValue(qualifier), Value.rawTimestamp(timestamp),
              Value.rawValue(Runner.bytesOf(m.get("bytes"))));
        } else {
          into.addToCell(family, qualifier, timestamp, Runner.number(m, "input"));
        }
        break;
      case "merge":
        into.mergeToCell(family, qualifier, timestamp, Runner.bytesOf(m.get("state")));
        break;
      case "deleteColumn":
        if (m.has("start") || m.has("end")) {
          into.deleteCells(family, qualifier,
              TimestampRange.create(Runner.number(m, "start"), Runner.number(m, "end")));
        } else {
          into.deleteCells(family, qualifier);
        }
        break;
      case "deleteFamily":
        into.deleteFamily(family);
        break;
      default:
        into.deleteRow();
    }
  }

  private JsonObject mutateRow(JsonObject step) {
    client.mutateRow(fill(RowMutation.create(table(step), row(step)), Runner.list(step, "mutations")));
    return new JsonObject();
  }

  private JsonObject mutateRows(JsonObject step) {
    BulkMutation bulk = BulkMutation.create(table(step));
    for (JsonElement each : Runner.list(step, "entries")) {
      JsonObject entry = each.getAsJsonObject();
      bulk.add(fill(RowMutationEntry.create(row(entry)), Runner.list(entry, "mutations")));
    }
    JsonArray failures = new JsonArray();
    try {
      client.bulkMutateRows(bulk);
    } catch (MutateRowsException partial) {
      partial.getFailedMutations().stream()
          .sorted(Comparator.comparingInt(MutateRowsException.FailedMutation::getIndex))
          .forEach(failed -> {
            JsonObject made = Runner.errorOf(failed.getError());
            made.addProperty("index", failed.getIndex());
            failures.add(made);
          });
    }
    JsonObject result = new JsonObject();
    result.add("failures", failures);
    return result;
  }

  private JsonObject checkAndMutate(JsonObject step) {
    ConditionalRowMutation mutation = ConditionalRowMutation.create(table(step), row(step));
    if (step.has("predicate")) {
      mutation.condition(Filter.of(step.getAsJsonObject("predicate")));
    }
    if (step.has("then")) {
      mutation.then(fill(Mutation.create(), step.getAsJsonArray("then")));
    }
    if (step.has("otherwise")) {
      mutation.otherwise(fill(Mutation.create(), step.getAsJsonArray("otherwise")));
    }
    JsonObject result = new JsonObject();
    result.addProperty("matched", client.checkAndMutateRow(mutation));
    return result;
  }

  private JsonObject readModifyWrite(JsonObject step) throws Exception {
    ReadModifyWriteRow rules = ReadModifyWriteRow.create(table(step), row(step));
    for (JsonElement each : Runner.list(step, "rules")) {
      JsonObject rule = each.getAsJsonObject();
      ByteString qualifier = Runner.bytesOf(rule.get("qualifier"));
      if (rule.has("append")) {
        rules.append(Runner.text(rule, "family"), qualifier, Runner.bytesOf(rule.get("append")));
      } else {
        rules.increment(Runner.text(rule, "family"), qualifier, Runner.number(rule, "increment"));
      }
    }
    return resultOfRow(client.readModifyWriteRow(rules));
  }

  // --- reading ------------------------------------------------------------------------------------

  private static JsonObject shown(Row row) throws Exception {
    JsonArray cells = new JsonArray();
    for (RowCell cell : row.getCells()) {
      JsonArray made = new JsonArray();
      made.add(cell.getFamily());
      made.add(Runner.shown(cell.getQualifier()));
      made.add(cell.getTimestamp());
      made.add(Runner.shown(cell.getValue()));
      if (!cell.getLabels().isEmpty()) {
        JsonArray labels = new JsonArray();
        cell.getLabels().forEach(labels::add);
        made.add(labels);
      }
      cells.add(made);
    }
    JsonObject made = new JsonObject();
    made.addProperty("row", Runner.shown(row.getKey()));
    made.add("cells", cells);
    return made;
  }

  private static JsonObject resultOfRow(Row row) throws Exception {
    JsonObject result = new JsonObject();
    result.add("row", row == null ? JsonNull.INSTANCE : shown(row));
    return result;
  }

  private static ByteStringRange range(JsonObject bounds) {
    ByteStringRange made = ByteStringRange.unbounded();
    if (bounds.has("start")) {
      ByteString start = Runner.bytesOf(bounds.get("start"));
      made = Runner.truth(bounds, "startOpen") ? made.startOpen(start) : made.startClosed(start);
    }
    if (bounds.has("end")) {
      ByteString end = Runner.bytesOf(bounds.get("end"));
      made = Runner.truth(bounds, "endClosed") ? made.endClosed(end) : made.endOpen(end);
    }
    return made;
  }

  private static Query query(JsonObject step) {
    if (Runner.truth(step, "stats")) {
      throw new Runner.Lacks("statistics of a read");
    }
    Query made = Query.create(table(step));
    Runner.list(step, "keys").forEach(key -> made.rowKey(Runner.bytesOf(key)));
    Runner.list(step, "ranges").forEach(bounds -> made.range(range(bounds.getAsJsonObject())));
    Runner.list(step, "prefixes").forEach(prefix -> made.prefix(Runner.bytesOf(prefix)));
    if (step.has("filter")) {
      made.filter(Filter.of(step.getAsJsonObject("filter")));
    }
    if (step.has("limit")) {
      made.limit(Runner.number(step, "limit"));
    }
    if (Runner.truth(step, "reversed")) {
      made.reversed(true);
    }
    return made;
  }

  private ServerStream<Row> stream(JsonObject step) {
    if (!step.has("deadlineMs")) {
      return client.readRows(query(step));
    }
    ApiCallContext context = GrpcCallContext.createDefault()
        .withTimeoutDuration(Duration.ofMillis(Runner.number(step, "deadlineMs")))
        .withRetryableCodes(Set.of());
    return client.readRowsCallable().call(query(step), context);
  }

  private JsonObject readRows(JsonObject step) throws Exception {
    JsonArray rows = new JsonArray();
    for (Row row : stream(step)) {
      rows.add(shown(row));
    }
    JsonObject result = new JsonObject();
    result.add("rows", rows);
    return result;
  }

  private Row readOne(JsonObject step) {
    if (step.has("filter")) {
      return client.readRow(table(step), row(step), Filter.of(step.getAsJsonObject("filter")));
    }
    return client.readRow(table(step), row(step));
  }

  private JsonObject readRow(JsonObject step) throws Exception {
    return resultOfRow(readOne(step));
  }

  /** Some rows, then the stream is cancelled. */
  private JsonObject readSome(JsonObject step) {
    ServerStream<Row> rows = client.readRows(Query.create(table(step)));
    long count = 0;
    for (Row row : rows) {
      count += row.getCells().isEmpty() ? 0 : 1;
      if (count == Runner.number(step, "count")) {
        rows.cancel();
        break;
      }
    }
    JsonObject result = new JsonObject();
    result.addProperty("count", count);
    return result;
  }

  private JsonObject sampleRowKeys(JsonObject step) throws Exception {
    List<KeyOffset> samples = client.sampleRowKeys(table(step));
    JsonArray keys = new JsonArray();
    for (KeyOffset sample : samples) {
      if (!sample.getKey().isEmpty()) {
        keys.add(Runner.shown(sample.getKey()));
      }
    }
    List<Long> offsets =
        samples.stream().map(KeyOffset::getOffsetBytes).collect(Collectors.toList());
    JsonObject result = new JsonObject();
    result.add("keys", keys);
    result.addProperty("ascending", offsets.stream().sorted().toList().equals(offsets));
    return result;
  }

  /** The cell's sketch in the eyes of Google's own library. */
  private JsonObject hllCount(JsonObject step) {
    Row row = client.readRow(table(step), row(step));
    List<RowCell> cells =
        row.getCells(Runner.text(step, "family"), Runner.bytesOf(step.get("qualifier")));
    JsonObject result = new JsonObject();
    result.addProperty("count",
        HyperLogLogPlusPlus.forProto(cells.get(0).getValue().toByteArray()).result());
    return result;
  }

  /** A sketch of numbers that Google's own library makes, merged into the cell. */
  private JsonObject hllMerge(JsonObject step) {
    HyperLogLogPlusPlus<Long> sketch = new HyperLogLogPlusPlus.Builder().buildForLongs();
    for (long i = Runner.number(step, "from"); i <= Runner.number(step, "to"); i++) {
      sketch.add(i);
    }
    client.mutateRow(RowMutation.create(table(step), row(step)).mergeToCell(
        Runner.text(step, "family"), Runner.bytesOf(step.get("qualifier")),
        Runner.number(step, "timestamp"), ByteString.copyFrom(sketch.serializeToByteArray())));
    return new JsonObject();
  }
}
