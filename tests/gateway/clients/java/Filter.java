import static com.google.cloud.bigtable.data.v2.models.Filters.FILTERS;

import com.google.cloud.bigtable.data.v2.models.Filters;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

/** A filter of the scenario, which has one name in it, as the client's DSL writes it. */
final class Filter {
  private Filter() {}

  static Filters.Filter of(JsonObject filter) {
    String name = filter.keySet().iterator().next();
    JsonElement value = filter.get(name);
    switch (name) {
      case "chain":
        Filters.ChainFilter chain = FILTERS.chain();
        value.getAsJsonArray().forEach(each -> chain.filter(of(each.getAsJsonObject())));
        return chain;
      case "interleave":
        Filters.InterleaveFilter interleave = FILTERS.interleave();
        value.getAsJsonArray().forEach(each -> interleave.filter(of(each.getAsJsonObject())));
        return interleave;
      case "condition":
        return condition(value.getAsJsonObject());
      case "columnRange":
        return columnRange(value.getAsJsonObject());
      case "valueRange":
        return valueRange(value.getAsJsonObject());
      case "timestampRange":
        return timestampRange(value.getAsJsonObject());
      default:
        return simple(name, value);
    }
  }

  private static Filters.Filter simple(String name, JsonElement value) {
    switch (name) {
      case "rowKeyRegex":
        return FILTERS.key().regex(Runner.bytesOf(value));
      case "familyRegex":
        return FILTERS.family().regex(value.getAsString());
      case "qualifierRegex":
        return FILTERS.qualifier().regex(Runner.bytesOf(value));
      case "valueRegex":
        return FILTERS.value().regex(Runner.bytesOf(value));
      case "cellsPerRowOffset":
        return FILTERS.offset().cellsPerRow(value.getAsInt());
      case "cellsPerRowLimit":
        return FILTERS.limit().cellsPerRow(value.getAsInt());
      case "cellsPerColumnLimit":
        return FILTERS.limit().cellsPerColumn(value.getAsInt());
      case "stripValue":
        return FILTERS.value().strip();
      case "sample":
        return FILTERS.key().sample(value.getAsDouble());
      case "label":
        return FILTERS.label(value.getAsString());
      case "sink":
        return FILTERS.sink();
      case "pass":
        return FILTERS.pass();
      case "block":
        return FILTERS.block();
      default:
        throw new Runner.Lacks("a filter " + name);
    }
  }

  private static Filters.Filter condition(JsonObject condition) {
    Filters.ConditionFilter made = FILTERS.condition(of(condition.getAsJsonObject("if")));
    if (condition.has("then")) {
      made.then(of(condition.getAsJsonObject("then")));
    }
    if (condition.has("else")) {
      made.otherwise(of(condition.getAsJsonObject("else")));
    }
    return made;
  }

  private static Filters.Filter columnRange(JsonObject bounds) {
    Filters.QualifierRangeFilter made =
        FILTERS.qualifier().rangeWithinFamily(Runner.text(bounds, "family"));
    if (bounds.has("start")) {
      made = Runner.truth(bounds, "startOpen")
          ? made.startOpen(Runner.bytesOf(bounds.get("start")))
          : made.startClosed(Runner.bytesOf(bounds.get("start")));
    }
    if (bounds.has("end")) {
      made = Runner.truth(bounds, "endClosed")
          ? made.endClosed(Runner.bytesOf(bounds.get("end")))
          : made.endOpen(Runner.bytesOf(bounds.get("end")));
    }
    return made;
  }

  private static Filters.Filter valueRange(JsonObject bounds) {
    Filters.ValueRangeFilter made = FILTERS.value().range();
    if (bounds.has("start")) {
      made = Runner.truth(bounds, "startOpen")
          ? made.startOpen(Runner.bytesOf(bounds.get("start")))
          : made.startClosed(Runner.bytesOf(bounds.get("start")));
    }
    if (bounds.has("end")) {
      made = Runner.truth(bounds, "endClosed")
          ? made.endClosed(Runner.bytesOf(bounds.get("end")))
          : made.endOpen(Runner.bytesOf(bounds.get("end")));
    }
    return made;
  }

  private static Filters.Filter timestampRange(JsonObject bounds) {
    Filters.TimestampRangeFilter made = FILTERS.timestamp().range();
    if (bounds.has("start")) {
      made = made.startClosed(Runner.number(bounds, "start"));
    }
    if (bounds.has("end")) {
      made = made.endOpen(Runner.number(bounds, "end"));
    }
    return made;
  }
}
