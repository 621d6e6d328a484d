//! A client that sends exactly what the test says, and reads what comes: whole, or event by event.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::net::TcpStream;

use crate::it::wait::PATIENCE;

#[derive(Clone)]
pub(crate) struct Client {
    address: SocketAddr,
    headers: Vec<(String, String)>,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

/// An answer that is being read.
pub(crate) struct Live<S = TcpStream> {
    stream: BufReader<S>,
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    text: String,
    is_over: bool,
}

/// One event of a stream.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) data: String,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, token: &str) -> Self {
        let mut client = Self { address, headers: Vec::new() };
        for (name, value) in [
            ("host", address.to_string()),
            ("authorization", format!("Bearer {token}")),
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
        ] {
            client.headers.push((name.to_owned(), value));
        }
        client
    }

    /// Sets a header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(own, _)| own != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets headers of one line: `name: value | name: value`, `-name` for none, `+name: value` for one more.
    pub(crate) fn headers(mut self, line: &str) -> Self {
        for one in line.split(" | ").filter(|one| !one.is_empty()) {
            if let Some(name) = one.strip_prefix('-') {
                self.headers.retain(|(own, _)| own != name);
                continue;
            }
            let (name, value) = one.split_once(": ").unwrap();
            match name.strip_prefix('+') {
                Some(name) => self.headers.push((name.to_owned(), value.to_owned())),
                None => self = self.header(name, value),
            }
        }
        self
    }

    pub(crate) async fn post(&self, body: &str) -> Reply {
        self.send("POST", "/mcp", body).await
    }

    /// Sends a request on a connection of its own, and reads the whole answer.
    pub(crate) async fn send(&self, method: &str, path: &str, body: &str) -> Reply {
        self.open(method, path, body).await.whole().await
    }

    /// Sends a request on a connection of its own, and reads the head of the answer.
    pub(crate) async fn open(&self, method: &str, path: &str, body: &str) -> Live {
        let stream = self.start(method, path, body).await;
        Live::read(stream).await
    }

    /// Sends a request on a connection of its own.
    pub(crate) async fn start(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = self.connect().await;
        // Whoever refuses a head need not read the rest of it.
        let _written = stream.write_all(self.text(method, path, body).as_bytes()).await;
        stream
    }

    /// Sends a request on a connection that takes little at a time.
    #[expect(clippy::disallowed_methods, reason = "a test is a client")]
    pub(crate) async fn start_narrow(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(16 << 10).unwrap();
        let mut stream = socket.connect(self.address).await.unwrap();
        stream.write_all(self.text(method, path, body).as_bytes()).await.unwrap();
        stream
    }

    #[expect(clippy::disallowed_methods, reason = "a test is a client")]
    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Writes a request.
    pub(crate) fn text(&self, method: &str, path: &str, body: &str) -> String {
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !self.headers.iter().any(|(name, _)| name == "content-length" || name == "transfer-encoding") {
            text.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        text + "\r\n" + body
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Live<S> {
    /// Reads the head of an answer.
    pub(crate) async fn read(stream: S) -> Self {
        let mut stream = BufReader::new(stream);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            tokio::time::timeout(PATIENCE, stream.read_line(&mut line)).await.expect("no answer").unwrap();
            let line = line.trim_end().to_owned();
            if line.is_empty() {
                break;
            }
            lines.push(line);
        }
        let status = lines.first().and_then(|line| line.split(' ').nth(1)).and_then(|text| text.parse().ok());
        let headers = lines.iter().skip(1).filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        Self { stream, status: status.unwrap_or(0), headers, text: String::new(), is_over: false }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// Reads the rest of the answer.
    pub(crate) async fn whole(mut self) -> Reply {
        if let Some(length) = self.header("content-length").map(|text| text.parse().unwrap()) {
            let mut body = vec![0; length];
            tokio::time::timeout(PATIENCE, self.stream.read_exact(&mut body)).await.unwrap().unwrap();
            self.text = String::from_utf8(body).unwrap();
        } else if self.header("transfer-encoding").is_some() {
            while self.more().await {}
        }
        Reply { status: self.status, headers: self.headers, body: self.text }
    }

    /// Reads the next event; nothing at the end. Comments are left out.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let block = block.to_owned();
                self.text = rest.to_owned();
                if !block.starts_with(':') {
                    return Some(Event::parse(&block));
                }
            } else if !self.more().await {
                return None;
            }
        }
    }

    /// Reads the next event, which must have a message.
    pub(crate) async fn message(&mut self) -> Value {
        let event = self.event().await.expect("the stream ended");
        serde_json::from_str(&event.data).unwrap_or_else(|_| panic!("{event:?}"))
    }

    /// Returns what was read and is no event yet.
    pub(crate) fn rest(&self) -> &str {
        &self.text
    }

    /// Reads one more piece; false at the end.
    pub(crate) async fn more(&mut self) -> bool {
        if self.is_over {
            return false;
        }
        let mut size = String::new();
        let read =
            tokio::time::timeout(PATIENCE, self.stream.read_line(&mut size)).await.expect("nothing came");
        let size = match read {
            Ok(1..) => usize::from_str_radix(size.trim(), 16).unwrap_or_else(|_| panic!("{size:?}")),
            _ => 0,
        };
        let mut piece = vec![0; size + 2];
        if size == 0 || self.stream.read_exact(&mut piece).await.is_err() {
            self.is_over = true;
            return false;
        }
        piece.truncate(size);
        self.text.push_str(std::str::from_utf8(&piece).unwrap());
        true
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// Returns the number of the error in the answer, nought where there is none.
    pub(crate) fn code(&self) -> i64 {
        self.json().pointer("/error/code").and_then(Value::as_i64).unwrap_or(0)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    /// Returns the events of an answer that was a stream.
    pub(crate) fn events(&self) -> Vec<Event> {
        self.body
            .split("\n\n")
            .filter(|block| !block.is_empty() && !block.starts_with(':'))
            .map(Event::parse)
            .collect()
    }
}

impl Event {
    fn parse(block: &str) -> Self {
        let mut event = Self::default();
        for line in block.split('\n') {
            match line.split_once(": ") {
                Some(("id", id)) => event.id = Some(id.to_owned()),
                Some(("event", kind)) => event.kind = Some(kind.to_owned()),
                Some(("data", data)) => event.data.push_str(data),
                _ => panic!("{block:?}"),
            }
        }
        event
    }
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
}

/// Writes a request that speaks for itself.
pub(crate) fn modern(id: i64, method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{comma}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

/// Writes a request of a session.
pub(crate) fn legacy(id: i64, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#)
}
