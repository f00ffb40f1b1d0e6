//! Certificates and trust that follow their files, for programs that use rustls: a CA rotation needs no restart, and the program shows what
//! it has in use, so that a rotation can wait for it.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = handover_example_folder();
//! use std::{net::TcpListener, sync::Arc};
//! use handover::{Folder, serve_status};
//!
//! let mesh = Folder::open(&dir)?; // tls.crt, tls.key, ca.crt
//! let server = Arc::new(mesh.server_config()?); // for whatever takes a rustls::ServerConfig
//! let client = Arc::new(mesh.client_config()?); // for whatever takes a rustls::ClientConfig
//! serve_status(TcpListener::bind("127.0.0.1:0")?, vec![Arc::new(mesh.clone())])?;
//! assert_eq!(mesh.loads(), 1);
//! # drop((server, client));
//! # Ok(())
//! # }
//! # fn handover_example_folder() -> std::path::PathBuf {
//! #     let dir = std::env::temp_dir().join(format!("handover-example-{}", std::process::id()));
//! #     std::fs::create_dir_all(&dir).unwrap();
//! #     let key = rcgen::KeyPair::generate().unwrap();
//! #     let pem = rcgen::CertificateParams::new(vec!["localhost".into()]).unwrap().self_signed(&key).unwrap().pem();
//! #     std::fs::write(dir.join("tls.key"), key.serialize_pem()).unwrap();
//! #     for name in ["tls.crt", "ca.crt"] { std::fs::write(dir.join(name), &pem).unwrap(); }
//! #     dir
//! # }
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod certificate;
mod error;
mod file;
mod follow;
mod material;
mod pem;
mod status;
#[cfg(test)]
mod tests;
mod time;
mod tls;

pub use error::Error;
pub use follow::{Event, Folder, Follow};
pub use status::{Failure, Loaded, PATH, Source, metrics, serve_status, status};
pub use tls::{Resolver, Verifier};
