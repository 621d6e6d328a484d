//! What a server says: answers go to whoever waits for them, and all else to the inbox.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::io::BufReader;
use tokio::net::unix::pipe;

use super::{Connection, GRACE, Inbox, lock};
use crate::line::{Line, Lines};
use crate::message::{Id, MAX_MESSAGE, Message, Response, error_code, rpc_error};

/// How much is read from a server at once.
const BUFFER: usize = 16 << 10;

impl Connection {
    pub(super) async fn read(self: Arc<Self>, from: pipe::Receiver, inbox: Inbox) {
        let mut lines = Lines::new(BufReader::with_capacity(BUFFER, from), MAX_MESSAGE);
        while let Ok(Some(line)) = lines.next().await {
            let messages = match line {
                Line::Text(text) => Message::parse(&self.without_secrets(text)).unwrap_or_default(),
                Line::TooLong(head) => {
                    self.fail_the_answered(&head);
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

    /// Fails the request that a line answers which was too long to be read: its number stands at the beginning or nowhere.
    fn fail_the_answered(&self, head: &str) {
        let number = head
            .split("\"id\":")
            .nth(1)
            .map(|rest| rest.trim_start().chars().take_while(char::is_ascii_digit).collect::<String>());
        let number = number.and_then(|digits| digits.parse::<i64>().ok());
        if let Some(pending) = number.and_then(|number| lock(&self.pending).remove(&number)) {
            let message = format!("the answer is larger than {} MiB", MAX_MESSAGE >> 20);
            drop(pending.tell.send(Err(rpc_error(error_code::INTERNAL, &message))));
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
