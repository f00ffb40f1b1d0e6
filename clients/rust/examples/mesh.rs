//! A server and a client follow one folder each while their CA is replaced. `cargo run --example mesh`

use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, process, thread};

use handover::{Event, Folder, Follow, serve_status};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};

fn main() -> Result<(), Box<dyn Error>> {
    let dir = env::temp_dir().join(format!("handover-mesh-{}", process::id()));
    fs::create_dir_all(&dir)?;
    let (old, new) = (Ca::new("old")?, Ca::new("new")?);
    write(&dir, &old, &[&old])?;

    let mesh = Follow::new(&dir)
        .on_event(|event| match event {
            Event::Reloaded(loads) => println!("load {loads}"),
            Event::Kept(error) => eprintln!("the last good files stay in use: {error}"),
            _ => {}
        })
        .open()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let server = Arc::new(mesh.server_config()?);
    thread::spawn(move || serve(&listener, &server));
    let client = Arc::new(mesh.client_config()?);
    serve_status(
        TcpListener::bind("127.0.0.1:0")?,
        vec![Arc::new(mesh.clone())],
    )?;

    // What a rotation writes: trust in both CAs, a leaf of the new one, trust in the new one alone.
    println!("{}", call(&client, address)?);
    for (leaf, bundle) in [
        (&old, vec![&new, &old]),
        (&new, vec![&new, &old]),
        (&new, vec![&new]),
    ] {
        let before = mesh.loads();
        write(&dir, leaf, &bundle)?;
        while mesh.loads() == before {
            thread::sleep(Duration::from_millis(50)); // the folder looks once a second
        }
        println!("{}", call(&client, address)?);
    }
    println!("{}", document(&mesh));
    fs::remove_dir_all(&dir)?;
    Ok(())
}

fn document(mesh: &Folder) -> String {
    handover::status(&[mesh])
}

fn serve(listener: &TcpListener, config: &Arc<ServerConfig>) {
    for stream in listener.incoming().flatten() {
        let config = Arc::clone(config);
        thread::spawn(move || -> Result<(), Box<dyn Error + Send + Sync>> {
            let mut tls = StreamOwned::new(ServerConnection::new(config)?, stream);
            tls.write_all(b"hello")?;
            tls.conn.send_close_notify();
            Ok(tls.flush()?)
        });
    }
}

fn call(
    config: &Arc<ClientConfig>,
    address: std::net::SocketAddr,
) -> Result<String, Box<dyn Error>> {
    let connection = ClientConnection::new(Arc::clone(config), "localhost".try_into()?)?;
    let mut tls = StreamOwned::new(connection, TcpStream::connect(address)?);
    let mut text = String::new();
    tls.read_to_string(&mut text)?;
    Ok(text)
}

struct Ca {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Ca {
    fn new(name: &str) -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key)?.pem();
        let issuer = Issuer::new(params, key);
        Ok(Self { pem, issuer })
    }
}

/// All three files change together, as a mounted Secret does: a new folder, and a link to it.
fn write(dir: &Path, leaf_of: &Ca, bundle: &[&Ca]) -> Result<(), Box<dyn Error>> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(vec!["localhost".into()])?;
    params.use_authority_key_identifier_extension = true;
    let version = format!("..{}", hex(key.public_key_raw()));
    fs::create_dir(dir.join(&version))?;
    let pems: String = bundle.iter().map(|ca| ca.pem.as_str()).collect();
    let leaf = params.signed_by(&key, &leaf_of.issuer)?.pem();
    for (name, text) in [
        ("tls.crt", leaf),
        ("tls.key", key.serialize_pem()),
        ("ca.crt", pems),
    ] {
        fs::write(dir.join(&version).join(name), text)?;
        let link = dir.join(name);
        if !link.is_symlink() {
            std::os::unix::fs::symlink(Path::new("..data").join(name), link)?;
        }
    }
    std::os::unix::fs::symlink(&version, dir.join("..data_tmp"))?;
    Ok(fs::rename(dir.join("..data_tmp"), dir.join("..data"))?)
}

fn hex(bytes: &[u8]) -> String {
    bytes[1..9]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
