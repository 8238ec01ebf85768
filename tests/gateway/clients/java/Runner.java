import com.google.api.gax.rpc.ApiException;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.ByteString;
import io.grpc.Status;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Takes google-cloud-bigtable through the steps that come in, one a line; README.md of tests/gateway
 * says what a step is. Usage: Runner PROJECT INSTANCE, with BIGTABLE_EMULATOR_HOST set.
 */
public final class Runner {
  /** The client has no such call: that is no error. */
  static final class Lacks extends RuntimeException {
    Lacks(String what) {
      super(what);
    }
  }

  /** What does a step. */
  interface Action {
    JsonObject run(JsonObject step) throws Exception;
  }

  /** The clients of one project and instance, made when they are first needed. */
  static final class Place {
    final Map<String, Action> actions = new HashMap<>();

    Place(String name, String profile) throws Exception {
      String[] parts = name.split("/");
      actions.putAll(new Data(parts[0], parts[1], profile).actions());
      actions.putAll(new Admin(parts[0], parts[1]).actions());
    }
  }

  private static final int SHOWN_BYTES_MAX = 64;
  private static final Gson GSON = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();
  private static final Map<String, Place> PLACES = new HashMap<>();

  private Runner() {}

  // --- JSON ---------------------------------------------------------------------------------------

  static ByteString bytesOf(JsonElement given) {
    if (given.isJsonPrimitive()) {
      return ByteString.copyFrom(HexFormat.of().parseHex(given.getAsString()));
    }
    JsonObject repeated = given.getAsJsonObject();
    byte[] piece = HexFormat.of().parseHex(repeated.get("hex").getAsString());
    int times = repeated.get("times").getAsInt();
    byte[] all = new byte[piece.length * times];
    for (int i = 0; i < times; i++) {
      System.arraycopy(piece, 0, all, i * piece.length, piece.length);
    }
    return ByteString.copyFrom(all);
  }

  static String shown(ByteString data) throws Exception {
    if (data.size() <= SHOWN_BYTES_MAX) {
      return HexFormat.of().formatHex(data.toByteArray());
    }
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(data.toByteArray());
    return "sha256:" + HexFormat.of().formatHex(digest) + ":" + data.size();
  }

  static String text(JsonObject step, String name) {
    return step.has(name) ? step.get(name).getAsString() : "";
  }

  static boolean truth(JsonObject step, String name) {
    return step.has(name) && step.get(name).getAsBoolean();
  }

  static long number(JsonObject step, String name) {
    return step.has(name) ? step.get(name).getAsLong() : 0;
  }

  static JsonArray list(JsonObject step, String name) {
    return step.has(name) ? step.getAsJsonArray(name) : new JsonArray();
  }

  // --- outcomes -----------------------------------------------------------------------------------

  /** As results have it; null for an error that no server gave. */
  static JsonObject errorOf(Throwable error) {
    for (Throwable each = error; each != null; each = each.getCause()) {
      if (each instanceof ApiException) {
        String code = ((ApiException) each).getStatusCode().getCode().name();
        return errorObject(code, each.getMessage());
      }
      Status status = Status.fromThrowable(each);
      if (each instanceof io.grpc.StatusRuntimeException || each instanceof io.grpc.StatusException) {
        return errorObject(status.getCode().name(), status.getDescription());
      }
    }
    return null;
  }

  private static JsonObject errorObject(String code, String text) {
    JsonObject made = new JsonObject();
    made.addProperty("code", code);
    made.addProperty("text", text == null ? "" : text);
    return made;
  }

  private static JsonObject outcomeOf(JsonObject step, String place) {
    JsonObject outcome = new JsonObject();
    outcome.add("step", step.get("step"));
    try {
      String name = step.has("in") ? text(step, "in") : place;
      String profile = text(step, "through");
      String key = name + " " + profile;
      if (!PLACES.containsKey(key)) {
        PLACES.put(key, new Place(name, profile));
      }
      Action action = PLACES.get(key).actions.get(text(step, "do"));
      if (action == null) {
        throw new Lacks(text(step, "do"));
      }
      outcome.add("result", action.run(step));
    } catch (Lacks lack) {
      outcome.addProperty("lacks", lack.getMessage());
    } catch (Throwable error) { // the client's own refusals have many classes
      JsonObject said = errorOf(error);
      if (said != null) {
        outcome.add("error", said);
      } else {
        StringWriter trace = new StringWriter();
        error.printStackTrace(new PrintWriter(trace));
        String all = trace.toString();
        outcome.addProperty("refused", all.substring(0, Math.min(600, all.length())));
      }
    }
    return outcome;
  }

  public static void main(String[] arguments) throws Exception {
    Logger.getLogger("").setLevel(Level.WARNING);
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setOut(System.err); // what libraries print is not for the driver
    String place = arguments[0] + "/" + arguments[1];
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      JsonObject step = JsonParser.parseString(line).getAsJsonObject();
      out.println(GSON.toJson(outcomeOf(step, place)));
    }
    System.exit(0);
  }
}
