//! Prints the status document over a reloader of your own: `cargo run --example shows -- /etc/mesh`

use std::{env, error::Error, path::Path};

use handover::{Loaded, Source, status};
use rustls::pki_types::{CertificateDer, pem::PemObject};

struct Mine(Loaded); // your reloader

impl Source for Mine {
    fn loaded(&self) -> Loaded {
        self.0.clone()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = env::args().nth(1).ok_or("which folder?")?;
    let read = |name| -> Result<Vec<_>, _> {
        CertificateDer::pem_file_iter(Path::new(&dir).join(name))?.collect()
    };
    let (anchors, chain) = (read("ca.crt")?, read("tls.crt")?);
    let mine = Mine(Loaded {
        anchors: Some(anchors),
        leaf: chain.into_iter().next(),
        ..Loaded::default()
    });
    println!("{}", status(&[&mine]));
    Ok(())
}
