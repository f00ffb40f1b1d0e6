import java.io.FileInputStream;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/**
 * A server and a client that read their stores anew for each connection, with nothing but Java's own classes.
 *
 *   java Peer.java PASSWORD_FILE KEYSTORE KEYSTORE_TYPE SERVE_PORT TRUSTSTORE TRUSTSTORE_TYPE CALL_PORT...
 *
 * It serves with the keystore at SERVE_PORT, calls each CALL_PORT in turn, and writes one line for each call, until its input ends.
 */
class Peer {
  static KeyStore load(String type, String file, char[] password) throws Exception {
    KeyStore store = KeyStore.getInstance(type);
    try (InputStream in = new FileInputStream(file)) {
      store.load(in, password);
    }
    return store;
  }

  static SSLContext context(KeyStore keys, KeyStore trust, char[] password) throws Exception {
    KeyManagerFactory identity = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    if (keys != null) identity.init(keys, password);
    TrustManagerFactory verifier = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    if (trust != null) verifier.init(trust);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(
        keys == null ? null : identity.getKeyManagers(), trust == null ? null : verifier.getTrustManagers(), null);
    return context;
  }

  static void serve(int port, String type, String file, char[] password) throws Exception {
    ServerSocket server = new ServerSocket(port, 64, InetAddress.getLoopbackAddress());
    while (true) {
      Socket plain = server.accept();
      Thread handler =
          new Thread(
              () -> {
                try (Socket raw = plain) {
                  raw.setSoTimeout(5000);
                  SSLContext context = context(load(type, file, password), null, password);
                  SSLSocket socket =
                      (SSLSocket) context.getSocketFactory().createSocket(raw, "localhost", port, true);
                  socket.setUseClientMode(false);
                  socket.startHandshake();
                  socket.getInputStream().read();
                  socket.close();
                } catch (Exception gone) {
                  // The caller tells what went wrong.
                }
              });
      handler.setDaemon(true);
      handler.start();
    }
  }

  static String call(int port, String type, String file, char[] password) {
    try {
      SSLContext context = context(null, load(type, file, password), password);
      try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket("localhost", port)) {
        socket.setSoTimeout(10000);
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        socket.setSSLParameters(parameters);
        socket.startHandshake();
        return "ok";
      }
    } catch (Exception error) {
      return error.getClass().getSimpleName() + ": " + error.getMessage();
    }
  }

  public static void main(String[] args) throws Exception {
    char[] password = Files.readString(Path.of(args[0])).strip().toCharArray();
    Thread server =
        new Thread(
            () -> {
              try {
                serve(Integer.parseInt(args[3]), args[2], args[1], password);
              } catch (Exception error) {
                System.out.println("serve " + error);
              }
            });
    server.setDaemon(true);
    server.start();
    while (System.in.available() == 0) {
      for (int at = 6; at < args.length; at++) {
        System.out.println(args[at] + " " + call(Integer.parseInt(args[at]), args[5], args[4], password));
      }
      Thread.sleep(5);
    }
  }
}
