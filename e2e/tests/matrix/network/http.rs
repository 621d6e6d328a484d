//! An HTTP server that believes everything: it answers whatever looks like a request, for any name.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::block_in_place;

use super::far::Shared;

/// What a far end serves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pages {
    /// What proves that somebody was answered; it is in every answer that is no page.
    pub(crate) token: String,
    /// Bodies by path, or by name and path where they differ between names.
    pub(crate) files: HashMap<String, Vec<u8>>,
    /// A folder of git repositories, served below `/git/`.
    pub(crate) git: Option<PathBuf>,
}

/// One request as it came.
struct Request {
    head: String,
    body: Vec<u8>,
}

/// Answers request after request, until the client has had enough.
pub(crate) async fn serve<S>(mut stream: S, log: &Shared, pages: &Pages)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut pending = Vec::new();
    while let Some(request) = next(&mut stream, &mut pending).await {
        log.lock().unwrap().requests.push(request.head.clone());
        if request.field("upgrade").is_some_and(|value| value.eq_ignore_ascii_case("websocket")) {
            return echo(stream, pages).await;
        }
        let answer = block_in_place(|| request.answer(pages));
        // A session keeps what did not fit into the socket until it is told to send it.
        let sent = stream.write_all(&answer).await.is_ok() && stream.flush().await.is_ok();
        if !sent || request.field("connection") == Some("close") {
            break;
        }
    }
    let _closed = stream.shutdown().await;
}

/// The next request with its body, however sloppy its line ends are.
async fn next<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S, pending: &mut Vec<u8>) -> Option<Request> {
    let end = loop {
        match end_of_head(pending) {
            Some(end) => break end,
            None if stream.read_buf(pending).await.ok()? == 0 => return None,
            None => {}
        }
    };
    let head: Vec<u8> = pending.drain(..end).collect();
    let mut request = Request { head: String::from_utf8_lossy(&head).into_owned(), body: Vec::new() };
    if request.field("expect").is_some() {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.ok()?;
        stream.flush().await.ok()?;
    }
    if request.field("transfer-encoding").is_some() {
        while !pending.ends_with(b"0\r\n\r\n") && !has_last_chunk(pending) {
            if stream.read_buf(pending).await.ok()? == 0 {
                return None;
            }
        }
        request.body = unchunked(pending)?;
    } else if let Some(length) = request.field("content-length").and_then(|text| text.parse::<usize>().ok()) {
        while pending.len() < length {
            if stream.read_buf(pending).await.ok()? == 0 {
                return None;
            }
        }
        request.body = pending.drain(..length).collect();
    }
    Some(request)
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    let after =
        |end: &[u8]| bytes.windows(end.len()).position(|window| window == end).map(|at| at + end.len());
    [after(b"\r\n\r\n"), after(b"\n\n")].into_iter().flatten().min()
}

/// Whether a short body is complete, whatever follows it.
fn has_last_chunk(pending: &[u8]) -> bool {
    pending.len() < 4096 && pending.windows(5).any(|window| window == b"0\r\n\r\n")
}

/// Takes a chunked body off the front.
fn unchunked(pending: &mut Vec<u8>) -> Option<Vec<u8>> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let line = pending.get(at..)?.windows(2).position(|window| window == b"\r\n")?;
        let length = std::str::from_utf8(&pending[at..at + line]).ok()?;
        let length = usize::from_str_radix(length.trim(), 16).ok()?;
        at += line + 2;
        body.extend_from_slice(pending.get(at..at + length)?);
        at += length + 2;
        if length == 0 {
            pending.drain(..at.min(pending.len()));
            return Some(body);
        }
    }
}

impl Request {
    fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (field, value) = line.split_once(':')?;
            field.trim().eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    fn answer(&self, pages: &Pages) -> Vec<u8> {
        let mut words = self.head.split_whitespace();
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if let (Some(root), Some(inside)) = (&pages.git, path.strip_prefix("/git")) {
            return self.backend(root.clone(), method, inside, query);
        }
        if path == "/length" {
            return answer("200 OK", "text/plain", format!("{} bytes", self.body.len()).as_bytes());
        }
        let named = format!("{}{path}", self.field("host").unwrap_or_default());
        match pages.files.get(&named).or_else(|| pages.files.get(path)) {
            Some(body) => answer("200 OK", kind(path), if method == "HEAD" { b"" } else { body }),
            None => answer("404 Not Found", "text/plain", pages.token.as_bytes()),
        }
    }

    /// What `git http-backend` answers.
    fn backend(&self, root: PathBuf, method: &str, path: &str, query: &str) -> Vec<u8> {
        let mut child = Command::new("git")
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .envs([
                ("GIT_CONFIG_COUNT", "1"),
                ("GIT_CONFIG_KEY_0", "safe.directory"),
                ("GIT_CONFIG_VALUE_0", "*"),
            ])
            .envs([("REQUEST_METHOD", method), ("PATH_INFO", path), ("QUERY_STRING", query)])
            .env("CONTENT_TYPE", self.field("content-type").unwrap_or_default())
            .env("CONTENT_LENGTH", self.body.len().to_string())
            .env("HTTP_CONTENT_ENCODING", self.field("content-encoding").unwrap_or_default())
            .env("GIT_PROTOCOL", self.field("git-protocol").unwrap_or_default())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let _written = input.write_all(&self.body);
        drop(input);
        let mut output = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
        child.wait().unwrap();
        let end = end_of_head(&output).unwrap_or(output.len());
        let head = String::from_utf8_lossy(&output[..end]).into_owned();
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        answer(
            field("Status:").unwrap_or("200 OK"),
            field("Content-Type:").unwrap_or("text/plain"),
            &output[end..],
        )
    }
}

fn kind(path: &str) -> &'static str {
    if path.ends_with('/') { "text/html" } else { "application/octet-stream" }
}

fn answer(status: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// Becomes another protocol, which says everything back.
async fn echo<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, pages: &Pages) {
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n{}",
        pages.token
    );
    let _greeted = stream.write_all(head.as_bytes()).await;
    let mut block = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut block).await {
        if stream.write_all(&block[..count]).await.is_err() {
            return;
        }
    }
}
