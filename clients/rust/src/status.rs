use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustls::pki_types::CertificateDer;

use crate::certificate::{Certificate, fingerprint, hex};
use crate::time::{iso, milliseconds};

/// Where a controller asks for the document. It is fixed.
pub const PATH: &str = "/handover/status";

/// What a controller reads of a document.
const MAX_BYTES: usize = 64 * 1024;

/// The files of an authority have one or two certificates behind the leaf. A longer chain is left out, so that documents stay small.
const MOST_BEHIND: usize = 8;

/// The material that a reloader has in use.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The first file of the source, for people.
    pub path: String,
    /// All CA certificates that peers are verified with, newest first. `None`: this source verifies no peers.
    pub anchors: Option<Vec<CertificateDer<'static>>>,
    /// The certificate that this process presents. `None`: it presents none.
    pub leaf: Option<CertificateDer<'static>>,
    /// The certificates that this process sends behind the leaf, such as a cross-certificate. `None`: not known. Empty: it sends the leaf alone.
    pub chain: Option<Vec<CertificateDer<'static>>>,
    /// 1 after the first load, and 1 more with each change. Zero leaves it out.
    pub loads: u64,
    /// When the material was loaded.
    pub loaded_at: Option<SystemTime>,
    /// Why the newest files are not in use. `None`: they are.
    pub failure: Option<Failure>,
}

/// A reload that kept the last good material in use.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The kind of failure: `read_error`, `empty`, `parse_error`, `mismatch`, `not_valid_now`.
    pub reason: &'static str,
    /// The code of the error.
    pub code: &'static str,
    /// The file.
    pub path: String,
    /// When the reload failed.
    pub at: SystemTime,
}

/// Tells what a reloader has in use. [`crate::Folder`] is one; a reloader of your own can be one too.
pub trait Source: Send + Sync {
    /// The material in use at this moment, and not what lies in a file.
    fn loaded(&self) -> Loaded;
}

/// The status document: which CA certificates and which leaf this process has in use. A rotation waits until it sees the new ones there.
/// Nothing in it is secret.
///
/// The environment variable `POD_UID` (metadata.uid, by the downward API) names the pod. Pods need it: an address passes to another pod
/// when one ends.
pub fn status(sources: &[&dyn Source]) -> String {
    let loaded: Vec<Loaded> = sources.iter().map(|source| source.loaded()).collect();
    let pod_uid = std::env::var("POD_UID").unwrap_or_default();
    let now = SystemTime::now();
    let mut text = render(&loaded, &pod_uid, now, None);
    // The oldest CAs are left out of a document that would be longer than a controller reads.
    let mut most = 512;
    while text.len() > MAX_BYTES && most >= 1 {
        text = render(&loaded, &pod_uid, now, Some(most));
        most /= 2;
    }
    text
}

/// What [`status`] shows as metrics, in the text format of Prometheus: for a program that has a metrics page already. A controller reads them
/// there: `tls_trust_anchor_info` and `tls_leaf_info`.
pub fn metrics(sources: &[&dyn Source]) -> String {
    let mut anchors = String::new();
    let mut leaves = String::new();
    let mut known: Vec<String> = Vec::new();
    for source in sources {
        let loaded = source.loaded();
        // Sources of the same file may hold different versions of it: each has a name of its own.
        let before = known.iter().filter(|path| **path == loaded.path).count();
        let mut name = loaded.path.replace('\\', "\\\\");
        name = name.replace('"', "\\\"").replace('\n', "\\n");
        if before > 0 {
            let _ = write!(name, " {}", before + 1);
        }
        known.push(loaded.path);
        for der in loaded.anchors.iter().flatten() {
            let sha256 = fingerprint(der);
            let _ = writeln!(
                anchors,
                "tls_trust_anchor_info{{source=\"{name}\",sha256=\"{sha256}\"}} 1"
            );
        }
        if let Some(der) = &loaded.leaf {
            let sha256 = fingerprint(der);
            let issuer = Certificate::read(der.to_vec()).and_then(|leaf| leaf.issuer_key_id);
            let issuer = issuer.map_or(String::new(), |id| {
                format!(",issuer_key_id=\"{}\"", hex(&id))
            });
            let _ = writeln!(
                leaves,
                "tls_leaf_info{{source=\"{name}\",sha256=\"{sha256}\"{issuer}}} 1"
            );
        }
    }
    let mut page = String::new();
    for (family, lines) in [
        ("tls_trust_anchor_info", anchors),
        ("tls_leaf_info", leaves),
    ] {
        if !lines.is_empty() {
            let _ = write!(page, "# TYPE {family} gauge\n{lines}");
        }
    }
    page
}

fn render(loaded: &[Loaded], pod_uid: &str, now: SystemTime, most: Option<usize>) -> String {
    let pid = std::process::id();
    let mut document = Object::default();
    document.raw("version", "1");
    document.text("at", &iso(milliseconds(now)));
    document.raw("pid", &pid.to_string());
    if !pod_uid.is_empty() {
        document.text("podUid", pod_uid);
    }
    document.raw("processes", &format!("[{{\"pid\":{pid}}}]"));
    let sources: Vec<String> = loaded.iter().map(|each| source(each, now, most)).collect();
    document.raw("sources", &format!("[{}]", sources.join(",")));
    if most.is_some() {
        document.raw("truncated", "true");
    }
    document.end()
}

fn source(loaded: &Loaded, now: SystemTime, most: Option<usize>) -> String {
    let mut shown = Object::default();
    let is_identity = loaded.leaf.is_some();
    shown.text("kind", if is_identity { "identity" } else { "trust" });
    shown.text("path", &loaded.path);
    if let Some(anchors) = &loaded.anchors {
        let listed = anchors.iter().take(most.unwrap_or(usize::MAX));
        let quoted: Vec<String> = listed
            .map(|der| format!("\"{}\"", fingerprint(der)))
            .collect();
        shown.raw("anchors", &format!("[{}]", quoted.join(",")));
    }
    if let Some(der) = &loaded.leaf {
        let mut leaf = Object::default();
        leaf.text("fingerprint", &fingerprint(der));
        if let Some(certificate) = Certificate::read(der.to_vec()) {
            if let Some(id) = &certificate.issuer_key_id {
                leaf.text("issuerKeyId", &hex(id));
            }
            leaf.text("notAfter", &iso(certificate.not_after * 1000));
        }
        if let Some(chain) = loaded
            .chain
            .as_ref()
            .filter(|chain| chain.len() <= MOST_BEHIND)
        {
            let quoted: Vec<String> = chain
                .iter()
                .map(|der| format!("\"{}\"", fingerprint(der)))
                .collect();
            leaf.raw("chain", &format!("[{}]", quoted.join(",")));
        }
        shown.raw("leaf", &leaf.end());
    }
    if loaded.loads > 0 {
        shown.raw("loads", &loaded.loads.to_string());
    }
    if let Some(at) = loaded.loaded_at {
        shown.text("loadedAt", &iso(milliseconds(at)));
        let age = (milliseconds(now) - milliseconds(at)).max(0);
        shown.raw("age", &format!("{}.{:03}", age / 1000, age % 1000));
    }
    if let Some(failure) = &loaded.failure {
        let mut last = Object::default();
        last.text("reason", failure.reason);
        last.text("code", failure.code);
        last.text("path", &failure.path);
        last.text("at", &iso(milliseconds(failure.at)));
        shown.raw("lastFailure", &last.end());
    }
    shown.end()
}

/// A JSON object that is written field by field.
#[derive(Default)]
struct Object(String);

impl Object {
    fn raw(&mut self, name: &str, json: &str) {
        let comma = if self.0.is_empty() { "" } else { "," };
        // Writing to a String never fails.
        let _ = write!(self.0, "{comma}\"{name}\":{json}");
    }

    fn text(&mut self, name: &str, text: &str) {
        self.raw(name, &quote(text));
    }

    fn end(self) -> String {
        format!("{{{}}}", self.0)
    }
}

fn quote(text: &str) -> String {
    let mut out = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// Connections that are answered at the same time.
const THREADS: usize = 4;
/// The time for one request, and the bytes of its head.
const REQUEST: Duration = Duration::from_secs(2);
const HEAD: u64 = 8 * 1024;

/// Answers `GET /handover/status` over plain HTTP with the status document, for as long as the process runs. Give it a port of its own, so
/// that it still answers when the TLS of this process is broken. A program that has an HTTP server can answer with [`status`] itself.
///
/// # Errors
/// When the system gives no thread.
pub fn serve_status(listener: TcpListener, sources: Vec<Arc<dyn Source>>) -> io::Result<()> {
    let sources: Arc<[Arc<dyn Source>]> = sources.into();
    for _ in 0..THREADS {
        let (listener, sources) = (listener.try_clone()?, Arc::clone(&sources));
        thread::Builder::new()
            .name("handover-status".into())
            .spawn(move || {
                loop {
                    match listener.accept() {
                        // A caller that has gone, or is too slow, is no trouble of ours.
                        Ok((stream, _)) => drop(answer(stream, &sources)),
                        // No descriptor is left: try again, and not in a hot loop.
                        Err(_) => thread::sleep(Duration::from_millis(100)),
                    }
                }
            })?;
    }
    Ok(())
}

fn answer(mut stream: TcpStream, sources: &[Arc<dyn Source>]) -> io::Result<()> {
    let until = Instant::now() + REQUEST;
    let mut head = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() as u64 >= HEAD {
            return Ok(());
        }
        stream.set_read_timeout(Some(left))?;
        let mut some = [0; 1024];
        match stream.read(&mut some)? {
            0 => return Ok(()),
            count => head.extend_from_slice(&some[..count]),
        }
    }
    let head = String::from_utf8_lossy(&head);
    let mut words = head.split([' ', '\r']);
    let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let path = target.split('?').next().unwrap_or("");
    let (code, kind, body) = match (method, path) {
        (_, path) if path != PATH => ("404 Not Found", "text/plain", "not found\n".to_owned()),
        ("GET" | "HEAD", _) => {
            let all: Vec<&dyn Source> = sources.iter().map(AsRef::as_ref).collect();
            ("200 OK", "application/json", status(&all))
        }
        _ => {
            let code = "405 Method Not Allowed\r\nAllow: GET, HEAD";
            (code, "text/plain", "only GET and HEAD\n".to_owned())
        }
    };
    let length = body.len();
    let mut text = format!(
        "HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    );
    if method != "HEAD" {
        text.push_str(&body);
    }
    stream.set_write_timeout(Some(REQUEST))?;
    stream.write_all(text.as_bytes())
}
