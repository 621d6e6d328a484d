//! What is told of a connection, or of a name that was refused.

use std::net::SocketAddr;
use std::time::Duration;

use ringfence_policy::{Code, Refusal};
use serde::{Serialize, Serializer};

/// Is told what a call did on the network.
pub trait Witness: Send + Sync {
    /// Is called exactly once for each connection, when it is over, and for each refused name, the first time.
    ///
    /// It is called wherever the connection ended and must not wait for anything.
    fn saw(&self, evidence: &Evidence);
}

/// One connection that is over, or one name that was refused.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// The name or address that was asked for; what is no name is escaped.
    pub host: String,
    /// The port that was asked for; a name alone has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The address that was judged and dialled, where it came to that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<SocketAddr>,
    /// How it was asked for.
    pub via: Via,
    /// How many bytes went to the far side.
    pub sent: u64,
    /// How many bytes came from the far side.
    pub received: u64,
    /// How long it lasted, in milliseconds when it is written down.
    #[serde(serialize_with = "millis")]
    pub duration: Duration,
    /// How it ended.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// How a connection or a name was asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Via {
    /// By a question to the gate's name server.
    Dns,
    /// By a request of the HTTP client.
    Fetch,
    /// By a connection into the gate.
    Gate,
}

/// How a connection or a name ended.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "verdict")]
pub enum Verdict {
    /// It was open and was ended by this side.
    Cut {
        /// Why, as one sentence.
        message: String,
    },
    /// Both sides said what they had to say, or the caller hung up.
    Done,
    /// The far side could not be reached, or broke off.
    Failed {
        /// What happened, as one sentence.
        message: String,
    },
    /// It was never let through, or said something that is not.
    Refused {
        /// The stable code.
        code: Code,
        /// Why, as one sentence.
        message: String,
    },
}

impl From<&Refusal> for Verdict {
    fn from(refusal: &Refusal) -> Self {
        Self::Refused { code: refusal.code, message: refusal.message.to_string() }
    }
}

/// What became of everything so far.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// Connections that reached the far side.
    pub opened: u64,
    /// Connections that were refused.
    pub refused: u64,
    /// Connections whose far side could not be reached or broke off.
    pub failed: u64,
    /// Connections that were ended by this side.
    pub cut: u64,
    /// Connections that are open now, those that wait for an answer included.
    pub open: u64,
    /// Bytes that went to far sides.
    pub sent: u64,
    /// Bytes that came from far sides.
    pub received: u64,
    /// Questions for names that were refused, repeats included.
    pub names_refused: u64,
    /// Different names that only a pattern with `*` admits.
    pub names_wild: u64,
    /// How often a connection could not be accepted because this side was short of something.
    pub unaccepted: u64,
}

fn millis<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64() * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_written_flat() {
        let evidence = Evidence {
            host: "one.acme.io".to_owned(),
            port: Some(443),
            address: None,
            via: Via::Gate,
            sent: 1,
            received: 2,
            duration: Duration::from_micros(1_500),
            verdict: Verdict::from(&Refusal::new(Code::HostNotAllowed, "no")),
        };
        assert_eq!(
            serde_json::to_string(&evidence).unwrap(),
            r#"{"host":"one.acme.io","port":443,"via":"gate","sent":1,"received":2,"duration":1.5,"#
                .to_owned()
                + r#""verdict":"refused","code":"HOST_NOT_ALLOWED","message":"no"}"#
        );
    }
}
