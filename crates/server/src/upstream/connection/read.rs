//! What a server says: answers go to whoever waits for them, and all else to the inbox.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ringfence::policy::Size;
use tokio::io::BufReader;
use tokio::net::unix::pipe;

use super::{Connection, EXIT_REPORT, GRACE, Inbox, lock};
use crate::line::{Line, Lines};
use crate::message::{Id, Message, Response, error_code, rpc_error};
use crate::oversize::Oversize;

/// How much is read from a server at once.
const BUFFER: usize = 16 << 10;

impl Connection {
    pub(super) async fn read(self: Arc<Self>, from: pipe::Receiver, inbox: Inbox) {
        let mut lines = Lines::new(BufReader::with_capacity(BUFFER, from), self.max_message);
        while let Ok(Some(line)) = lines.next().await {
            let messages = match line {
                Line::Text(text) => Message::parse(&self.without_secrets(text)).unwrap_or_default(),
                Line::TooLong(all) => {
                    for one in all {
                        self.refuse_oversize(one).await;
                    }
                    Vec::new()
                }
                Line::NotText => Vec::new(),
            };
            if messages.is_empty() {
                self.count_junk();
            }
            for message in messages {
                match message {
                    // What was said before an answer is heard before it.
                    Message::Response(response) if self.unheard.load(Ordering::Acquire) == 0 => {
                        self.deliver(response);
                    }
                    other => {
                        self.unheard.fetch_add(1, Ordering::AcqRel);
                        if inbox.send(other).await.is_err() {
                            return;
                        }
                    }
                }
            }
        }
        // Its exit code says more, and comes a moment later.
        let _known = tokio::time::timeout(EXIT_REPORT, self.exited.cancelled()).await;
        self.end("it closed its output");
        // Nobody hears it any more, so it need not go on; it has a moment to end by itself.
        tokio::time::sleep(GRACE).await;
        drop(lock(&self.leash).take());
    }

    /// Gives an answer to whoever waits for it.
    pub(crate) fn deliver(&self, response: Response) {
        let number = match response.id {
            Some(Id::Number(number)) => Some(number),
            _ => None,
        };
        match number.and_then(|number| lock(&self.pending).remove(&number)) {
            Some(pending) => drop(pending.tell.send(response.answer)),
            None => self.count_junk(),
        }
    }

    /// Takes note that something was heard.
    pub(crate) fn heard(&self) {
        self.unheard.fetch_sub(1, Ordering::AcqRel);
    }

    /// Fails at once what a message that is too large answers; one that asks something is answered itself.
    async fn refuse_oversize(&self, message: Oversize) {
        let Oversize { id: Some(id), has_method } = message else { return };
        let most = Size::new(u64::try_from(self.max_message).unwrap_or(u64::MAX));
        if has_method {
            let error = rpc_error(error_code::INVALID_REQUEST, &format!("the message is larger than {most}"));
            return self.answer(&id, &Err(error)).await;
        }
        let Id::Number(number) = id else { return };
        if let Some(pending) = lock(&self.pending).remove(&number) {
            let why = format!(
                "the server's answer is larger than {most}; raise `max_message` of its `[[server]]` entry"
            );
            drop(pending.tell.send(Err(rpc_error(error_code::INTERNAL, &why))));
        }
    }

    /// Returns how many lines were no message, or answered nothing.
    pub(crate) fn junk(&self) -> u64 {
        self.junk.load(Ordering::Relaxed)
    }

    fn count_junk(&self) {
        self.junk.fetch_add(1, Ordering::Relaxed);
    }
}
