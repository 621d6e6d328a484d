//! An HTTP connection for many requests, one after the other.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// An open connection, and what each of its requests says of itself.
pub(crate) struct KeepAlive {
    stream: BufReader<TcpStream>,
    head: String,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
    pub(crate) body: String,
}

impl KeepAlive {
    /// Connects to `host:port` for requests of an agent to `/mcp`.
    pub(crate) fn connect(address: &str, token: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        stream.set_nodelay(true).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        );
        Self { stream: BufReader::new(stream), head }
    }

    /// Names the session in every request from here on.
    pub(crate) fn join(&mut self, session: &str) {
        self.head += &format!("Mcp-Session-Id: {session}\r\n");
    }

    /// Sends a message, and reads the whole answer.
    pub(crate) fn post(&mut self, message: &str) -> Answer {
        let request = format!("{}Content-Length: {}\r\n\r\n{message}", self.head, message.len());
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        let status = self.line().split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
        let (mut length, mut is_chunked, mut session) = (0, false, None);
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(':') else { break };
            match (name.to_ascii_lowercase().as_str(), value.trim()) {
                ("content-length", value) => length = value.parse().unwrap(),
                ("transfer-encoding", value) => is_chunked = value == "chunked",
                ("mcp-session-id", value) => session = Some(value.to_owned()),
                _ => {}
            }
        }
        let mut body = Vec::new();
        if is_chunked {
            loop {
                let size = usize::from_str_radix(&self.line(), 16).unwrap();
                self.read(size, &mut body);
                self.line();
                if size == 0 {
                    break;
                }
            }
        } else {
            self.read(length, &mut body);
        }
        Answer { status, session, body: String::from_utf8(body).unwrap() }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.stream.read_line(&mut line).unwrap(), 0, "the gateway closed the connection");
        line.trim_end().to_owned()
    }

    fn read(&mut self, size: usize, into: &mut Vec<u8>) {
        let begun = into.len();
        into.resize(begun + size, 0);
        self.stream.read_exact(&mut into[begun..]).unwrap();
    }
}
