//! A small server on loopback, for guests that may reach it.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What a server does after it has said what it says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Then {
    /// Hangs up.
    Close,
    /// Says no more and does not hang up.
    Hold,
}

/// A server that answers by one function and remembers what it was sent.
pub(crate) struct Server {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts it; the function gets the number of the request and its text.
    pub(crate) async fn start<F>(respond: F) -> Self
    where
        F: Fn(usize, &str) -> (Vec<u8>, Then) + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (record, respond) = (Arc::clone(&seen), Arc::new(respond));
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (record, respond) = (Arc::clone(&record), Arc::clone(&respond));
                tokio::spawn(async move {
                    let mut request = Vec::new();
                    while !is_complete(&request) {
                        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
                            return;
                        }
                    }
                    let text = String::from_utf8_lossy(&request).into_owned();
                    let number = {
                        let mut seen = record.lock().unwrap();
                        seen.push(text.clone());
                        seen.len()
                    };
                    let (bytes, then) = respond(number, &text);
                    // Whoever has had enough closes early.
                    let _written = stream.write_all(&bytes).await;
                    if then == Then::Hold {
                        std::future::pending::<()>().await;
                    }
                });
            }
        });
        Self { port, seen, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Returns the requests so far, as they came over the wire.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn is_complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

/// A response with a length, which is longer than its body where it is broken off.
pub(crate) fn response(status: &str, headers: &str, body: &str, length: usize) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n{body}").into_bytes()
}

pub(crate) fn ok(body: &str) -> Vec<u8> {
    response("200 OK", "content-type: text/plain\r\n", body, body.len())
}
