// What Java's TLS would say: its PKIX trust manager on each case folder named on stdin, one JSON line each.
// Contract: ../../src/judges.ts.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

public class Judge {
  static X509Certificate[] certificates(Path file) throws Exception {
    try (var in = Files.newInputStream(file)) {
      return CertificateFactory.getInstance("X.509").generateCertificates(in).toArray(new X509Certificate[0]);
    }
  }

  static String judge(Path folder, boolean asServer) {
    try {
      var chain = certificates(folder.resolve("chain.pem"));
      var store = KeyStore.getInstance(KeyStore.getDefaultType());
      store.load(null, null);
      var number = 0;
      for (var anchor : certificates(folder.resolve("bundle.pem"))) {
        store.setCertificateEntry("anchor " + number++, anchor);
      }
      var factory = TrustManagerFactory.getInstance("PKIX");
      factory.init(store);
      var trust = (X509TrustManager) factory.getTrustManagers()[0];
      // As TLS 1.3 calls it: "UNKNOWN" for a server, the key's algorithm for a client.
      if (asServer) trust.checkServerTrusted(chain, "UNKNOWN");
      else trust.checkClientTrusted(chain, chain[0].getPublicKey().getAlgorithm());
      return "ok";
    } catch (Exception error) {
      Throwable root = error;
      while (root.getCause() != null) root = root.getCause();
      return String.valueOf(root.getMessage());
    }
  }

  static String quoted(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ") + '"';
  }

  public static void main(String[] arguments) throws Exception {
    var in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      var server = quoted(judge(Path.of(line), true));
      var client = quoted(judge(Path.of(line), false));
      System.out.printf("{\"case\":%s,\"server\":%s,\"client\":%s}%n", quoted(line), server, client);
    }
  }
}
