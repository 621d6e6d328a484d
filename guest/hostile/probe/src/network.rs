//! The network by HTTP and by plain sockets.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Came, client};

/// An act on the network.
#[derive(Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub(crate) enum Act {
    /// Connects a socket to `host:port`, sends a text and returns the start of what comes back.
    Connect { address: String, text: Option<String> },
    /// Makes an HTTP request.
    Http(Exchange),
    /// Waits for connections.
    Listen { address: String },
    /// Looks a name up.
    Resolve { address: String },
    /// Sends a datagram.
    Udp { address: String },
}

/// An HTTP request as it is asked for.
#[derive(Deserialize)]
pub(crate) struct Exchange {
    pub(crate) url: String,
    pub(crate) method: Option<String>,
    pub(crate) body: Option<String>,
    pub(crate) header: Option<(String, String)>,
    pub(crate) most: Option<usize>,
}

impl Act {
    pub(crate) fn attempt(self) -> Came {
        match self {
            Self::Connect { address, text } => {
                connect(&address, &text.unwrap_or_default()).map_err(described)
            }
            Self::Http(wanted) => client::exchange(wanted),
            Self::Listen { address } => {
                let listener = TcpListener::bind(address).map_err(described)?;
                Ok(json!(listener.local_addr().map_err(described)?))
            }
            Self::Resolve { address } => {
                let found = address.to_socket_addrs().map_err(described)?;
                Ok(json!(found.collect::<Vec<_>>()))
            }
            Self::Udp { address } => {
                let socket = UdpSocket::bind("0.0.0.0:0").map_err(described)?;
                Ok(json!(socket.send_to(b"probe", address).map_err(described)?))
            }
        }
    }
}

fn connect(address: &str, text: &str) -> std::io::Result<Value> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(text.as_bytes())?;
    let mut start = Vec::new();
    stream.take(1000).read_to_end(&mut start)?;
    Ok(json!(String::from_utf8_lossy(&start)))
}

fn described(error: std::io::Error) -> String {
    format!("{:?}: {error}", error.kind())
}
