//! A server that follows its files: `cargo run --example server -- /etc/mesh`

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::{env, thread};

use handover::{Folder, serve_status};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

fn main() -> Result<(), Box<dyn Error>> {
    let dir = env::args().nth(1).ok_or("which folder?")?;
    let mesh = Folder::open(dir)?; // tls.crt, tls.key, ca.crt
    let status = TcpListener::bind("127.0.0.1:9464")?;
    serve_status(status, vec![Arc::new(mesh.clone())])?;

    let config = Arc::new(mesh.server_config()?);
    let listener = TcpListener::bind("127.0.0.1:8443")?;
    println!("listening on 8443");
    for stream in listener.incoming() {
        let (stream, config) = (stream?, Arc::clone(&config));
        thread::spawn(move || answer(stream, config));
    }
    Ok(())
}

type Answered = Result<(), Box<dyn Error + Send + Sync>>;

fn answer(stream: TcpStream, config: Arc<ServerConfig>) -> Answered {
    let mut tls = BufReader::new(StreamOwned::new(ServerConnection::new(config)?, stream));
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        if tls.read_line(&mut line)? == 0 {
            return Ok(());
        }
    }
    let tls = tls.get_mut();
    tls.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n")?;
    tls.conn.send_close_notify();
    Ok(tls.flush()?)
}
