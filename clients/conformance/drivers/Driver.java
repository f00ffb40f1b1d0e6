import com.sun.net.httpserver.HttpsServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.regex.Pattern;

/** The driver of examples/java/HandoverFollow.java. The commands and answers are in ../README.md. */
public final class Driver {
  /** One client for the whole life of the program. */
  private static HttpClient client;

  /** A field of a flat JSON object whose texts need no escape. */
  private static String field(String line, String name) {
    var found = Pattern.compile("\"" + name + "\":\"?([^\",}]*)").matcher(line);
    return found.find() ? found.group(1) : "";
  }

  public static void main(String[] arguments) throws Exception {
    var lines = new BufferedReader(new InputStreamReader(System.in));
    for (var line = lines.readLine(); line != null; line = lines.readLine()) {
      String answer;
      try {
        answer = "\"ok\":true" + (field(line, "do").equals("open") ? opened(line) : dialled(field(line, "port")));
      } catch (HandoverFollow.Refused refused) {
        answer = "\"ok\":false,\"code\":\"" + refused.code + "\"";
      } catch (IOException refused) {
        answer = "\"ok\":false";
      }
      System.out.println("{\"id\":" + field(line, "id") + "," + answer + "}");
    }
  }

  private static String opened(String line) throws Exception {
    var poll = Duration.ofMillis(Long.parseLong(field(line, "pollMs")));
    var mesh = HandoverFollow.open(Path.of(field(line, "dir")), poll);
    client = HttpClient.newBuilder().sslContext(mesh.context()).connectTimeout(Duration.ofSeconds(10)).build();
    var server = HttpsServer.create(new InetSocketAddress("127.0.0.1", 0), 16);
    server.setHttpsConfigurator(new Server.Mutual(mesh.context()));
    server.setExecutor(Executors.newCachedThreadPool());
    server.createContext("/", exchange -> {
      try (exchange) {
        exchange.sendResponseHeaders(200, 5);
        exchange.getResponseBody().write("hello".getBytes());
      }
    });
    server.start();
    var status = mesh.serveStatus(new InetSocketAddress("127.0.0.1", 0));
    return ",\"status\":" + status + ",\"server\":" + server.getAddress().getPort();
  }

  private static String dialled(String port) throws IOException {
    try {
      client.send(HttpRequest.newBuilder(URI.create("https://localhost:" + port + "/")).build(), BodyHandlers.discarding());
      return "";
    } catch (InterruptedException ended) {
      throw new IOException(ended);
    }
  }
}
