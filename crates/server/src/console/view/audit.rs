//! The audit log as a whole: how large it is, where it lies, its checkpoints, and how a verification stands.

use std::str::FromStr as _;
use std::time::Duration;

use ringfence::audit::{Note, TrustedLog};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::act::Verifying;
use super::super::fault::Fault;
use super::super::front::Front;

/// The log as a whole.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct LogOverview {
    /// How many entries there are.
    pub(crate) size: u64,
    /// The database: the file, or host and name.
    pub(crate) database: String,
    /// Whether it is known whose checkpoints are believed.
    pub(crate) trusted: bool,
}

impl LogOverview {
    /// Reads it.
    pub(crate) async fn read(front: &Front) -> Result<Self, Fault> {
        Ok(Self {
            size: front.store.log.size().await?,
            database: front.store.log.describe(),
            trusted: front.trust.is_some(),
        })
    }
}

/// A checkpoint that is kept.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct CheckpointSeen {
    /// The size that it is filed under.
    pub(crate) size: u64,
    /// The name of the log that it says it is of.
    pub(crate) origin: Option<String>,
    /// The root that it says the log had, in base64.
    pub(crate) root: Option<String>,
    /// Further lines of it, such as the time it was made.
    pub(crate) extensions: Vec<String>,
    /// `believed`, `not-believed`, or `unknown` where it is not known whose checkpoints are believed.
    pub(crate) trust: String,
    /// Why it is not believed.
    pub(crate) why: Option<String>,
    /// The checkpoint itself, a signed note.
    pub(crate) note: String,
}

/// How many checkpoints are shown.
const MOST: usize = 500;

/// Reads the checkpoints, newest first.
pub(crate) async fn checkpoints(front: &Front) -> Result<Vec<CheckpointSeen>, Fault> {
    let kept = front.store.log.checkpoints().await?;
    let newest = kept.into_iter().rev().take(MOST);
    Ok(newest.map(|(size, note)| CheckpointSeen::read(size, note, front.trust.as_ref())).collect())
}

impl CheckpointSeen {
    fn read(size: u64, note: String, trust: Option<&TrustedLog>) -> Self {
        let (state, why) = match (trust, Note::from_str(&note)) {
            (_, Err(error)) => ("not-believed", Some(error.to_string())),
            (None, Ok(_)) => ("unknown", None),
            (Some(trust), Ok(parsed)) => match trust.open(&parsed) {
                Ok(checkpoint) if checkpoint.size() == size => ("believed", None),
                Ok(checkpoint) => (
                    "not-believed",
                    Some(format!("it is filed under another size than its own, {}", checkpoint.size())),
                ),
                Err(error) => ("not-believed", Some(error.to_string())),
            },
        };
        // What it says of itself, whoever signed it.
        let text = note.split("\n\n").next().unwrap_or_default();
        let mut lines = text.lines().map(str::to_owned);
        let (origin, _size, root) = (lines.next(), lines.next(), lines.next());
        Self { size, origin, root, extensions: lines.collect(), trust: state.to_owned(), why, note }
    }

    /// Returns the style of its tag.
    pub(crate) fn style(&self) -> &'static str {
        match self.trust.as_str() {
            "believed" => "good",
            "not-believed" => "bad",
            _ => "",
        }
    }

    /// Returns the words for its tag.
    pub(crate) fn word(&self) -> &'static str {
        match self.trust.as_str() {
            "believed" => "believed",
            "not-believed" => "not believed",
            _ => "nobody to believe",
        }
    }
}

/// How a verification stands.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct VerificationSeen {
    /// `none`, `running`, `intact`, `broken` or `failed`.
    pub(crate) state: String,
    /// Who began it.
    pub(crate) by: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub(crate) began_ms: Option<u64>,
    /// When it ended, in milliseconds since 1970.
    pub(crate) ended_ms: Option<u64>,
    /// How many records were looked at.
    pub(crate) done: u64,
    /// How many there are to look at; 0 before it has begun.
    pub(crate) total: u64,
    /// How many records, from the first on, a signed checkpoint has proven.
    pub(crate) proven: Option<u64>,
    /// How many signed checkpoints the records agree with.
    pub(crate) agreeing: Option<u64>,
    /// The root over all records.
    pub(crate) root: Option<String>,
    /// What is wrong, in the order of the log.
    pub(crate) findings: Vec<FindingSeen>,
    /// How many findings are not listed.
    pub(crate) left_out: u64,
    /// Why nothing came of it.
    pub(crate) error: Option<String>,
}

/// One thing that is wrong with the log.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct FindingSeen {
    /// A stable word, such as `edited` or `missing`.
    pub(crate) finding: String,
    /// The first record that it concerns.
    pub(crate) first: Option<u64>,
    /// The last record that it concerns.
    pub(crate) last: Option<u64>,
    /// What is wrong, as one sentence.
    pub(crate) message: String,
}

impl VerificationSeen {
    /// Reads how the last verification stands.
    pub(crate) fn read(last: Option<Verifying>) -> Self {
        let nothing = Self {
            state: "none".to_owned(),
            by: None,
            began_ms: None,
            ended_ms: None,
            done: 0,
            total: 0,
            proven: None,
            agreeing: None,
            root: None,
            findings: Vec::new(),
            left_out: 0,
            error: None,
        };
        let Some(last) = last else { return nothing };
        let begun = Self {
            state: "running".to_owned(),
            by: Some(last.by),
            began_ms: Some(millis(last.began)),
            done: last.progress.done(),
            total: last.progress.total(),
            ..nothing
        };
        let Some((at, result)) = last.ended else { return begun };
        let ended = Self { ended_ms: Some(millis(at)), ..begun };
        match result {
            Err(error) => Self { state: "failed".to_owned(), error: Some(error), ..ended },
            Ok(verified) => Self {
                state: if verified.is_intact() { "intact" } else { "broken" }.to_owned(),
                done: verified.records,
                total: verified.records,
                proven: Some(verified.proven),
                agreeing: Some(verified.agreeing),
                root: verified.root.map(|root| root.to_base64()),
                left_out: verified.left_out,
                findings: verified
                    .findings
                    .iter()
                    .map(|finding| FindingSeen {
                        finding: finding.word().to_owned(),
                        first: finding.records().map(|(first, _)| first),
                        last: finding.records().map(|(_, last)| last),
                        message: finding.to_string(),
                    })
                    .collect(),
                ..ended
            },
        }
    }

    /// Says whether it goes on.
    pub(crate) fn is_running(&self) -> bool {
        self.state == "running"
    }
}

fn millis(at: Duration) -> u64 {
    u64::try_from(at.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use ringfence::audit::{Checkpoint, Frontier, Hash, SignerKey};

    use super::*;

    #[test]
    fn a_checkpoint_says_whether_it_is_believed() {
        let key = SignerKey::from_seed("log.example", &[7; 32]).unwrap();
        let stranger = SignerKey::from_seed("log.example", &[8; 32]).unwrap();
        let trust = TrustedLog::new("log.example", [key.verifier().clone()]).unwrap();
        let mut frontier = Frontier::new();
        frontier.append(Hash::leaf(b"a"));
        let checkpoint = Checkpoint::new("log.example", &frontier).unwrap();
        let (own, other) =
            (checkpoint.sign(&key).unwrap().to_string(), checkpoint.sign(&stranger).unwrap().to_string());
        #[rustfmt::skip]
        let cases = [
            // filed under  note              trust         state
            (1,             own.as_str(),     Some(&trust), "believed"),
            (2,             own.as_str(),     Some(&trust), "not-believed"),
            (1,             other.as_str(),   Some(&trust), "not-believed"),
            (1,             own.as_str(),     None,         "unknown"),
            (1,             "no note at all", Some(&trust), "not-believed"),
            (1,             "",               None,         "not-believed"),
        ];
        for (size, note, trust, state) in cases {
            let seen = CheckpointSeen::read(size, note.to_owned(), trust);
            assert_eq!(seen.trust, state, "{note}");
            assert_eq!(seen.why.is_some(), state == "not-believed");
        }
        let seen = CheckpointSeen::read(1, own, Some(&trust));
        assert_eq!(seen.origin.as_deref(), Some("log.example"));
        assert_eq!(seen.root, Some(frontier.root().to_base64()));
    }
}
