//! The head of a request: for whom it is, and how what follows it is cut.
//!
//! INVARIANT: a head that is read here has exactly one Host, which is the target in its canonical spelling (but for
//! case, a trailing dot and the port that http implies), and says at most once and in one way how long its body is.

use httparse::{EMPTY_HEADER, Error, Header, Status};
use ringfence_policy::{Host, Target};

use super::fault::shown;
use super::section::lines;
use super::{HttpFault, MOST_HEADERS};

/// The headers that say where a request goes and where it ends.
const DECISIVE: [&str; 3] = ["content-length", "host", "transfer-encoding"];

/// Protocols that would carry requests which nobody judges.
const CARRIERS: [&str; 4] = ["h2", "h2c", "http", "tls"];

/// Methods whose requests have no body by meaning: a server that does not look for one takes it for a request.
const BODILESS: [&str; 5] = ["DELETE", "GET", "HEAD", "OPTIONS", "TRACE"];

/// The port where a text names none.
const IMPLIED_PORT: &str = "80";

/// What a head says of the bytes behind it.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) framing: Framing,
    pub(super) upgrade: bool,
}

/// How the body is cut.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Framing {
    Chunked,
    Length(u64),
    #[default]
    None,
}

/// Reads a complete head of a connection that goes to the target.
pub(super) fn read(bytes: &[u8], target: &Target) -> Result<Head, HttpFault> {
    let mut lines = lines(bytes);
    check_version(lines.next().unwrap_or_default())?;
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(Status::Complete(length)) if length == bytes.len() => {}
        Ok(_) | Err(Error::HeaderName | Error::HeaderValue | Error::NewLine) => {
            return Err(HttpFault::Header);
        }
        Err(Error::TooManyHeaders) => return Err(HttpFault::Headers),
        Err(_) => return Err(HttpFault::RequestLine),
    }
    let (Some(method), Some(path), Some(version)) = (request.method, request.path, request.version) else {
        return Err(HttpFault::RequestLine);
    };
    check_form(method, path, target)?;
    let mut hosts = 0_usize;
    let mut head = Head::default();
    for header in request.headers.iter() {
        let line = lines.next().ok_or(HttpFault::Header)?;
        let name = header.name.to_ascii_lowercase();
        check_spelling(&name, header, line)?;
        match (name.as_str(), head.framing) {
            ("connection", _) => check_options(header)?,
            ("content-length", Framing::None) => head.framing = Framing::Length(length(header)?),
            ("content-length", Framing::Length(_)) => {
                return Err(HttpFault::Repeated { name: "Content-Length" });
            }
            ("content-length", Framing::Chunked) | ("transfer-encoding", Framing::Length(_)) => {
                return Err(HttpFault::BothLengths);
            }
            ("host", _) => {
                hosts = hosts.saturating_add(1);
                check_host(header, target)?;
            }
            ("http2-settings", _) => return Err(HttpFault::Upgrade { protocol: "h2c".to_owned() }),
            ("transfer-encoding", _) if version == 0 => return Err(HttpFault::CodingVersion),
            ("transfer-encoding", Framing::None) => head.framing = coding(header)?,
            ("transfer-encoding", Framing::Chunked) => {
                return Err(HttpFault::Repeated { name: "Transfer-Encoding" });
            }
            ("upgrade", _) => {
                check_upgrade(header)?;
                head.upgrade = true;
            }
            _ => {}
        }
    }
    if !matches!(head.framing, Framing::Length(0) | Framing::None)
        && let Some(&method) = BODILESS.iter().find(|known| **known == method)
    {
        return Err(HttpFault::Body { method });
    }
    match hosts {
        0 => Err(HttpFault::HostMissing),
        1 => Ok(head),
        _ => Err(HttpFault::Repeated { name: "Host" }),
    }
}

/// Checks the complete trailer of a chunked body, which may say nothing of where the request goes or ends.
pub(super) fn check_trailer(bytes: &[u8]) -> Result<(), HttpFault> {
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    match httparse::parse_headers(bytes, &mut headers) {
        Ok(Status::Complete((length, headers))) if length == bytes.len() => {
            let named = headers.iter().find(|header| is_decisive(header.name));
            named.map_or(Ok(()), |header| Err(HttpFault::Trailer { name: shown(header.name.as_bytes()) }))
        }
        Err(Error::TooManyHeaders) => Err(HttpFault::Headers),
        Ok(_) | Err(_) => Err(HttpFault::Header),
    }
}

/// Checks that a line is three words of which the last is a version that is judged here.
fn check_version(line: &[u8]) -> Result<(), HttpFault> {
    let mut words = line.split(|&byte| byte == b' ');
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some(_), Some(_), Some(b"HTTP/1.0" | b"HTTP/1.1"), None) => Ok(()),
        (Some(b"PRI"), Some(b"*"), Some(b"HTTP/2.0"), None) => Err(HttpFault::Http2),
        (Some(_), Some(_), Some(version), None) => Err(HttpFault::Version { found: shown(version) }),
        _ => Err(HttpFault::RequestLine),
    }
}

/// Checks what is asked for: a path, the same target spelled out, or the server as a whole.
fn check_form(method: &str, path: &str, target: &Target) -> Result<(), HttpFault> {
    if method == "CONNECT" {
        return Err(HttpFault::Connect);
    }
    let plain = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
    match path.strip_prefix("http://") {
        Some(rest) if plain => {
            let authority = rest.split(['/', '?']).next().unwrap_or_default();
            if is_for(authority, target) {
                return Ok(());
            }
            Err(HttpFault::Target { found: shown(authority.as_bytes()), target: target.clone() })
        }
        None if plain && (path.starts_with('/') || (path == "*" && method == "OPTIONS")) => Ok(()),
        Some(_) | None => Err(HttpFault::TargetForm { found: shown(path.as_bytes()) }),
    }
}

/// Checks that a decisive header is spelled in the one way that no server reads otherwise.
fn check_spelling(name: &str, header: &Header<'_>, line: &[u8]) -> Result<(), HttpFault> {
    if !is_decisive(name) {
        return Ok(());
    }
    let rest = line.strip_prefix(header.name.as_bytes()).and_then(|rest| rest.strip_prefix(b":"));
    let value = rest.map(|rest| rest.strip_prefix(b" ").unwrap_or(rest));
    if DECISIVE.contains(&name) && value == Some(header.value) {
        return Ok(());
    }
    Err(HttpFault::Spelling { line: shown(line) })
}

fn check_host(header: &Header<'_>, target: &Target) -> Result<(), HttpFault> {
    match std::str::from_utf8(header.value) {
        Ok(text) if is_for(text, target) => Ok(()),
        _ => Err(HttpFault::Host { found: shown(header.value), target: target.clone() }),
    }
}

/// Checks that nothing decisive is declared to be for the next hop only, which a server would take out.
fn check_options(header: &Header<'_>) -> Result<(), HttpFault> {
    match list(header).find(|option| is_decisive(option)) {
        Some(option) => Err(HttpFault::Option { name: shown(option.as_bytes()) }),
        None => Ok(()),
    }
}

fn check_upgrade(header: &Header<'_>) -> Result<(), HttpFault> {
    let carries = |protocol: &String| {
        CARRIERS.contains(&protocol.split('/').next().unwrap_or_default().to_ascii_lowercase().as_str())
    };
    match list(header).find(carries) {
        Some(protocol) => Err(HttpFault::Upgrade { protocol: shown(protocol.as_bytes()) }),
        None => Ok(()),
    }
}

fn length(header: &Header<'_>) -> Result<u64, HttpFault> {
    let plain = |text: &&str| {
        text.bytes().all(|byte| byte.is_ascii_digit()) && (*text == "0" || !text.starts_with('0'))
    };
    let text = std::str::from_utf8(header.value).ok().filter(plain);
    let length = text.and_then(|text| text.parse().ok());
    length.ok_or_else(|| HttpFault::Length { value: shown(header.value) })
}

fn coding(header: &Header<'_>) -> Result<Framing, HttpFault> {
    if header.value == b"chunked" {
        return Ok(Framing::Chunked);
    }
    Err(HttpFault::Coding { value: shown(header.value) })
}

/// Tells whether a text is the target, as an authority spells it.
fn is_for(text: &str, target: &Target) -> bool {
    let canonical = target.to_string();
    let Some((host, port)) = canonical.rsplit_once(':') else { return false };
    let (asked, asked_port) = match text.rsplit_once(':') {
        Some((asked, port)) if !port.ends_with(']') => (asked, port),
        _ => (text, IMPLIED_PORT),
    };
    let asked = match &target.host {
        Host::Address(_) => asked,
        Host::Name(_) => asked.strip_suffix('.').unwrap_or(asked),
    };
    asked.eq_ignore_ascii_case(host) && asked_port == port
}

/// Tells whether a name is one of a decisive header, also for a server to which `_` is `-`.
fn is_decisive(name: &str) -> bool {
    DECISIVE.contains(&name.to_ascii_lowercase().replace('_', "-").as_str())
}

/// Returns the members of a list, with what is not UTF-8 replaced.
fn list(header: &Header<'_>) -> impl Iterator<Item = String> {
    let members = header.value.split(|&byte| byte == b',');
    members.map(|member| String::from_utf8_lossy(member.trim_ascii()).into_owned())
}
