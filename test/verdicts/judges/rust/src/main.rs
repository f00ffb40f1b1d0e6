//! What rustls would say: webpki on each case folder named on stdin, one JSON line each. Contract: ../../../src/judges.ts.
use rustls_pki_types::{pem::PemObject, CertificateDer, UnixTime};
use std::{io, path::Path};
use webpki::{anchor_from_trusted_cert, EndEntityCert, ExtendedKeyUsageValidator, KeyUsage, ALL_VERIFICATION_ALGS};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Box<dyn std::error::Error>> {
    Ok(CertificateDer::pem_file_iter(file)?.collect::<Result<Vec<_>, _>>()?)
}

fn judge(folder: &Path, usage: impl ExtendedKeyUsageValidator) -> Outcome {
    let chain = certificates(&folder.join("chain.pem"))?;
    let bundle = certificates(&folder.join("bundle.pem"))?;
    let anchors = bundle.iter().map(anchor_from_trusted_cert).collect::<Result<Vec<_>, _>>()?;
    let (leaf, rest) = chain.split_first().ok_or("empty chain")?;
    let leaf = EndEntityCert::try_from(leaf)?;
    leaf.verify_for_usage(ALL_VERIFICATION_ALGS, &anchors, rest, UnixTime::now(), usage, None, None)?;
    Ok(())
}

/// Reasons are ASCII, for which Rust's quoting is JSON's.
fn said(outcome: Outcome) -> String {
    format!("{:?}", outcome.err().map_or("ok".to_string(), |error| error.to_string()))
}

fn main() -> Result<(), io::Error> {
    for line in io::stdin().lines() {
        let folder = line?;
        let server = said(judge(Path::new(&folder), KeyUsage::server_auth()));
        let client = said(judge(Path::new(&folder), KeyUsage::client_auth()));
        println!("{{\"case\":{folder:?},\"server\":{server},\"client\":{client}}}");
    }
    Ok(())
}
