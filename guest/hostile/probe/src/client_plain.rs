//! HTTP by a socket, for the program: one exchange without TLS, read until the other side closes.

use std::io::{Read, Write};
use std::net::TcpStream;

use ringfence_guest::http::DEFAULT_MOST;
use serde_json::json;

use crate::Came;
use crate::network::Exchange;

pub(crate) fn exchange(wanted: Exchange) -> Came {
    let rest = wanted.url.strip_prefix("http://").ok_or("only `http://` can be asked for without TLS")?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let address = if authority.contains(':') { authority.to_owned() } else { format!("{authority}:80") };
    let header = wanted.header.map_or_else(String::new, |(name, value)| format!("{name}: {value}\r\n"));
    let body = wanted.body.unwrap_or_default();
    let request = format!(
        "{} /{path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\nContent-Length: {}\r\n{header}\r\n{body}",
        wanted.method.as_deref().unwrap_or("GET"),
        body.len(),
    );
    let most = wanted.most.unwrap_or(DEFAULT_MOST);
    let text = ask(&address, &request, most).map_err(|error| format!("{:?}: {error}", error.kind()))?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or("the answer is no HTTP")?;
    let status: Option<u16> = head.split(' ').nth(1).and_then(|number| number.parse().ok());
    let location = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("location").then(|| value.trim())
    });
    Ok(json!({ "status": status.ok_or("the answer has no status")?, "body": body, "location": location }))
}

fn ask(address: &str, request: &str, most: usize) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    stream.take(most as u64).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
