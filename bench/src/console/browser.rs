//! Browsers that only count: one connection that asks again and again, and many that follow.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::Outcome;

/// A connection that stays.
pub struct Connection {
    reader: BufReader<TcpStream>,
    address: String,
    token: String,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    ///
    /// Nobody listens there.
    #[expect(clippy::disallowed_methods, reason = "a measurement connects to what it measures")]
    pub fn open(address: &str, token: &str) -> Outcome<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Self { reader: BufReader::new(stream), address: address.to_owned(), token: token.to_owned() })
    }

    /// Asks for a page, and returns what it holds.
    ///
    /// # Errors
    ///
    /// It is not there.
    pub fn get(&mut self, path: &str) -> Outcome<String> {
        let (address, token) = (&self.address, &self.token);
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n");
        self.reader.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        if !line.contains(" 200 ") {
            return Err(format!("{path}: {}", line.trim()).into());
        }
        let mut length = None;
        loop {
            line.clear();
            self.reader.read_line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = Some(value.trim().parse()?);
            }
        }
        let mut body = vec![0; length.ok_or("a page says how long it is")?];
        self.reader.read_exact(&mut body)?;
        Ok(String::from_utf8(body)?)
    }

    /// Returns how large everything is that a page names.
    ///
    /// # Errors
    ///
    /// Something of it is not there.
    pub fn assets(&mut self, path: &str) -> Outcome<usize> {
        let page = self.get(path)?;
        let mut named: Vec<&str> = page.split('"').filter(|part| part.starts_with("/assets/")).collect();
        named.sort_unstable();
        named.dedup();
        let mut bytes = 0;
        for name in named {
            bytes += self.get(name)?.len();
        }
        Ok(bytes)
    }
}

/// Follows the log from an index on, and counts events until told to stop; each must be the one after the last.
///
/// # Errors
///
/// One is missing, or came twice.
#[expect(clippy::disallowed_methods, reason = "a measurement connects to what it measures")]
pub fn follow(
    address: &str,
    token: &str,
    from: u64,
    over: &AtomicBool,
    received: &AtomicU64,
) -> Outcome<u64> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_millis(100)))?;
    let head =
        format!("GET /live?from={from} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let (mut held, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    let mut next = from;
    while !over.load(Ordering::Relaxed) {
        match stream.read(&mut buffer) {
            Ok(0) => return Err("the stream has ended".into()),
            Ok(count) => held.extend(buffer.iter().take(count)),
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) =>
            {
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        let end = held.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = held.drain(..end).collect();
        for line in lines.split(|byte| *byte == b'\n') {
            let Some(index) = line.strip_prefix(b"id: ") else { continue };
            let index: u64 = std::str::from_utf8(index)?.trim().parse()?;
            if index != next {
                return Err(format!("after {next} came {index}").into());
            }
            next += 1;
            received.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(next - from)
}
