import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import javax.net.ssl.SSLContext;

/** An HTTPS server that follows its files: java Server FOLDER */
public final class Server {
  public static void main(String[] arguments) throws Exception {
    var mesh = HandoverFollow.open(Path.of(arguments[0]), Duration.ofSeconds(1)); // tls.crt, tls.key, ca.crt
    mesh.serveStatus(new InetSocketAddress("127.0.0.1", 9464));

    var server = HttpsServer.create(new InetSocketAddress("127.0.0.1", 8443), 16);
    server.setHttpsConfigurator(new Mutual(mesh.context()));
    server.createContext("/", exchange -> {
      try (exchange) {
        exchange.sendResponseHeaders(200, 6);
        exchange.getResponseBody().write("hello\n".getBytes());
      }
    });
    server.start();
    System.out.println("listening on 8443");
  }

  /** Clients must show a certificate of the bundle. */
  public static final class Mutual extends HttpsConfigurator {
    public Mutual(SSLContext context) {
      super(context);
    }

    @Override
    public void configure(HttpsParameters parameters) {
      var tls = getSSLContext().getDefaultSSLParameters();
      tls.setNeedClientAuth(true);
      parameters.setSSLParameters(tls);
    }
  }
}
