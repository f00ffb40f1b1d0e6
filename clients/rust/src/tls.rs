//! What rustls asks of a program: verifiers and resolvers over the material that is in use at each handshake.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, Resumption};
use rustls::crypto::{verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    SignatureScheme,
};

use crate::Folder;
use crate::material::Verifiers;

const UNKNOWN: Error = Error::InvalidCertificate(CertificateError::UnknownIssuer);

/// Whether a CA that is not loaded yet may have issued the peer's leaf. A CA that is renewed under its old name gives a bad signature.
fn may_be_new(error: &Error) -> bool {
    matches!(
        error,
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature)
    )
}

impl Folder {
    /// Verifies a peer with what is in use; if its CA is unknown, once more with what the files hold by now.
    fn verify<Verified>(
        &self,
        leaf: &CertificateDer<'_>,
        with: impl Fn(&Verifiers) -> Result<Verified, Error>,
    ) -> Result<Verified, Error> {
        let verify = |material: &crate::follow::Material| {
            let trust = material.trust.as_ref();
            match trust.and_then(|trust| trust.verifiers(leaf)) {
                Some(verifiers) => with(verifiers),
                None => Err(UNKNOWN),
            }
        };
        let before = self.0.in_use();
        match verify(&before) {
            Err(error) if may_be_new(&error) && self.0.look(&before) => verify(&self.0.in_use()),
            verdict => verdict,
        }
    }

    fn certified(&self) -> Option<Arc<CertifiedKey>> {
        let in_use = self.0.in_use();
        let identity = in_use.identity.as_ref()?;
        Some(Arc::clone(&identity.certified))
    }

    /// A configuration for clients that follows the folder: it verifies servers with the bundle and shows them the identity, if there is
    /// one. Without a bundle it accepts no server. Sessions are not resumed: a resumed session is not verified again, whatever CA has been removed since.
    ///
    /// # Errors
    /// When the provider supports no version of TLS that rustls does.
    pub fn client_config(&self) -> Result<ClientConfig, Error> {
        let mut config = ClientConfig::builder_with_provider(Arc::clone(self.0.provider()))
            .with_safe_default_protocol_versions()?
            // "Dangerous" is the name of each verifier that is not built in: this one verifies with webpki.
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier(self.clone())))
            .with_client_cert_resolver(Arc::new(Resolver(self.clone())));
        config.resumption = Resumption::disabled();
        Ok(config)
    }

    /// A configuration for servers that follows the folder: it shows the identity, and with a bundle it accepts only clients that show a
    /// certificate of one of its CAs. With a bundle no session is resumed.
    ///
    /// # Errors
    /// When the provider supports no version of TLS that rustls does.
    pub fn server_config(&self) -> Result<ServerConfig, Error> {
        let builder = ServerConfig::builder_with_provider(Arc::clone(self.0.provider()))
            .with_safe_default_protocol_versions()?;
        let resolver = Arc::new(Resolver(self.clone()));
        if self.0.in_use().trust.is_none() {
            return Ok(builder.with_no_client_auth().with_cert_resolver(resolver));
        }
        let mut config = builder
            .with_client_cert_verifier(Arc::new(Verifier(self.clone())))
            .with_cert_resolver(resolver);
        // rustls resumes without another look at the client's certificate.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }
}

/// Verifies servers and clients with the bundle of a [`Folder`] that is in use at each handshake.
///
/// [`Folder::client_config`] and [`Folder::server_config`] use it. In a configuration of your own, turn resumption off as they do.
pub struct Verifier(pub Folder);

impl fmt::Debug for Verifier {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Verifier").field(&self.0).finish()
    }
}

impl Verifier {
    fn signature12(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.0.provider().signature_verification_algorithms;
        verify_tls12_signature(message, leaf, signed, algorithms)
    }

    fn signature13(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.0.provider().signature_verification_algorithms;
        verify_tls13_signature(message, leaf, signed, algorithms)
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        let provider = self.0.0.provider();
        provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.0.verify(leaf, |verifiers| {
            let verifier = &verifiers.servers;
            verifier.verify_server_cert(leaf, intermediates, name, ocsp, now)
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signature12(message, leaf, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signature13(message, leaf, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

impl ClientCertVerifier for Verifier {
    /// None: rustls borrows the names for as long as the verifier lives, and they change. Clients then choose by themselves.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.0.verify(leaf, |verifiers| {
            let verifier = &verifiers.clients;
            verifier.verify_client_cert(leaf, intermediates, now)
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signature12(message, leaf, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signature13(message, leaf, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

/// Shows the identity of a [`Folder`] that is in use at each handshake, for servers and clients.
pub struct Resolver(pub Folder);

impl fmt::Debug for Resolver {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Resolver").field(&self.0).finish()
    }
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.certified()
    }
}

impl ResolvesClientCert for Resolver {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.0.certified()
    }

    fn has_certs(&self) -> bool {
        self.0.0.in_use().identity.is_some()
    }
}
