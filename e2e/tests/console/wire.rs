//! The smallest HTTP client: one request, one answer, every header as the test wants it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (own, value) = line.split_once(':')?;
            own.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The cookie that it sets, as a request brings it.
    pub(crate) fn cookie(&self) -> String {
        self.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
    }
}

/// Sends a request to `address` and reads the whole answer.
pub(crate) fn send(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        request += &format!("Host: {address}\r\n");
    }
    if !body.is_empty() || method != "GET" {
        request += &format!("Content-Length: {}\r\n", body.len());
    }
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{request}\r\n{body}").as_bytes()).unwrap();
    let text = String::from_utf8_lossy(&read(&mut stream)).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { unchunked(body) } else { body.to_owned() };
    Answer { status, head: head.to_owned(), body }
}

/// Reads as much as the answer says it has, or to the end where it does not say: not everybody closes when asked to.
fn read(stream: &mut TcpStream) -> Vec<u8> {
    let (mut bytes, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        if let Some(head) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
            if let Some(length) = length.and_then(|length| length.trim().parse::<usize>().ok())
                && bytes.len() >= head + 4 + length
            {
                return bytes;
            }
        }
        match stream.read(&mut piece).unwrap() {
            0 => return bytes,
            count => bytes.extend_from_slice(&piece[..count]),
        }
    }
}

fn unchunked(mut text: &str) -> String {
    let mut all = String::new();
    while let Some((length, rest)) = text.split_once("\r\n") {
        let length = usize::from_str_radix(length.trim(), 16).unwrap_or_default();
        if length == 0 || length > rest.len() {
            break;
        }
        let (piece, rest) = rest.split_at(length);
        all += piece;
        text = rest.trim_start_matches("\r\n");
    }
    all
}
