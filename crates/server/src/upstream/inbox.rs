//! What a server says of its own accord: notifications, and questions to the client.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, mpsc};

use super::Upstream;
use super::connection::{Asking, Connection};
use crate::clean::clean_raw;
use crate::era::{Era, SUBSCRIPTION};
use crate::message::{Message, Notification, Request, error_code, rpc_error};
use crate::raw::{Raw, RawObject, raw};

/// How many questions of one server may wait for the client at once.
const MOST_QUESTIONS: usize = 32;

impl Upstream {
    /// Hears a server until it is gone. It is not heard faster than its client listens.
    pub(super) fn listen(
        self: Arc<Self>,
        connection: Arc<Connection>,
        messages: mpsc::Receiver<Message>,
    ) -> BoxFuture<'static, ()> {
        self.hear(connection, messages).boxed()
    }

    async fn hear(self: Arc<Self>, connection: Arc<Connection>, mut messages: mpsc::Receiver<Message>) {
        let questions = Arc::new(Semaphore::new(MOST_QUESTIONS));
        while let Some(message) = messages.recv().await {
            match message {
                Message::Notification(notification) => self.heard(&connection, notification).await,
                Message::Request(request) => match Arc::clone(&questions).try_acquire_owned() {
                    Ok(permit) => {
                        let (upstream, connection) = (Arc::clone(&self), Arc::clone(&connection));
                        tokio::spawn(async move {
                            upstream.asked(&connection, request).await;
                            drop(permit);
                        });
                    }
                    Err(_) => {
                        let error = rpc_error(error_code::INTERNAL, "too many questions at once");
                        connection.answer(&request.id, &Err(error)).await;
                    }
                },
                Message::Response(response) => connection.deliver(response),
            }
            connection.heard();
        }
    }

    async fn heard(self: &Arc<Self>, connection: &Arc<Connection>, notification: Notification) {
        let Some(session) = self.session.upgrade() else { return };
        let Notification { method, mut params } = notification;
        untag(&mut params);
        match method.as_str() {
            "notifications/progress" => {
                let token = params.get("progressToken").and_then(|raw| raw.get().parse::<i64>().ok());
                let Some(tie) = token.and_then(|token| connection.progressing(token)) else { return };
                let Some(own) = tie.progress_token() else { return };
                params.set("progressToken", own);
                if let Some(params) = cleaned(&params) {
                    tie.notify(&method, Some(&params)).await;
                }
            }
            "notifications/tools/list_changed" | "notifications/prompts/list_changed" => {
                self.note_news(&method);
                if self.begin_looking() {
                    let upstream = Arc::clone(self);
                    let (connection, kind) = (Arc::clone(connection), method.clone());
                    tokio::spawn(async move { upstream.look_again(&connection, &kind).await });
                }
            }
            // These belong to the connection between a server and us.
            "notifications/cancelled" | "notifications/subscriptions/acknowledged" => {}
            "notifications/message" => {
                let Some(clean) = cleaned(&params) else { return };
                let tie = connection.asking(is_shared(connection));
                let wanted = |tie: &Arc<crate::tie::Tie>| match tie.era {
                    Era::Legacy => true,
                    Era::Modern => is_heard(params.text("level").as_deref(), tie.level.as_deref()),
                };
                match tie {
                    Asking::For(tie) if wanted(&tie) => tie.notify(&method, Some(&clean)).await,
                    Asking::For(_) | Asking::Unclear => {}
                    Asking::Nobody => session.notify(&method, Some(&clean)).await,
                }
            }
            _ if method.contains("ringfence") => {}
            _ => {
                if let Some(clean) = cleaned(&params) {
                    session.notify(&method, (!params.is_empty()).then_some(&*clean)).await;
                }
            }
        }
    }

    /// Judges lists anew that the server says have changed, before the client hears of it. One reading at a time, and the more
    /// often a list changes the more rarely it is read.
    async fn look_again(self: Arc<Self>, connection: &Arc<Connection>, method: &str) {
        loop {
            tokio::time::sleep(self.next_pause()).await;
            if let Some(session) = self.session.upgrade().filter(|_| !connection.gone.is_cancelled()) {
                let hello = Arc::clone(&connection.hello);
                let looked = match method {
                    "notifications/tools/list_changed" => self.refresh_tools(&session, &hello).await,
                    _ => self.refresh_prompts(&session, &hello).await,
                };
                if let Err(why) = looked {
                    tracing::warn!(server = %self.spec.name, "its list cannot be read: {why}");
                }
                session.notify(method, None).await;
            }
            self.end_looking();
            if !self.is_news_waiting(method) || !self.begin_looking() {
                return;
            }
        }
    }

    async fn asked(self: &Arc<Self>, connection: &Arc<Connection>, request: Request) {
        let answer = if request.method == "ping" {
            Ok(raw(&serde_json::json!({})))
        } else {
            self.passed_on(connection, &request).await
        };
        connection.answer(&request.id, &answer).await;
    }

    async fn passed_on(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        request: &Request,
    ) -> Result<Raw, Raw> {
        let refuse = |message: &str| Err(rpc_error(error_code::METHOD_NOT_FOUND, message));
        let needed = match request.method.as_str() {
            "sampling/createMessage" => Some("sampling"),
            "elicitation/create" => Some("elicitation"),
            "roots/list" => Some("roots"),
            _ => None,
        };
        // What clients ask servers is not asked the other way, and nobody speaks for us.
        let is_ours = |method: &str| {
            [
                "tools/",
                "prompts/",
                "resources/",
                "completion/",
                "logging/",
                "server/",
                "subscriptions/",
                "ringfence",
            ]
            .iter()
            .any(|start| method.starts_with(start))
                || method == "initialize"
        };
        if is_ours(&request.method) {
            return refuse("Method not found");
        }
        let params = self.question(&request.method, request.params.to_raw())?;
        let Some(session) = self.session.upgrade() else { return refuse("the client is gone") };
        match connection.asking(is_shared(connection)) {
            Asking::For(tie) if needed.is_some_and(|needed| !tie.can(needed)) => {
                refuse("the client cannot do that")
            }
            Asking::For(tie) => tie.ask(None, &request.method, params).await,
            Asking::Unclear => refuse("several requests are open, and it is not clear whose client to ask"),
            Asking::Nobody
                if needed.is_some_and(|needed| connection.hello.capabilities().get(needed).is_none()) =>
            {
                refuse("the client cannot do that")
            }
            Asking::Nobody => session.ask_anywhere(&request.method, &params).await,
        }
    }
}

/// Says whether the requests of a session may come from several clients: modern ones share it.
fn is_shared(connection: &Connection) -> bool {
    connection.hello.era == Era::Modern
}

/// Takes off what a modern server marks its notifications with: the number of a request of ours.
fn untag(params: &mut RawObject) {
    if let Some(mut meta) = params.object("_meta")
        && meta.remove(SUBSCRIPTION).is_some()
    {
        if meta.is_empty() {
            params.remove("_meta");
        } else {
            params.set("_meta", meta.to_raw());
        }
    }
}

fn cleaned(params: &RawObject) -> Option<Box<RawValue>> {
    clean_raw(&params.to_raw())
}

/// Says whether a log message is at least of the level that was asked for. Without one, none is.
fn is_heard(level: Option<&str>, least: Option<&str>) -> bool {
    const LEVELS: [&str; 8] =
        ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
    let place = |level: &str| LEVELS.iter().position(|known| *known == level);
    match (level.and_then(place), least.and_then(place)) {
        (Some(level), Some(least)) => level >= least,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_messages_are_heard_from_the_level_that_was_asked_for() {
        #[rustfmt::skip]
        let cases = [
            (Some("info"),    Some("info"),    true),
            (Some("error"),   Some("info"),    true),
            (Some("debug"),   Some("info"),    false),
            (Some("info"),    None,            false),
            (Some("strange"), Some("info"),    false),
            (None,            Some("info"),    false),
        ];
        for (level, least, heard) in cases {
            assert_eq!(is_heard(level, least), heard, "{level:?} {least:?}");
        }
    }
}
