//! A recorded connection, judged again by the grant of today.

use std::fmt;
use std::net::SocketAddr;

use ringfence::Refusal;
use ringfence::policy::{NetworkGrant, OnUnknown, Target};
use serde_json::{Value, json};

/// A connection or name of a recorded call, then and now.
pub(super) struct Connection {
    asked: String,
    was_refused: bool,
    now: Judged,
}

/// What the grant says now.
enum Judged {
    /// It is let through.
    Admitted,
    /// Somebody is asked about it.
    Asked,
    /// It is refused.
    Refused(String),
}

impl Connection {
    /// Judges what was recorded; nothing where the record does not tell what was asked for.
    pub(super) fn judged(seen: &Value, grant: Option<&NetworkGrant>) -> Option<Self> {
        let host = seen.get("host").and_then(Value::as_str)?;
        let port = seen.get("port").and_then(Value::as_u64);
        let host =
            if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
        let authority = format!("{host}:{}", port.unwrap_or(443));
        let asked = if port.is_some() { authority.clone() } else { host };
        let was_refused = seen.get("verdict").and_then(Value::as_str) == Some("refused");
        let address = seen.get("address").and_then(Value::as_str).and_then(|text| text.parse().ok());
        let now = match (grant, Target::from_authority(&authority)) {
            (None, _) => Judged::Refused("the tool declares no hosts".to_owned()),
            (Some(_), Err(error)) => Judged::Refused(error.to_string()),
            // A name that was only looked up is admitted when some port of it is.
            (Some(grant), Ok(target)) if port.is_none() && grant.hosts().admits_host(&target.host) => {
                Judged::Admitted
            }
            (Some(grant), Ok(target)) => judge(grant, &target, address),
        };
        Some(Self { asked, was_refused, now })
    }

    /// Says whether it would be judged otherwise. Where somebody is asked nobody knows.
    pub(super) const fn differs(&self) -> bool {
        match self.now {
            Judged::Admitted => self.was_refused,
            Judged::Asked => false,
            Judged::Refused(_) => !self.was_refused,
        }
    }

    pub(super) fn json(&self) -> Value {
        let now = match &self.now {
            Judged::Admitted => json!({"verdict": "admitted"}),
            Judged::Asked => json!({"verdict": "asked"}),
            Judged::Refused(why) => json!({"verdict": "refused", "message": why}),
        };
        let was = if self.was_refused { "refused" } else { "admitted" };
        json!({"asked": self.asked, "was": was, "now": now, "differs": self.differs()})
    }
}

fn judge(grant: &NetworkGrant, target: &Target, address: Option<SocketAddr>) -> Judged {
    let refused = |refusal: &Refusal| Judged::Refused(refusal.to_string());
    match grant.judge(target) {
        Err(_) if grant.on_unknown() == OnUnknown::Ask => Judged::Asked,
        Err(refusal) => refused(&refusal),
        Ok(()) => match address.map(|address| grant.judge_address(target, address.ip())) {
            Some(Err(refusal)) => refused(&refusal),
            Some(Ok(())) | None => Judged::Admitted,
        },
    }
}

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let was = if self.was_refused { "was refused" } else { "was let through" };
        match &self.now {
            Judged::Admitted => write!(f, "{}: {was}; now let through", self.asked),
            Judged::Asked => write!(f, "{}: {was}; now a person is asked", self.asked),
            Judged::Refused(why) => write!(f, "{}: {was}; now refused {why}", self.asked),
        }
    }
}
