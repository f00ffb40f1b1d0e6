use std::collections::HashSet;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::CertifiedKey;
use rustls::{InconsistentKeys, RootCertStore};

use crate::Error;
use crate::certificate::{Certificate, Role};
use crate::pem::scan;
use crate::time::{Seconds, iso};

/// A chain with its key.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) leaf: CertificateDer<'static>,
    /// Sent behind the leaf.
    pub(crate) behind: Vec<CertificateDer<'static>>,
    pub(crate) certified: Arc<CertifiedKey>,
}

/// A bundle, and verifiers that end chains at its CAs.
#[derive(Debug)]
pub(crate) struct Trust {
    /// Newest first.
    pub(crate) anchors: Vec<Certificate>,
    cas: Option<Verifiers>,
    pinned: Vec<(CertificateDer<'static>, Verifiers)>,
}

#[derive(Debug)]
pub(crate) struct Verifiers {
    pub(crate) servers: Arc<WebPkiServerVerifier>,
    pub(crate) clients: Arc<dyn ClientCertVerifier>,
}

impl Trust {
    /// The verifiers for a peer that shows this leaf. None: no CA can have issued it.
    pub(crate) fn verifiers(&self, leaf: &CertificateDer<'_>) -> Option<&Verifiers> {
        // A pinned certificate accepts itself alone: webpki would also accept what its key has signed.
        self.pinned
            .iter()
            .find(|(pinned, _)| pinned.as_ref() == leaf.as_ref())
            .map(|(_, verifiers)| verifiers)
            .or(self.cas.as_ref())
    }
}

fn certificates(text: &[u8], path: &str) -> Result<Vec<Certificate>, Error> {
    let blocks = scan(text, path, |label, line| {
        if label == "CERTIFICATE" {
            return Ok(());
        }
        let (code, why) = if label.ends_with("PRIVATE KEY") {
            let why = "begins a private key; remove it, and replace the key if others could read the file";
            ("PEM_PRIVATE_KEY_IN_BUNDLE", why)
        } else {
            (
                "PEM_LABEL_REFUSED",
                "begins something else than a CERTIFICATE; remove it",
            )
        };
        Err(Error::new(code, path, format!("line {line} {why}")))
    })?;
    blocks
        .into_iter()
        .map(|block| Certificate::read(block.der).ok_or_else(|| malformed(path)))
        .collect()
}

fn malformed(path: &str) -> Error {
    let why = "a CERTIFICATE block holds no certificate that can be used";
    Error::new("CERTIFICATE_MALFORMED", path, why)
}

/// Reads a bundle. It refuses a private key, any other label, and a bundle without a CA. A leaf beside CAs is left out: webpki would
/// take it for a CA.
pub(crate) fn read_trust(
    text: &[u8],
    path: &str,
    provider: &Arc<CryptoProvider>,
) -> Result<Trust, Error> {
    let all = certificates(text, path)?;
    if all.is_empty() {
        let why = "no certificate; write at least one CA certificate";
        return Err(Error::new("BUNDLE_EMPTY", path, why));
    }
    let mut seen = HashSet::new();
    let mut anchors: Vec<Certificate> = all
        .into_iter()
        .filter(|each| each.role != Role::Leaf && seen.insert(each.der.clone()))
        .collect();
    if anchors.is_empty() {
        let why = "no CA certificate, only certificates that a CA issued; write the certificate of their CA";
        return Err(Error::new("BUNDLE_NO_CA", path, why));
    }
    anchors.sort_by_key(|each| std::cmp::Reverse(each.not_before));
    let of = |role| anchors.iter().filter(move |each| each.role == role);
    let cas: Vec<&Certificate> = of(Role::Ca).collect();
    let cas = match cas.as_slice() {
        [] => None,
        some => Some(verifiers(some, path, provider)?),
    };
    let pinned = of(Role::Pinned)
        .map(|each| Ok((each.der.clone(), verifiers(&[each], path, provider)?)))
        .collect::<Result<_, Error>>()?;
    Ok(Trust {
        cas,
        pinned,
        anchors,
    })
}

fn verifiers(
    anchors: &[&Certificate],
    path: &str,
    provider: &Arc<CryptoProvider>,
) -> Result<Verifiers, Error> {
    let mut store = RootCertStore::empty();
    for each in anchors {
        store.add(each.der.clone()).map_err(|_| malformed(path))?;
    }
    let store = Arc::new(store);
    // They fail for an empty store alone, and for lists of revoked certificates.
    let unusable = |_| malformed(path);
    let servers =
        WebPkiServerVerifier::builder_with_provider(Arc::clone(&store), Arc::clone(provider))
            .build()
            .map_err(unusable)?;
    let clients = WebPkiClientVerifier::builder_with_provider(store, Arc::clone(provider))
        .build()
        .map_err(unusable)?;
    Ok(Verifiers { servers, clients })
}

/// Reads a chain, leaf first, and its key. It refuses a key of another certificate, and a leaf that is not valid now.
pub(crate) fn read_identity(
    (chain_text, chain_path): (&[u8], &str),
    (key_text, key_path): (&[u8], &str),
    provider: &CryptoProvider,
    now: Seconds,
) -> Result<Identity, Error> {
    let chain = certificates(chain_text, chain_path)?;
    let ders: Vec<_> = chain.iter().map(|each| each.der.clone()).collect();
    let behind = ders.iter().skip(1).cloned().collect();
    let Some(leaf) = chain.into_iter().next() else {
        return Err(Error::new(
            "PEM_NO_CERTIFICATE",
            chain_path,
            "no certificate",
        ));
    };
    let key = provider
        .key_provider
        .load_private_key(read_key(key_text, key_path)?)
        // The error below is left out: it could quote what it has read.
        .map_err(|_| key_malformed(key_path))?;
    let certified = CertifiedKey::new(ders, key);
    match certified.keys_match() {
        Ok(()) => {}
        Err(rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
            let why = format!(
                "the key does not match the certificate in {chain_path}; write both together"
            );
            return Err(Error::new("KEY_MISMATCH", key_path, why));
        }
        Err(_) => return Err(malformed(chain_path)),
    }
    if now >= leaf.not_after {
        let why = format!("expired at {}; write a new one", iso(leaf.not_after * 1000));
        return Err(Error::new("CERTIFICATE_EXPIRED", chain_path, why));
    }
    if now < leaf.not_before {
        let begins = iso(leaf.not_before * 1000);
        let why = format!("not valid before {begins}; check this machine's clock");
        return Err(Error::new("CERTIFICATE_NOT_YET_VALID", chain_path, why));
    }
    Ok(Identity {
        leaf: leaf.der,
        behind,
        certified: Arc::new(certified),
    })
}

fn key_malformed(path: &str) -> Error {
    let why = "the private key cannot be read; write it again";
    Error::new("KEY_MALFORMED", path, why)
}

fn read_key(text: &[u8], path: &str) -> Result<PrivateKeyDer<'static>, Error> {
    let mut keys = scan(text, path, |_, _| Ok(()))?;
    if keys
        .iter()
        .any(|each| each.label == "ENCRYPTED PRIVATE KEY")
    {
        let why = "the private key is encrypted; write it without a passphrase";
        return Err(Error::new("KEY_ENCRYPTED", path, why));
    }
    keys.retain(|each| each.label.ends_with("PRIVATE KEY"));
    if keys.len() > 1 {
        let why = format!("{} private keys; write one", keys.len());
        return Err(Error::new("KEY_AMBIGUOUS", path, why));
    }
    let Some(key) = keys.pop() else {
        return Err(Error::new("KEY_MISSING", path, "no private key"));
    };
    match key.label.as_str() {
        "PRIVATE KEY" => Ok(PrivateKeyDer::Pkcs8(key.der.into())),
        "EC PRIVATE KEY" => Ok(PrivateKeyDer::Sec1(key.der.into())),
        "RSA PRIVATE KEY" => Ok(PrivateKeyDer::Pkcs1(key.der.into())),
        label => {
            let why = format!("{label} is no kind of key that can be read here");
            Err(Error::new("KEY_LABEL_REFUSED", path, why))
        }
    }
}
