import java.io.ByteArrayInputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.HexFormat;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/**
 * Connects again and again, reads its files anew each time, and writes one line for each call: ok, or what went wrong.
 *
 *   java Client.java PORT CA_FILE CERTIFICATE_FILE KEY_FILE REQUEST_IN_HEX
 */
class Client {
  static Collection<? extends Certificate> certificates(String file) throws Exception {
    byte[] pem = Files.readAllBytes(Path.of(file));
    return CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(pem));
  }

  static PrivateKey key(String file) throws Exception {
    String base64 = Files.readString(Path.of(file)).replaceAll("-----[^-]+-----|\\s", "");
    PKCS8EncodedKeySpec der = new PKCS8EncodedKeySpec(Base64.getDecoder().decode(base64));
    return KeyFactory.getInstance("EC").generatePrivate(der);
  }

  static SSLContext context(String ca, String certificate, String key) throws Exception {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    int number = 0;
    for (Certificate trusted : certificates(ca)) store.setCertificateEntry("ca" + number++, trusted);
    TrustManagerFactory verifier = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    verifier.init(store);
    Certificate[] chain = certificates(certificate).toArray(new Certificate[0]);
    store.setKeyEntry("client", key(key), new char[0], chain);
    KeyManagerFactory identity = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    identity.init(store, new char[0]);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(identity.getKeyManagers(), verifier.getTrustManagers(), null);
    return context;
  }

  static String call(String[] args) {
    int port = Integer.parseInt(args[0]);
    try (Socket plain = new Socket()) {
      SSLContext context = context(args[1], args[2], args[3]);
      plain.connect(new InetSocketAddress("127.0.0.1", port), 10000);
      plain.setSoTimeout(10000);
      SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket(plain, "localhost", port, true);
      SSLParameters parameters = socket.getSSLParameters();
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      socket.setSSLParameters(parameters);
      socket.getOutputStream().write(HexFormat.of().parseHex(args[4]));
      // Over TLS 1.3 only an answer shows that the server accepted the client.
      return socket.getInputStream().read() < 0 ? "EOF before an answer" : "ok";
    } catch (Exception error) {
      return error.getClass().getSimpleName() + ": " + error.getMessage();
    }
  }

  public static void main(String[] args) throws Exception {
    while (true) {
      System.out.println(call(args));
      Thread.sleep(50);
    }
  }
}
