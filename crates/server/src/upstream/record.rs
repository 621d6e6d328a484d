//! What happens to a server, on its way into the audit.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use ringfence::egress::{Evidence, Witness};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::connection::{Connection, Gone};
use super::{Upstream, lock};
use crate::ingress::Judgement;
use crate::session::Session;

/// How many connections may wait to be kept; what is beyond is counted.
const ROOM: usize = 1024;

/// What was last kept of each definition: its digest and why it is withheld.
pub(super) type Kept = HashMap<String, (String, String)>;

/// Takes what a server reaches.
pub(super) struct Recorder(mpsc::Sender<Evidence>);

impl Witness for Recorder {
    fn saw(&self, evidence: &Evidence) {
        if self.0.try_send(evidence.clone()).is_err() {
            tracing::warn!("more connections than can be kept: one of {} is not in the audit", evidence.host);
        }
    }
}

impl Upstream {
    /// Begins to keep what a server reaches.
    pub(super) fn recorder(self: &Arc<Self>) -> Arc<dyn Witness> {
        let (sender, mut evidence) = mpsc::channel(ROOM);
        let (session, server) = (Weak::clone(&self.session), self.spec.name.clone());
        tokio::spawn(async move {
            while let Some(seen) = evidence.recv().await {
                let Some(session) = session.upgrade() else { return };
                let about = serde_json::to_value(&seen).unwrap_or_default();
                told(session.keep_server(&server, "connection", about).await);
            }
        });
        Arc::new(Recorder(sender))
    }

    /// Keeps that a server was started, and later that it ended. One that cannot be kept is not used.
    pub(super) async fn keep_started(self: &Arc<Self>, connection: &Arc<Connection>) -> Result<(), Gone> {
        let Some(session) = self.session.upgrade() else { return Ok(()) };
        let said = connection.said();
        let info: Value = said
            .get("serverInfo")
            .and_then(|info| serde_json::from_str(info.get()).ok())
            .map(|info: Value| ringfence::text::clean_json(&info).0.unwrap_or(info))
            .unwrap_or_default();
        let kept = session.keep_server(&self.spec.name, "started", json!({ "server": info })).await;
        kept.map_err(|error| Gone {
            why: format!("its start could not be recorded: {error}"),
            asked: false,
        })?;
        let (session, server, connection) =
            (Weak::clone(&self.session), self.spec.name.clone(), Arc::clone(connection));
        tokio::spawn(async move {
            connection.gone.cancelled().await;
            if let Some(session) = session.upgrade() {
                let about = json!({ "why": connection.why(true).why, "junk": connection.junk() });
                told(session.keep_server(&server, "ended", about).await);
            }
        });
        Ok(())
    }

    /// Keeps what was decided about definitions, where that is news.
    pub(super) async fn keep_judgement(
        &self,
        session: &Session,
        judgement: &Judgement,
    ) -> Result<(), String> {
        for (key, definition) in &judgement.accepted {
            let digest = ringfence::json_digest(definition).unwrap_or_default();
            if self.is_news(key, &digest, "") {
                let about = json!({ "definition": key, "digest": digest });
                session.keep_server(&self.spec.name, "accepted", about).await?;
            }
        }
        for seen in &judgement.seen {
            if self.is_news(&seen.key, &seen.digest, &seen.why) {
                let about = json!({ "definition": seen.key, "digest": seen.digest, "why": seen.why, "scan": seen.verdict });
                session.keep_server(&self.spec.name, "withheld", about).await?;
            }
        }
        Ok(())
    }

    fn is_news(&self, key: &str, digest: &str, why: &str) -> bool {
        let now = (digest.to_owned(), why.to_owned());
        lock(&self.kept).insert(key.to_owned(), now.clone()) != Some(now)
    }
}

fn told(kept: Result<(), String>) {
    if let Err(error) = kept {
        tracing::warn!("something about a server could not be recorded: {error}");
    }
}
