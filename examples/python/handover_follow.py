"""Certificates and trust that follow their files, and the status document, in one file without dependencies. Python 3.10 or newer.

    mesh = Folder("/etc/mesh")                    # tls.crt, tls.key, ca.crt
    serve_status(9464, mesh)                      # http://…:9464/handover/status
    connection = mesh.server_context().wrap_socket(connection, server_side=True)
    urllib.request.urlopen(url, context=mesh.client_context())

Ask for a context for each connection: a context is never changed, so nothing that was loaded or resumed before a change counts after it.
"""

import base64
import binascii
import datetime
import hashlib
import http.server
import json
import os
import re
import ssl
import stat
import sys
import threading
import time

MAX_BYTES = 4 << 20
REASONS = {
    "FILE_EMPTY": "empty",
    "KEY_MISMATCH": "mismatch",
    "CERTIFICATE_EXPIRED": "not_valid_now",
    "CERTIFICATE_NOT_YET_VALID": "not_valid_now",
}


class FilesRefused(Exception):
    """Why files cannot be used. The codes are those of Handover's error reference."""

    def __init__(self, code, path, why):
        super().__init__(f"{path}: {why} ({code})")
        self.code, self.path = code, path

    @property
    def reason(self):
        return REASONS.get(self.code, "read_error" if self.code.startswith("FILE_") else "parse_error")


# --- files: regular, bounded, and all of one version of the volume


def read_file(path, real):
    try:
        # A pipe would block, and opening a device can have effects.
        if not stat.S_ISREG(os.stat(real).st_mode):
            raise FilesRefused("FILE_NOT_REGULAR", path, "not a regular file")
        with open(real, "rb") as file:
            text = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise FilesRefused("FILE_MISSING", path, "there is no such file") from None
    except PermissionError:
        raise FilesRefused("FILE_FORBIDDEN", path, "this user may not read the file") from None
    except OSError as error:
        raise FilesRefused("FILE_UNREADABLE", path, str(error)) from None
    if len(text) > MAX_BYTES:
        raise FilesRefused("FILE_TOO_LARGE", path, f"over {MAX_BYTES} bytes")
    return text


def link_of(path):
    try:
        return os.readlink(path)
    except OSError:
        return None  # not a link


def read_files(folder, names):
    """The kubelet replaces the link ..data: what was read before and after that does not belong together."""
    data = os.path.join(folder, "..data")
    for _ in range(5):
        version, refused, texts = link_of(data), None, []
        try:
            for name in names:
                path = os.path.join(folder, name)
                is_in_volume = version is not None and link_of(path) == os.path.join("..data", name)
                texts.append(read_file(path, os.path.join(folder, version, name) if is_in_volume else path))
        except FilesRefused as error:
            refused = error
        if link_of(data) == version:
            if refused:
                raise refused
            return texts
    raise FilesRefused("FILE_UNREADABLE", folder, "the volume changed while its files were read")


# --- PEM and the few fields of a certificate that the module ssl does not tell

BOUNDARY = re.compile(r"-----(BEGIN|END) ([A-Z0-9][A-Z0-9 ]*)-----")


def pem_blocks(text, path):
    """Every block as label and DER. A damaged block is an error: skipped in silence, a CA would be missing."""
    if not text.strip():
        raise FilesRefused("FILE_EMPTY", path, "the file is empty")
    if b"\0" in text:
        raise FilesRefused("PEM_BINARY", path, "binary data, not PEM")
    blocks, label, body = [], None, ""
    for line in text.decode("utf-8-sig", "replace").split("\n"):
        found = BOUNDARY.fullmatch(line.rstrip())
        if found and found[1] == "BEGIN" and label is None:
            label, body = found[2], ""
        elif found and found[1] == "END" and found[2] == label:
            try:
                der = base64.b64decode(body, validate=True)
            except binascii.Error:
                der = b""
            if not der:
                raise FilesRefused("PEM_BAD_BASE64", path, f"a {label} is not proper base64")
            blocks.append((label, der))
            label = None
        elif found or "-----BEGIN" in line or "-----END" in line:
            raise FilesRefused("PEM_BAD_BOUNDARY", path, "a damaged BEGIN or END line")
        else:
            body += line.strip()
    if label is not None:
        raise FilesRefused("PEM_TRUNCATED", path, f"a {label} has no END")
    return blocks


def certificates(text, path):
    blocks = pem_blocks(text, path)
    for label, _ in blocks:
        if label.endswith("PRIVATE KEY"):
            raise FilesRefused("PEM_PRIVATE_KEY_IN_BUNDLE", path, "it holds a private key; replace that key")
        if label != "CERTIFICATE":
            raise FilesRefused("PEM_LABEL_REFUSED", path, f"it holds a {label}")
    return [der for _, der in blocks]


def elements(der):
    """The DER elements of some bytes, as tag and contents."""
    found, at = [], 0
    while at < len(der):
        tag, length, at = der[at], der[at + 1], at + 2
        if length >= 0x80:
            digits = length - 0x80
            length, at = int.from_bytes(der[at : at + digits], "big"), at + digits
        if at + length > len(der):
            raise IndexError
        found.append((tag, der[at : at + length]))
        at += length
    return found


def asn1_time(tag, text):
    digits = text.decode("ascii").removesuffix("Z")
    if tag == 0x17:  # years of two digits are those from 1950 to 2049
        digits = ("20" if digits < "50" else "19") + digits
    return datetime.datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=datetime.timezone.utc)


def facts(der, path):
    """Validity and the issuer's key id."""
    try:
        fields = elements(elements(elements(der)[0][1])[0][1])
        validity = next(elements(value) for tag, value in fields[3:5] if value[:1] in b"\x17\x18")
        begins, ends = (asn1_time(*each) for each in validity)
        key_id = None
        extensions = elements(fields[-1][1])[0][1] if fields[-1][0] == 0xA3 else b""
        for _, extension in elements(extensions):
            parts = elements(extension)
            if parts[0][1] == b"\x55\x1d\x23":
                inner = dict(elements(elements(parts[-1][1])[0][1]))
                key_id = inner[0x80].hex() if 0x80 in inner else None
        return begins, ends, key_id
    except (IndexError, StopIteration, ValueError):
        raise FilesRefused("CERTIFICATE_MALFORMED", path, "a block holds no certificate") from None


# --- what is in use


def bare_context(protocol):
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Python 3.13 and newer could take a leaf of the bundle for an anchor.
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_PARTIAL_CHAIN", 0)
    return context


class Loaded:
    """One version of the files, checked whole. It never changes."""

    def __init__(self, folder, texts, digest, loads):
        self.paths = [os.path.join(folder, name) for name in ("tls.crt", "tls.key", "ca.crt")]
        chain_path, key_path, ca_path = self.paths
        self.digest, self.loads, self.at = digest, loads, time.time()
        chain = certificates(texts[0], chain_path)
        if not chain:
            raise FilesRefused("PEM_NO_CERTIFICATE", chain_path, "no certificate")
        self.leaf = chain[0]
        begins, self.ends, self.key_id = facts(self.leaf, chain_path)
        keys = [label for label, _ in pem_blocks(texts[1], key_path) if label.endswith("PRIVATE KEY")]
        if len(keys) != 1:
            code = "KEY_AMBIGUOUS" if keys else "KEY_MISSING"
            raise FilesRefused(code, key_path, f"{len(keys)} private keys")
        bundle = certificates(texts[2], ca_path)
        if not bundle:
            raise FilesRefused("BUNDLE_EMPTY", ca_path, "no certificate")
        self.texts = (texts[0], texts[1], "".join(map(ssl.DER_cert_to_PEM_cert, bundle)))
        client = self.context(ssl.PROTOCOL_TLS_CLIENT)
        self.anchors = client.get_ca_certs(binary_form=True)  # OpenSSL lists the CAs alone
        if not self.anchors:
            raise FilesRefused("BUNDLE_NO_CA", ca_path, "no CA certificate")
        now = datetime.datetime.now(datetime.timezone.utc)
        if now >= self.ends:
            raise FilesRefused("CERTIFICATE_EXPIRED", chain_path, f"expired at {self.ends}")
        if now < begins:
            raise FilesRefused("CERTIFICATE_NOT_YET_VALID", chain_path, f"not valid before {begins}")

    def context(self, protocol):
        chain_path, key_path, ca_path = self.paths
        context = bare_context(protocol)
        try:
            context.load_verify_locations(cadata=self.texts[2])
        except ssl.SSLError:
            raise FilesRefused("CERTIFICATE_MALFORMED", ca_path, "a block holds no certificate") from None
        # The module ssl takes a chain and its key from files only: from these two, which only this user can read, for a moment.
        names = [memory_file(text) for text in self.texts[:2]]
        try:
            context.load_cert_chain(*(f"/proc/self/fd/{name}" for name in names), password=lambda: "")
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                why = f"the key does not match the certificate in {chain_path}"
                raise FilesRefused("KEY_MISMATCH", key_path, why) from None
            raise FilesRefused("KEY_MALFORMED", key_path, "the chain or its key cannot be read") from None
        finally:
            for name in names:
                os.close(name)
        if protocol == ssl.PROTOCOL_TLS_SERVER:
            context.verify_mode = ssl.CERT_REQUIRED
        return context


def memory_file(text):
    """A file in memory that has no name. Linux only: elsewhere write the texts to a private folder."""
    file = os.memfd_create("handover")
    os.write(file, text)
    return file


class Folder:
    """Follows tls.crt, tls.key and ca.crt of a folder. Files that cannot be used are refused, and the last good ones stay in use."""

    def __init__(self, path, poll=1.0):
        self.path, self.poll, self.failure = path, poll, None
        self._reading = threading.Lock()
        self._loaded = None
        self.reload()
        threading.Thread(target=self._follow, daemon=True).start()

    def reload(self):
        with self._reading:
            texts = read_files(self.path, ("tls.crt", "tls.key", "ca.crt"))
            digest = [hashlib.sha256(text).digest() for text in texts]
            before = self._loaded
            # The files in use are good, whatever the clock says now: an expired leaf is replaced by a new one alone.
            if before is None or before.digest != digest:
                loaded = Loaded(self.path, texts, digest, before.loads + 1 if before else 1)
                contexts = {each: loaded.context(each) for each in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT)}
                self._loaded, self._contexts = loaded, contexts
            self.failure = None

    def _follow(self):
        while True:
            time.sleep(self.poll)
            try:
                self.reload()
            except FilesRefused as error:
                if self.failure is None or self.failure["code"] != error.code:
                    print(f"the last good files stay in use: {error}", file=sys.stderr)
                    at = iso(time.time())
                    self.failure = {"reason": error.reason, "code": error.code, "path": error.path, "at": at}

    def server_context(self):
        """For one accepted connection. Clients must show a certificate of the bundle."""
        return self._contexts[ssl.PROTOCOL_TLS_SERVER]

    def client_context(self):
        """For one connection to a server."""
        return self._contexts[ssl.PROTOCOL_TLS_CLIENT]

    def source(self):
        loaded, failure = self._loaded, self.failure
        leaf = {"fingerprint": hashlib.sha256(loaded.leaf).hexdigest(), "notAfter": iso(loaded.ends.timestamp())}
        if loaded.key_id:
            leaf["issuerKeyId"] = loaded.key_id
        return {
            "kind": "identity",
            "path": loaded.paths[0],
            "anchors": [hashlib.sha256(each).hexdigest() for each in loaded.anchors],
            "leaf": leaf,
            "loads": loaded.loads,
            "loadedAt": iso(loaded.at),
            **({"lastFailure": failure} if failure else {}),
        }


# --- the status document


def iso(seconds):
    at = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def status(*folders):
    document = {
        "version": 1,
        "at": iso(time.time()),
        "pid": os.getpid(),
        "processes": [{"pid": os.getpid()}],
        "sources": [folder.source() for folder in folders],
    }
    if os.environ.get("POD_UID"):
        document["podUid"] = os.environ["POD_UID"]  # metadata.uid, by the downward API
    return json.dumps(document)


def serve_status(port, *folders, host="127.0.0.1"):
    """Answers GET /handover/status over plain HTTP, in a thread. In a pod the host is 0.0.0.0. Returns the port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        timeout = 2

        def do_GET(self):
            is_status = self.path == "/handover/status"
            body = status(*folders).encode() if is_status else b"not found\n"
            self.send_response(200 if is_status else 404)
            self.send_header("Content-Type", "application/json" if is_status else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer((host, port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]
