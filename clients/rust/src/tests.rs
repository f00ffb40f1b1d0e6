//! Folders of real files, and handshakes in memory. Nothing here waits: each test says when the files are read.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject};
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, RootCertStore, ServerConfig, ServerConnection,
};

use crate::certificate::{Certificate, Role, fingerprint, hex};
use crate::{Event, Failure, Folder, Follow, Loaded, PATH, Source, metrics, serve_status, status};

const HOUR: Duration = Duration::from_secs(3600);

struct Ca {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

#[derive(Clone)]
struct Leaf {
    cert: String,
    key: String,
}

fn leaf_params() -> CertificateParams {
    let mut params = CertificateParams::new(vec!["localhost".into()]).unwrap();
    params.use_authority_key_identifier_extension = true;
    params
}

impl Ca {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        Self { pem, issuer }
    }

    fn sign(&self, params: &CertificateParams) -> Leaf {
        let key = KeyPair::generate().unwrap();
        Leaf {
            cert: params.signed_by(&key, &self.issuer).unwrap().pem(),
            key: key.serialize_pem(),
        }
    }

    fn leaf(&self) -> Leaf {
        self.sign(&leaf_params())
    }
}

fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

/// A folder of its own for each test, removed at its end.
struct Dir(PathBuf);

static FOLDERS: AtomicU64 = AtomicU64::new(0);

impl Dir {
    fn new() -> Self {
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("handover-rust-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn of(leaf: &Leaf, bundle: &str) -> Self {
        let dir = Self::new();
        dir.write(leaf, bundle);
        dir
    }

    fn write(&self, leaf: &Leaf, bundle: &str) {
        write_to(&self.0, leaf, bundle);
    }

    fn follow(&self) -> Follow {
        Follow::new(&self.0).poll(HOUR)
    }

    fn open(&self) -> Folder {
        self.follow().open().unwrap()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn write_to(dir: &Path, leaf: &Leaf, bundle: &str) {
    for (name, text) in [("tls.crt", &leaf.cert), ("tls.key", &leaf.key)] {
        fs::write(dir.join(name), text).unwrap();
    }
    fs::write(dir.join("ca.crt"), bundle).unwrap();
}

/// One handshake with data in both directions, in memory. Gives the kind that the client saw.
fn shake(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> io::Result<HandshakeKind> {
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = ClientConnection::new(Arc::clone(client), name).unwrap();
    let mut server = ServerConnection::new(Arc::clone(server)).unwrap();
    client.writer().write_all(b"hello").unwrap();
    server.writer().write_all(b"hello").unwrap();
    for _ in 0..10 {
        let mut wire = Vec::new();
        client.write_tls(&mut wire)?;
        server.read_tls(&mut wire.as_slice())?;
        server.process_new_packets().map_err(io::Error::other)?;
        wire.clear();
        server.write_tls(&mut wire)?;
        client.read_tls(&mut wire.as_slice())?;
        client.process_new_packets().map_err(io::Error::other)?;
    }
    let mut said = [0; 5];
    client.reader().read_exact(&mut said)?;
    server.reader().read_exact(&mut said)?;
    client
        .handshake_kind()
        .ok_or_else(|| io::ErrorKind::NotConnected.into())
}

fn configs(client: &Folder, server: &Folder) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    (
        Arc::new(client.client_config().unwrap()),
        Arc::new(server.server_config().unwrap()),
    )
}

#[test]
fn servers_and_clients_talk_through_a_rotation() {
    let (old, new) = (Ca::new("old"), Ca::new("new"));
    let (here, there) = (
        Dir::of(&old.leaf(), &old.pem),
        Dir::of(&old.leaf(), &old.pem),
    );
    let (server, client) = (here.open(), there.open());
    let (client_config, server_config) = configs(&client, &server);
    let both = new.pem.clone() + &old.pem;
    let steps: [(&Dir, &Folder, Leaf, &str); 6] = [
        (&here, &server, old.leaf(), &both),
        (&there, &client, old.leaf(), &both),
        (&here, &server, new.leaf(), &both),
        (&there, &client, new.leaf(), &both),
        (&here, &server, new.leaf(), &new.pem),
        (&there, &client, new.leaf(), &new.pem),
    ];
    shake(&client_config, &server_config).unwrap();
    for (dir, folder, leaf, bundle) in steps {
        dir.write(&leaf, bundle);
        folder.reload().unwrap();
        shake(&client_config, &server_config).unwrap();
    }
    assert_eq!(client.loads(), 4);
    assert_eq!(client.loaded().anchors, Some(vec![der(&new.pem)]));
}

#[test]
fn a_removed_ca_does_not_come_back_by_a_resumed_session() {
    let (old, new) = (Ca::new("old"), Ca::new("new"));
    let both = new.pem.clone() + &old.pem;
    let here = Dir::of(&new.leaf(), &both);
    let server = here.open();
    let server_config = Arc::new(server.server_config().unwrap());
    // A client of others, which resumes whenever it can.
    let mut roots = RootCertStore::empty();
    roots.add(der(&new.pem)).unwrap();
    let leaf = old.leaf();
    let chain = vec![der(&leaf.cert)];
    let key = PrivateKeyDer::from_pem_slice(leaf.key.as_bytes()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::clone(server.0.provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)
        .unwrap();
    config.resumption = Resumption::in_memory_sessions(8);
    let stranger = Arc::new(config);
    for _ in 0..2 {
        assert_eq!(
            shake(&stranger, &server_config).unwrap(),
            HandshakeKind::Full
        );
    }
    here.write(&new.leaf(), &new.pem);
    server.reload().unwrap();
    shake(&stranger, &server_config).unwrap_err();
}

#[test]
fn a_client_resumes_no_session() {
    let ca = Ca::new("ca");
    let (here, there) = (Dir::of(&ca.leaf(), &ca.pem), Dir::of(&ca.leaf(), &ca.pem));
    // Without a bundle a server gives sessions.
    let server = here.follow().ca(None).open().unwrap();
    let client = there.open();
    let (client_config, server_config) = configs(&client, &server);
    for _ in 0..3 {
        assert_eq!(
            shake(&client_config, &server_config).unwrap(),
            HandshakeKind::Full
        );
    }
}

#[test]
fn the_last_good_material_stays() {
    let (ca, other) = (Ca::new("ca"), Ca::new("other"));
    let leaf = ca.leaf();
    let pem = |label: &str, body: &str| {
        format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
    };
    let cases: [(&str, &str, String, &str); 16] = [
        ("tls.crt", "FILE_EMPTY", String::new(), "empty"),
        (
            "tls.crt",
            "PEM_NO_CERTIFICATE",
            "# none\n".into(),
            "parse_error",
        ),
        ("tls.crt", "KEY_MISMATCH", ca.leaf().cert, "mismatch"),
        ("tls.key", "KEY_MISSING", leaf.cert.clone(), "parse_error"),
        (
            "tls.key",
            "KEY_AMBIGUOUS",
            leaf.key.repeat(2),
            "parse_error",
        ),
        (
            "tls.key",
            "KEY_MALFORMED",
            pem("PRIVATE KEY", "AAAA"),
            "parse_error",
        ),
        (
            "tls.key",
            "KEY_ENCRYPTED",
            pem("ENCRYPTED PRIVATE KEY", "AAAA"),
            "parse_error",
        ),
        (
            "tls.key",
            "KEY_LABEL_REFUSED",
            pem("DSA PRIVATE KEY", "AAAA"),
            "parse_error",
        ),
        (
            "ca.crt",
            "BUNDLE_EMPTY",
            "# no CA yet\n".into(),
            "parse_error",
        ),
        ("ca.crt", "BUNDLE_NO_CA", other.leaf().cert, "parse_error"),
        (
            "ca.crt",
            "CERTIFICATE_MALFORMED",
            pem("CERTIFICATE", "AAAA"),
            "parse_error",
        ),
        (
            "ca.crt",
            "PEM_TRUNCATED",
            ca.pem[..ca.pem.len() / 2].into(),
            "parse_error",
        ),
        (
            "ca.crt",
            "PEM_LABEL_REFUSED",
            ca.pem.clone() + &pem("X509 CRL", "AAAA"),
            "parse_error",
        ),
        (
            "ca.crt",
            "PEM_PRIVATE_KEY_IN_BUNDLE",
            ca.pem.clone() + &leaf.key,
            "parse_error",
        ),
        ("ca.crt", "PEM_BINARY", "\0".into(), "parse_error"),
        (
            "ca.crt",
            "FILE_TOO_LARGE",
            ca.pem.clone() + &"#\n".repeat(3 << 20),
            "read_error",
        ),
    ];
    for (name, code, text, reason) in cases {
        let dir = Dir::of(&leaf, &ca.pem);
        let folder = dir.open();
        fs::write(dir.0.join(name), &text).unwrap();
        assert_eq!(folder.reload().unwrap_err().code, code);
        let loaded = folder.loaded();
        let failure = loaded.failure.unwrap();
        assert_eq!((failure.code, failure.reason), (code, reason));
        // Of a pair that does not match, the key is named.
        let named = if code == "KEY_MISMATCH" {
            "tls.key"
        } else {
            name
        };
        assert_eq!(failure.path, dir.0.join(named).display().to_string());
        assert_eq!(loaded.leaf, Some(der(&leaf.cert)));
        assert_eq!(loaded.anchors, Some(vec![der(&ca.pem)]));
        dir.write(&leaf, &ca.pem);
        folder.reload().unwrap();
        assert!(folder.loaded().failure.is_none(), "{code}");
        assert_eq!(folder.loads(), 1);
        // The same files at the start are an error.
        fs::write(dir.0.join(name), &text).unwrap();
        assert_eq!(dir.follow().open().unwrap_err().code, code);
    }
}

#[test]
fn an_expired_leaf_is_refused_and_one_in_use_stays() {
    let ca = Ca::new("ca");
    let mut params = leaf_params();
    params.not_before = date_time_ymd(2026, 1, 2);
    params.not_after = date_time_ymd(2026, 1, 3);
    let dir = Dir::of(&ca.sign(&params), &ca.pem);
    let now = Arc::new(AtomicU64::new(0));
    let at = |day: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600 + day * 86_400); // 2026-01-01
    let open = || {
        let now = Arc::clone(&now);
        dir.follow()
            .clock(move || at(now.load(Ordering::Relaxed)))
            .open()
    };
    assert_eq!(open().unwrap_err().code, "CERTIFICATE_NOT_YET_VALID");
    now.store(1, Ordering::Relaxed);
    let folder = open().unwrap();
    now.store(2, Ordering::Relaxed); // the last instant of its validity, and OpenSSL's first without
    assert_eq!(open().unwrap_err().code, "CERTIFICATE_EXPIRED");
    folder.reload().unwrap();
    assert!(folder.loaded().failure.is_none());
}

#[test]
fn a_leaf_in_a_bundle_signs_nothing() {
    let (ca, other) = (Ca::new("ca"), Ca::new("other"));
    let stray = other.leaf();
    let params = CertificateParams::new(vec!["localhost".into()]).unwrap();
    let key = KeyPair::from_pem(&stray.key).unwrap();
    let signer = Issuer::from_params(&params, &key);
    let own = KeyPair::generate().unwrap();
    let signed = Leaf {
        cert: leaf_params().signed_by(&own, &signer).unwrap().pem(),
        key: own.serialize_pem(),
    };
    let there = Dir::of(&ca.leaf(), &(stray.cert.clone() + &ca.pem));
    let client = there.open();
    assert_eq!(client.loaded().anchors, Some(vec![der(&ca.pem)]));
    for leaf in [stray, signed] {
        let here = Dir::of(&leaf, &ca.pem);
        let (client_config, server_config) = configs(&client, &here.open());
        shake(&client_config, &server_config).unwrap_err();
    }
}

#[test]
fn a_pinned_certificate_is_accepted_and_what_its_key_signed_is_not() {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".into()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, "pinned");
    let pinned = Leaf {
        cert: params.self_signed(&key).unwrap().pem(),
        key: key.serialize_pem(),
    };
    assert_eq!(
        Certificate::read(der(&pinned.cert).to_vec()).unwrap().role,
        Role::Pinned
    );
    let own = KeyPair::generate().unwrap();
    let signed = Leaf {
        cert: leaf_params()
            .signed_by(&own, &Issuer::from_params(&params, &key))
            .unwrap()
            .pem(),
        key: own.serialize_pem(),
    };
    let ca = Ca::new("ca");
    for bundle in [pinned.cert.clone(), ca.pem.clone() + &pinned.cert] {
        let there = Dir::of(&ca.leaf(), &bundle);
        let client = there.open();
        let of = |leaf: &Leaf| {
            let here = Dir::of(leaf, &ca.pem);
            let (client_config, server_config) = configs(&client, &here.open());
            shake(&client_config, &server_config)
        };
        of(&pinned).unwrap();
        of(&signed).unwrap_err();
    }
}

#[test]
fn an_unknown_ca_is_looked_for_in_the_files_once_a_second_at_most() {
    let cas = [Ca::new("first"), Ca::new("second"), Ca::new("third")];
    let [first, second, third] = &cas;
    let all: String = cas.iter().map(|ca| ca.pem.as_str()).collect();
    let here = Dir::of(&second.leaf(), &all);
    let there = Dir::of(&first.leaf(), &first.pem);
    let clock = Arc::new(AtomicU64::new(1_767_225_600_000));
    let turned = Arc::clone(&clock);
    let now =
        move || SystemTime::UNIX_EPOCH + Duration::from_millis(turned.load(Ordering::Relaxed));
    let (server, client) = (here.open(), there.follow().clock(now).open().unwrap());
    let (client_config, server_config) = configs(&client, &server);
    there.write(&first.leaf(), &(second.pem.clone() + &first.pem));
    shake(&client_config, &server_config).unwrap();
    assert_eq!(client.loads(), 2);
    here.write(&third.leaf(), &all);
    server.reload().unwrap();
    there.write(&first.leaf(), &all);
    clock.fetch_add(999, Ordering::Relaxed);
    shake(&client_config, &server_config).unwrap_err();
    assert_eq!(client.loads(), 2);
    clock.fetch_add(1, Ordering::Relaxed);
    shake(&client_config, &server_config).unwrap();
    assert_eq!(client.loads(), 3);
}

#[test]
fn a_volume_of_the_kubelet_is_read_from_one_version() {
    let ca = Ca::new("ca");
    let dir = Dir::new();
    let swap = |version: &str, leaf: &Leaf| {
        fs::create_dir(dir.0.join(version)).unwrap();
        write_to(&dir.0.join(version), leaf, &ca.pem);
        symlink(version, dir.0.join("..data_tmp")).unwrap();
        fs::rename(dir.0.join("..data_tmp"), dir.0.join("..data")).unwrap();
    };
    swap("..1", &ca.leaf());
    for name in ["tls.crt", "tls.key", "ca.crt"] {
        symlink(Path::new("..data").join(name), dir.0.join(name)).unwrap();
    }
    let folder = dir.open();
    let next = ca.leaf();
    swap("..2", &next);
    folder.reload().unwrap();
    assert_eq!(folder.loaded().leaf, Some(der(&next.cert)));
    fs::remove_dir_all(&dir.0).unwrap();
    assert_eq!(folder.reload().unwrap_err().code, "FILE_MISSING");
    assert_eq!(folder.loaded().leaf, Some(der(&next.cert)));
}

#[test]
fn a_socket_in_the_place_of_a_file_is_refused() {
    let ca = Ca::new("ca");
    let dir = Dir::of(&ca.leaf(), &ca.pem);
    let folder = dir.open();
    fs::remove_file(dir.0.join("ca.crt")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(dir.0.join("ca.crt")).unwrap();
    assert_eq!(folder.reload().unwrap_err().code, "FILE_NOT_REGULAR");
}

#[test]
fn a_listener_that_panics_ends_nothing() {
    let ca = Ca::new("ca");
    let dir = Dir::of(&ca.leaf(), &ca.pem);
    let panics = Arc::new(AtomicBool::new(true));
    let listener = Arc::clone(&panics);
    let folder = dir
        .follow()
        .on_event(move |_| assert!(!listener.load(Ordering::Relaxed), "as the test asks"))
        .open()
        .unwrap();
    dir.write(&ca.leaf(), &ca.pem);
    catch_unwind(AssertUnwindSafe(|| folder.reload())).unwrap_err();
    panics.store(false, Ordering::Relaxed);
    let last = ca.leaf();
    dir.write(&last, &ca.pem);
    folder.reload().unwrap();
    assert_eq!(folder.loaded().leaf, Some(der(&last.cert)));
    let (client_config, server_config) = configs(&folder, &folder);
    shake(&client_config, &server_config).unwrap();
}

#[test]
fn each_change_and_each_new_failure_is_told_once() {
    let ca = Ca::new("ca");
    let dir = Dir::of(&ca.leaf(), &ca.pem);
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&told);
    let folder = dir
        .follow()
        .on_event(move |event| {
            let text = match event {
                Event::Reloaded(loads) => format!("load {loads}"),
                Event::Kept(error) => error.code.to_owned(),
            };
            listener.lock().unwrap().push(text);
        })
        .open()
        .unwrap();
    dir.write(&ca.leaf(), &ca.pem);
    folder.reload().unwrap();
    fs::write(dir.0.join("ca.crt"), "").unwrap();
    for _ in 0..3 {
        folder.reload().unwrap_err();
    }
    assert_eq!(*told.lock().unwrap(), ["load 2", "FILE_EMPTY"]);
}

#[test]
fn options_without_a_meaning_are_refused() {
    let ca = Ca::new("ca");
    let dir = Dir::of(&ca.leaf(), &ca.pem);
    for follow in [
        dir.follow().identity(None).ca(None),
        dir.follow().poll(Duration::ZERO),
    ] {
        assert_eq!(follow.open().unwrap_err().code, "OPTION_INVALID");
    }
}

#[test]
fn a_folder_without_a_bundle_accepts_no_server() {
    let ca = Ca::new("ca");
    let dir = Dir::of(&ca.leaf(), &ca.pem);
    let client = dir.follow().ca(None).open().unwrap();
    let (client_config, server_config) = configs(&client, &dir.open());
    shake(&client_config, &server_config).unwrap_err();
}

#[test]
fn following_ends_with_the_last_use() {
    let ca = Ca::new("ca");
    let dir = Dir::of(&ca.leaf(), &ca.pem);
    let folder = dir.open();
    let weak = Arc::downgrade(&folder.0);
    let config = folder.client_config().unwrap();
    drop(folder);
    assert!(weak.upgrade().is_some());
    drop(config);
    assert!(weak.upgrade().is_none());
}

#[test]
fn nothing_that_is_printed_holds_a_key() {
    let ca = Ca::new("ca");
    let leaf = ca.leaf();
    let dir = Dir::of(&leaf, &ca.pem);
    let folder = dir.open();
    let (client_config, server_config) = configs(&folder, &folder);
    let printed = format!("{folder:?} {client_config:?} {server_config:?}");
    let secret = leaf.key.lines().nth(1).unwrap();
    fs::write(dir.0.join("ca.crt"), &leaf.key).unwrap();
    let refused = folder.reload().unwrap_err().to_string();
    for text in [printed, refused, status(&[&folder])] {
        assert!(
            !text.contains(secret) && !text.contains("PRIVATE KEY---"),
            "{text}"
        );
    }
}

struct Fixed(Loaded);

impl Source for Fixed {
    fn loaded(&self) -> Loaded {
        self.0.clone()
    }
}

#[test]
fn a_document_stays_under_64_kib_and_says_what_it_left_out() {
    let anchor = der(&Ca::new("ca").pem);
    let of = |count: usize| {
        Fixed(Loaded {
            anchors: Some(vec![anchor.clone(); count]),
            ..Loaded::default()
        })
    };
    let listed = |text: &str| text.matches(&fingerprint(&anchor)).count();
    let small = status(&[&of(10)]);
    assert_eq!((listed(&small), small.contains("truncated")), (10, false));
    let large = status(&[&of(3000)]);
    assert_eq!(
        (listed(&large), large.contains("\"truncated\":true")),
        (512, true)
    );
    assert!(large.len() <= 64 * 1024);
}

#[test]
fn a_document_lists_what_is_sent_behind_the_leaf_where_that_is_known_and_short() {
    let ca = Ca::new("ca");
    let (behind, leaf) = (der(&ca.pem), der(&ca.leaf().cert));
    let shows = |chain: Option<usize>| {
        status(&[&Fixed(Loaded {
            leaf: Some(leaf.clone()),
            chain: chain.map(|count| vec![behind.clone(); count]),
            ..Loaded::default()
        })])
    };
    assert!(!shows(None).contains("chain"));
    assert!(shows(Some(0)).contains("\"chain\":[]"));
    let one = format!("\"chain\":[\"{}\"]", fingerprint(&behind));
    assert!(shows(Some(1)).contains(&one));
    assert!(shows(Some(8)).contains("chain"));
    assert!(!shows(Some(9)).contains("chain"));
}

#[test]
fn a_document_is_json_whatever_the_path() {
    let failure = Failure {
        reason: "read_error",
        code: "FILE_MISSING",
        path: "a\"b\\c\n\u{1}ü".into(),
        at: SystemTime::UNIX_EPOCH,
    };
    let text = status(&[&Fixed(Loaded {
        failure: Some(failure),
        ..Loaded::default()
    })]);
    assert!(
        text.contains(r#""path":"a\"b\\c\u000a\u0001ü","at":"1970-01-01T00:00:00.000Z""#),
        "{text}"
    );
    assert!(
        !text.contains("anchors"),
        "a source that verifies no peers lists no CAs"
    );
}

#[test]
fn the_metrics_show_the_cas_and_the_leaf_in_use() {
    let ca = Ca::new("ca");
    let (anchor, leaf) = (der(&ca.pem), der(&ca.leaf().cert));
    let of = |loaded: Loaded| {
        Fixed(Loaded {
            path: "a\"b\\c\n".into(),
            ..loaded
        })
    };
    let trust = of(Loaded {
        anchors: Some(vec![anchor.clone()]),
        ..Loaded::default()
    });
    let identity = of(Loaded {
        leaf: Some(leaf.clone()),
        ..Loaded::default()
    });
    let issuer = Certificate::read(leaf.to_vec())
        .and_then(|leaf| leaf.issuer_key_id)
        .unwrap();
    let expected = format!(
        concat!(
            "# TYPE tls_trust_anchor_info gauge\n",
            r#"tls_trust_anchor_info{{source="a\"b\\c\n",sha256="{}"}} 1"#,
            "\n# TYPE tls_leaf_info gauge\n",
            r#"tls_leaf_info{{source="a\"b\\c\n 2",sha256="{}",issuer_key_id="{}"}} 1"#,
            "\n"
        ),
        fingerprint(&anchor),
        fingerprint(&leaf),
        hex(&issuer)
    );
    assert_eq!(metrics(&[&trust, &identity]), expected);
    assert_eq!(metrics(&[&of(Loaded::default())]), "");
}

#[test]
fn the_status_server_answers_one_path() {
    let ca = Ca::new("ca");
    let dir = Dir::of(&ca.leaf(), &ca.pem);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    serve_status(listener, vec![Arc::new(dir.open())]).unwrap();
    let ask = |line: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream
            .write_all(format!("{line} HTTP/1.1\r\nHost: here\r\n\r\n").as_bytes())
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let found = ask(&format!("GET {PATH}"));
    assert!(
        found.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"),
        "{found}"
    );
    assert!(
        found.ends_with("}]}") && found.contains(&fingerprint(&der(&ca.pem))),
        "{found}"
    );
    assert!(ask(&format!("HEAD {PATH}")).ends_with("\r\n\r\n"));
    assert!(ask(&format!("POST {PATH}")).starts_with("HTTP/1.1 405 "));
    assert!(ask("GET /").starts_with("HTTP/1.1 404 "));
    // A head that is too long gets no answer.
    let mut stream = TcpStream::connect(address).unwrap();
    let long = "x".repeat(16 * 1024);
    let _ = stream.write_all(format!("GET {PATH} HTTP/1.1\r\nX: {long}\r\n\r\n").as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.is_empty());
}
