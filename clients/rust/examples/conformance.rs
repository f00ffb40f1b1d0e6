//! The driver of the cases in clients/conformance: its README says which commands it reads and answers.

use std::io::{self, BufRead, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use handover::{Error, Folder, Follow, serve_status};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};

/// A field of a flat JSON object whose texts need no escape.
fn field<'a>(line: &'a str, name: &str) -> &'a str {
    let start = line
        .find(&format!("\"{name}\":"))
        .map_or(line.len(), |at| at + name.len() + 3);
    let value = &line[start..];
    match value.strip_prefix('"') {
        Some(text) => text.split('"').next().unwrap_or(""),
        None => value.split([',', '}']).next().unwrap_or(""),
    }
}

fn main() -> io::Result<()> {
    let mut client = None;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let id = field(&line, "id");
        let answer = match field(&line, "do") {
            "open" => match open(&line) {
                Ok((config, status, server)) => {
                    client = Some(config);
                    format!("\"ok\":true,\"status\":{status},\"server\":{server}")
                }
                Err(error) => {
                    let code = error.downcast_ref::<Error>().map_or("", |known| known.code);
                    format!("\"ok\":false,\"code\":\"{code}\"")
                }
            },
            _ => {
                let config = client.as_ref().ok_or(io::ErrorKind::NotConnected)?;
                format!("\"ok\":{}", dial(config, field(&line, "port")).is_ok())
            }
        };
        println!("{{\"id\":{id},{answer}}}");
    }
    Ok(())
}

type Opened = (Arc<ClientConfig>, u16, u16);

fn open(line: &str) -> Result<Opened, Box<dyn std::error::Error>> {
    let poll = Duration::from_millis(field(line, "pollMs").parse()?);
    let mesh: Folder = Follow::new(field(line, "dir")).poll(poll).open()?;
    let status = TcpListener::bind("127.0.0.1:0")?;
    let status_port = status.local_addr()?.port();
    serve_status(status, vec![Arc::new(mesh.clone())])?;
    let server = TcpListener::bind("127.0.0.1:0")?;
    let server_port = server.local_addr()?.port();
    let config = Arc::new(mesh.server_config()?);
    thread::spawn(move || {
        for stream in server.incoming().flatten() {
            let config = Arc::clone(&config);
            thread::spawn(move || answer(config, stream));
        }
    });
    Ok((Arc::new(mesh.client_config()?), status_port, server_port))
}

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";

fn answer(config: Arc<ServerConfig>, stream: TcpStream) -> io::Result<()> {
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut tls = StreamOwned::new(connection, stream);
    let mut head = Vec::new();
    let mut some = [0; 1024];
    while !head.ends_with(b"\r\n\r\n") {
        match tls.read(&mut some)? {
            0 => return Ok(()),
            count => head.extend_from_slice(&some[..count]),
        }
    }
    tls.write_all(HELLO)?;
    tls.conn.send_close_notify();
    tls.flush()
}

fn dial(config: &Arc<ClientConfig>, port: &str) -> io::Result<()> {
    let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
    let connection = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
    let mut tls = StreamOwned::new(connection, TcpStream::connect(format!("127.0.0.1:{port}"))?);
    tls.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut text = Vec::new();
    tls.read_to_end(&mut text)?;
    text.starts_with(b"HTTP/1.1 200")
        .then_some(())
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}
