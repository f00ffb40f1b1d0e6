import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyManagementException;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

/**
 * Certificates and trust that follow their files, and the status document, in one file without dependencies. Java 17 or newer.
 *
 * <pre>{@code
 * var mesh = HandoverFollow.open(Path.of("/etc/mesh"), Duration.ofSeconds(1)); // tls.crt, tls.key, ca.crt
 * mesh.serveStatus(new InetSocketAddress("127.0.0.1", 9464)); // /handover/status
 * SSLContext context = mesh.context(); // for HttpsServer, HttpClient, Netty, Jetty: whatever makes an SSLEngine for each connection
 * }</pre>
 *
 * Behind that context each change makes a new one, so that no session of an older one is resumed: a session skips the check of the
 * certificate.
 */
public final class HandoverFollow {
  private static final int MAX_BYTES = 4 << 20;
  private static final List<String> NAMES = List.of("tls.crt", "tls.key", "ca.crt");

  /** Why files cannot be used. The codes are those of Handover's error reference. */
  @SuppressWarnings("serial") // it is never written
  public static final class Refused extends Exception {
    public final String code;
    public final Path path;

    Refused(String code, Path path, String why) {
      super(path + ": " + why + " (" + code + ")");
      this.code = code;
      this.path = path;
    }

    String reason() {
      return switch (code) {
        case "FILE_EMPTY" -> "empty";
        case "KEY_MISMATCH" -> "mismatch";
        case "CERTIFICATE_EXPIRED", "CERTIFICATE_NOT_YET_VALID" -> "not_valid_now";
        default -> code.startsWith("FILE_") ? "read_error" : "parse_error";
      };
    }
  }

  private record Block(String label, byte[] der) {}

  /** One version of the files, checked whole. It never changes. */
  private record Loaded(byte[] digest, SSLContext context, X509Certificate leaf, List<X509Certificate> anchors, int loads, Instant at) {}

  private record Failure(String reason, String code, Path path, Instant at) {}

  private final Path folder;
  private final SSLContext context = new Following();
  private volatile Loaded loaded;
  private volatile Failure failure;

  private HandoverFollow(Path folder) {
    this.folder = folder;
  }

  /** Reads the files and follows them in a daemon thread. Throws when they cannot be used. */
  public static HandoverFollow open(Path folder, java.time.Duration poll) throws Refused {
    var follow = new HandoverFollow(folder);
    follow.reload();
    var thread = new Thread(() -> follow.follow(poll), "handover");
    thread.setDaemon(true);
    thread.start();
    return follow;
  }

  /**
   * For servers and clients: each SSLEngine that it makes has what is in use by then. Ask it for a socket factory at each connection, and not
   * once. A server must ask for client certificates itself (setNeedClientAuth).
   */
  public SSLContext context() {
    return context;
  }

  /** Reads the files now. When they cannot be used, the last good ones stay in use. */
  public synchronized void reload() throws Refused {
    var texts = readFiles();
    var digest = sha256();
    for (var text : texts) digest.update(sha256().digest(text));
    var sum = digest.digest();
    // The files in use are good, whatever the clock says now: an expired leaf is replaced by a new one alone.
    if (loaded == null || !Arrays.equals(loaded.digest, sum)) {
      loaded = load(texts, sum, loaded == null ? 1 : loaded.loads + 1);
    }
    failure = null;
  }

  private void follow(java.time.Duration poll) {
    while (true) {
      try {
        Thread.sleep(poll.toMillis());
        reload();
      } catch (Refused refused) {
        if (failure == null || !failure.code.equals(refused.code)) {
          failure = new Failure(refused.reason(), refused.code, refused.path, Instant.now());
          System.err.println("the last good files stay in use: " + refused.getMessage());
        }
      } catch (InterruptedException ended) {
        return;
      }
    }
  }

  // --- files: regular, bounded, and all of one version of the volume

  private List<byte[]> readFiles() throws Refused {
    // The kubelet replaces the link ..data: what was read before and after that does not belong together.
    var data = folder.resolve("..data");
    for (int tries = 0; tries < 5; tries++) {
      var version = linkOf(data);
      Refused refused = null;
      var texts = new ArrayList<byte[]>();
      try {
        for (var name : NAMES) {
          var path = folder.resolve(name);
          var isInVolume = version != null && Path.of("..data", name).equals(linkOf(path));
          texts.add(readFile(path, isInVolume ? folder.resolve(version).resolve(name) : path));
        }
      } catch (Refused error) {
        refused = error;
      }
      if (!Objects.equals(linkOf(data), version)) continue;
      if (refused != null) throw refused;
      return texts;
    }
    throw new Refused("FILE_UNREADABLE", folder, "the volume changed while its files were read");
  }

  private static Path linkOf(Path path) {
    try {
      return Files.readSymbolicLink(path);
    } catch (IOException | UnsupportedOperationException notALink) {
      return null;
    }
  }

  private static byte[] readFile(Path path, Path real) throws Refused {
    try {
      // A pipe would block, and opening a device can have effects.
      if (!Files.readAttributes(real, java.nio.file.attribute.BasicFileAttributes.class).isRegularFile())
        throw new Refused("FILE_NOT_REGULAR", path, "not a regular file");
      try (InputStream file = Files.newInputStream(real)) {
        var text = file.readNBytes(MAX_BYTES + 1);
        if (text.length > MAX_BYTES) throw new Refused("FILE_TOO_LARGE", path, "over " + MAX_BYTES + " bytes");
        return text;
      }
    } catch (NoSuchFileException missing) {
      throw new Refused("FILE_MISSING", path, "there is no such file");
    } catch (AccessDeniedException forbidden) {
      throw new Refused("FILE_FORBIDDEN", path, "this user may not read the file");
    } catch (FileSystemException other) {
      var isMissing = "Not a directory".equals(other.getReason());
      throw new Refused(isMissing ? "FILE_MISSING" : "FILE_UNREADABLE", path, "" + other.getReason());
    } catch (IOException other) {
      throw new Refused("FILE_UNREADABLE", path, "" + other.getMessage());
    }
  }

  // --- PEM, certificates, keys

  private static final Pattern BOUNDARY = Pattern.compile("-----(BEGIN|END) ([A-Z0-9][A-Z0-9 ]*)-----");

  /** Every block. A damaged one is an error: skipped in silence, a CA would be missing. */
  private static List<Block> blocks(byte[] text, Path path) throws Refused {
    var lines = new String(text, StandardCharsets.UTF_8).replaceFirst("^\uFEFF", "");
    if (lines.isBlank()) throw new Refused("FILE_EMPTY", path, "the file is empty");
    if (lines.indexOf('\0') >= 0) throw new Refused("PEM_BINARY", path, "binary data, not PEM");
    var found = new ArrayList<Block>();
    String label = null;
    var body = new StringBuilder();
    for (var line : lines.split("\n")) {
      Matcher boundary = BOUNDARY.matcher(line.stripTrailing());
      var isBoundary = boundary.matches();
      if (isBoundary && boundary.group(1).equals("BEGIN") && label == null) {
        label = boundary.group(2);
        body.setLength(0);
      } else if (isBoundary && boundary.group(1).equals("END") && boundary.group(2).equals(label)) {
        try {
          var der = Base64.getDecoder().decode(body.toString());
          if (der.length == 0) throw new IllegalArgumentException();
          found.add(new Block(label, der));
        } catch (IllegalArgumentException bad) {
          throw new Refused("PEM_BAD_BASE64", path, "a " + label + " is not proper base64");
        }
        label = null;
      } else if (isBoundary || line.contains("-----BEGIN") || line.contains("-----END")) {
        throw new Refused("PEM_BAD_BOUNDARY", path, "a damaged BEGIN or END line");
      } else if (label != null) {
        body.append(line.strip());
      }
    }
    if (label != null) throw new Refused("PEM_TRUNCATED", path, "a " + label + " has no END");
    return found;
  }

  private static List<X509Certificate> certificates(byte[] text, Path path) throws Refused {
    var all = new LinkedHashSet<X509Certificate>();
    for (var block : blocks(text, path)) {
      if (block.label.endsWith("PRIVATE KEY"))
        throw new Refused("PEM_PRIVATE_KEY_IN_BUNDLE", path, "it holds a private key; replace that key");
      if (!block.label.equals("CERTIFICATE")) throw new Refused("PEM_LABEL_REFUSED", path, "it holds a " + block.label);
      try {
        var factory = CertificateFactory.getInstance("X.509");
        all.add((X509Certificate) factory.generateCertificate(new ByteArrayInputStream(block.der)));
      } catch (GeneralSecurityException malformed) {
        throw new Refused("CERTIFICATE_MALFORMED", path, "a block holds no certificate");
      }
    }
    return List.copyOf(all);
  }

  private static PrivateKey key(byte[] text, Path path) throws Refused {
    var keys = blocks(text, path).stream().filter(block -> block.label.endsWith("PRIVATE KEY")).toList();
    if (keys.size() != 1) throw new Refused(keys.isEmpty() ? "KEY_MISSING" : "KEY_AMBIGUOUS", path, keys.size() + " private keys");
    if (!keys.get(0).label.equals("PRIVATE KEY"))
      throw new Refused("KEY_LABEL_REFUSED", path, "Java reads PKCS#8 alone: BEGIN PRIVATE KEY");
    for (var algorithm : List.of("EC", "RSA", "Ed25519")) {
      try {
        return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(keys.get(0).der));
      } catch (GeneralSecurityException another) {
        // of another algorithm
      }
    }
    throw new Refused("KEY_MALFORMED", path, "the private key cannot be read");
  }

  private static boolean belong(PrivateKey key, X509Certificate leaf) {
    var algorithm = Map.of("EC", "SHA256withECDSA", "RSA", "SHA256withRSA").getOrDefault(key.getAlgorithm(), "Ed25519");
    try {
      var signature = Signature.getInstance(algorithm);
      signature.initSign(key);
      signature.update(new byte[32]);
      var signed = signature.sign();
      signature.initVerify(leaf.getPublicKey());
      signature.update(new byte[32]);
      return signature.verify(signed);
    } catch (GeneralSecurityException ofAnotherKind) {
      return false;
    }
  }

  private Loaded load(List<byte[]> texts, byte[] digest, int loads) throws Refused {
    Path chainPath = folder.resolve("tls.crt"), keyPath = folder.resolve("tls.key"), caPath = folder.resolve("ca.crt");
    var chain = certificates(texts.get(0), chainPath);
    if (chain.isEmpty()) throw new Refused("PEM_NO_CERTIFICATE", chainPath, "no certificate");
    var leaf = chain.get(0);
    var key = key(texts.get(1), keyPath);
    if (!belong(key, leaf)) throw new Refused("KEY_MISMATCH", keyPath, "the key does not match the certificate in " + chainPath);
    var now = Instant.now();
    if (!now.isBefore(leaf.getNotAfter().toInstant())) throw new Refused("CERTIFICATE_EXPIRED", chainPath, "expired at " + leaf.getNotAfter());
    if (now.isBefore(leaf.getNotBefore().toInstant()))
      throw new Refused("CERTIFICATE_NOT_YET_VALID", chainPath, "not valid before " + leaf.getNotBefore());
    var bundle = certificates(texts.get(2), caPath);
    if (bundle.isEmpty()) throw new Refused("BUNDLE_EMPTY", caPath, "no certificate");
    // Java would take a leaf of the bundle for an anchor. A self-signed certificate need not be a CA: a pinned server, a root of version 1.
    var anchors = bundle.stream()
        .filter(each -> each.getBasicConstraints() >= 0 || each.getSubjectX500Principal().equals(each.getIssuerX500Principal()))
        .toList();
    if (anchors.isEmpty()) throw new Refused("BUNDLE_NO_CA", caPath, "no CA certificate");
    try {
      return new Loaded(digest, contextOf(chain, key, anchors), leaf, anchors, loads, now.truncatedTo(ChronoUnit.MILLIS));
    } catch (GeneralSecurityException | IOException error) {
      throw new Refused("IDENTITY_REFUSED", chainPath, "Java refuses the certificate or its key");
    }
  }

  private static SSLContext contextOf(List<X509Certificate> chain, PrivateKey key, List<X509Certificate> anchors)
      throws GeneralSecurityException, IOException {
    var identity = KeyStore.getInstance("PKCS12");
    identity.load(null, null);
    identity.setKeyEntry("leaf", key, new char[0], chain.toArray(X509Certificate[]::new));
    var keys = KeyManagerFactory.getInstance("PKIX");
    keys.init(identity, new char[0]);
    var store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    for (int index = 0; index < anchors.size(); index++) store.setCertificateEntry("ca" + index, anchors.get(index));
    var trust = TrustManagerFactory.getInstance("PKIX");
    trust.init(store);
    var context = SSLContext.getInstance("TLS");
    context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
    return context;
  }

  /** A context that stays the same object and works as the newest one. Servers of the JDK keep the context that they were given first. */
  private final class Following extends SSLContext {
    Following() {
      super(new Newest(), null, "TLS");
    }
  }

  private final class Newest extends SSLContextSpi {
    @Override
    protected void engineInit(KeyManager[] keys, TrustManager[] trust, SecureRandom random) throws KeyManagementException {
      throw new KeyManagementException("it follows its files");
    }

    @Override
    protected SSLEngine engineCreateSSLEngine() {
      return loaded.context.createSSLEngine();
    }

    @Override
    protected SSLEngine engineCreateSSLEngine(String host, int port) {
      return loaded.context.createSSLEngine(host, port);
    }

    @Override
    protected SSLSocketFactory engineGetSocketFactory() {
      return loaded.context.getSocketFactory();
    }

    @Override
    protected SSLServerSocketFactory engineGetServerSocketFactory() {
      return loaded.context.getServerSocketFactory();
    }

    @Override
    protected SSLSessionContext engineGetServerSessionContext() {
      return loaded.context.getServerSessionContext();
    }

    @Override
    protected SSLSessionContext engineGetClientSessionContext() {
      return loaded.context.getClientSessionContext();
    }

    @Override
    protected SSLParameters engineGetDefaultSSLParameters() {
      return loaded.context.getDefaultSSLParameters();
    }

    @Override
    protected SSLParameters engineGetSupportedSSLParameters() {
      return loaded.context.getSupportedSSLParameters();
    }
  }

  // --- the status document

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (GeneralSecurityException impossible) {
      throw new IllegalStateException(impossible); // every Java has it
    }
  }

  private static String fingerprint(X509Certificate certificate) {
    try {
      return HexFormat.of().formatHex(sha256().digest(certificate.getEncoded()));
    } catch (GeneralSecurityException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  /** The authority key id: an OCTET STRING around a SEQUENCE that begins with [0], all of them short. */
  private static String issuerKeyId(X509Certificate leaf) {
    var value = leaf.getExtensionValue("2.5.29.35");
    var isKnown = value != null && value.length > 6 && value[2] == 0x30 && value[4] == (byte) 0x80 && value.length >= 6 + value[5];
    return isKnown ? HexFormat.of().formatHex(value, 6, 6 + value[5]) : null;
  }

  private static String quote(Object value) {
    var text = new StringBuilder("\"");
    for (char each : value.toString().toCharArray()) {
      if (each == '"' || each == '\\') text.append('\\').append(each);
      else if (each < ' ') text.append(String.format("\\u%04x", (int) each));
      else text.append(each);
    }
    return text.append('"').toString();
  }

  /** Which CAs and which leaf this process has in use. Nothing in it is secret. */
  public String status() {
    var now = loaded;
    var last = failure;
    var pid = ProcessHandle.current().pid();
    var podUid = System.getenv("POD_UID"); // metadata.uid, by the downward API
    var keyId = issuerKeyId(now.leaf);
    return "{\"version\":1,\"at\":" + quote(Instant.now().truncatedTo(ChronoUnit.MILLIS)) + ",\"pid\":" + pid
        + (podUid == null || podUid.isEmpty() ? "" : ",\"podUid\":" + quote(podUid))
        + ",\"processes\":[{\"pid\":" + pid + "}],\"sources\":[{\"kind\":\"identity\",\"path\":" + quote(folder.resolve("tls.crt"))
        + ",\"anchors\":" + now.anchors.stream().map(each -> quote(fingerprint(each))).collect(Collectors.joining(",", "[", "]"))
        + ",\"leaf\":{\"fingerprint\":" + quote(fingerprint(now.leaf))
        + (keyId == null ? "" : ",\"issuerKeyId\":" + quote(keyId))
        + ",\"notAfter\":" + quote(now.leaf.getNotAfter().toInstant()) + "},\"loads\":" + now.loads
        + ",\"loadedAt\":" + quote(now.at)
        + (last == null ? "" : ",\"lastFailure\":{\"reason\":" + quote(last.reason) + ",\"code\":" + quote(last.code)
            + ",\"path\":" + quote(last.path) + ",\"at\":" + quote(last.at.truncatedTo(ChronoUnit.MILLIS)) + "}")
        + "}]}";
  }

  /** Answers GET /handover/status over plain HTTP. In a pod the address is 0.0.0.0. Returns the port. */
  public int serveStatus(InetSocketAddress address) throws IOException {
    var server = HttpServer.create(address, 16);
    server.createContext("/", exchange -> {
      try (exchange) {
        var isStatus = exchange.getRequestURI().getPath().equals("/handover/status") && exchange.getRequestMethod().equals("GET");
        var body = (isStatus ? status() : "not found\n").getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", isStatus ? "application/json" : "text/plain");
        exchange.sendResponseHeaders(isStatus ? 200 : 404, body.length);
        exchange.getResponseBody().write(body);
      }
    });
    server.setExecutor(java.util.concurrent.Executors.newCachedThreadPool(task -> {
      var thread = new Thread(task, "handover-status");
      thread.setDaemon(true);
      return thread;
    }));
    server.start();
    return server.getAddress().getPort();
  }
}
