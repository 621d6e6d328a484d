//! What is kept of a command's connections, and who hears of refusals while it runs.

use std::collections::{BTreeSet, HashSet};
use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ringfence::egress::{Evidence, Verdict, Via, Witness};
use ringfence::policy::explain::explain_line;
use ringfence::policy::{Code, Host, HostName, is_metadata};

/// Who is told of refusals while the command runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Told {
    /// Whoever reads the error stream.
    ErrorStream,
    /// Nobody; it is all in the report.
    Nobody,
}

/// The longest list of connections that is kept; what is beyond is counted.
const MOST_KEPT: usize = 10_000;

/// How many different refusals are told; a command could make up more than anybody reads.
const MOST_TOLD: usize = 50;

/// How long the last lines may take when the command has ended.
const PATIENCE: Duration = Duration::from_millis(500);

/// What was seen of a command's connections.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    pub(crate) listed: Vec<Evidence>,
    pub(crate) left_out: u64,
}

/// Keeps what was seen, and has refusals told, each once.
pub(super) struct Seen {
    kept: Mutex<Connections>,
    teller: Mutex<Option<Teller>>,
}

impl Seen {
    pub(super) fn new(told: Told) -> std::io::Result<Self> {
        let teller = if told == Told::ErrorStream { Some(Teller::start()?) } else { None };
        Ok(Self { kept: Mutex::default(), teller: Mutex::new(teller) })
    }

    /// Returns what was seen, when everything that was told has been written or nobody reads it.
    pub(super) fn end(&self) -> Connections {
        let teller = self.teller.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(teller) = teller {
            teller.end();
        }
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Witness for Seen {
    fn saw(&self, evidence: &Evidence) {
        if let Some(teller) = self.teller.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            teller.tell(evidence);
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.listed.len() < MOST_KEPT {
            kept.listed.push(evidence.clone());
        } else {
            kept.left_out += 1;
        }
    }
}

/// Writes lines to the error stream on a thread of its own: whoever reads it may be slow, and the gate does not wait.
struct Teller {
    lines: SyncSender<String>,
    written: Receiver<()>,
    told: HashSet<(String, Option<u16>)>,
    /// What explains the refusals, each once.
    codes: BTreeSet<Code>,
}

impl Teller {
    fn start() -> std::io::Result<Self> {
        let (lines, inbox) = sync_channel::<String>(MOST_TOLD + 1 + Code::ALL.len());
        let (done, written) = sync_channel(1);
        std::thread::Builder::new().name("ringfence-teller".into()).spawn(move || {
            for line in inbox {
                let _told = writeln!(crate::print::errors(), "ringfence: {line}");
            }
            let _waited = done.send(());
        })?;
        Ok(Self { lines, written, told: HashSet::new(), codes: BTreeSet::new() })
    }

    fn tell(&mut self, evidence: &Evidence) {
        if self.told.len() > MOST_TOLD {
            return;
        }
        let Some(line) = refusal_line(evidence) else { return };
        if !self.told.insert((evidence.host.clone(), evidence.port)) {
            return;
        }
        if let Verdict::Refused { code, .. } = &evidence.verdict {
            self.codes.insert(*code);
        }
        let line = if self.told.len() > MOST_TOLD {
            "more was refused than is told here; `--json` lists it".to_owned()
        } else {
            line
        };
        let _queued = self.lines.try_send(line);
    }

    fn end(self) {
        for code in &self.codes {
            let _queued = self.lines.try_send(explain_line(code.as_str()));
        }
        drop(self.lines);
        let _written = self.written.recv_timeout(PATIENCE);
    }
}

/// One line for whoever runs the command, about what it did not get.
fn refusal_line(evidence: &Evidence) -> Option<String> {
    let (done, why) = match &evidence.verdict {
        Verdict::Cut { message } => ("cut", message.clone()),
        Verdict::Refused { code, message } => ("refused", format!("{code}: {message}")),
        Verdict::Done | Verdict::Failed { .. } => return None,
    };
    let what = match (evidence.via, evidence.port) {
        (Via::Dns, _) | (_, None) => format!("the name {}", evidence.host),
        (_, Some(port)) => format!("the connection to {}:{port}", evidence.host),
    };
    let is_unknown = evidence.via == Via::Dns && why.starts_with(Code::HostNotAllowed.as_str());
    let hint = match evidence.host.parse::<HostName>() {
        Ok(name) if is_unknown => hint_for(name),
        Ok(_) | Err(_) => String::new(),
    };
    // Names come from the command: nothing in them may reach the terminal as more than text.
    let line = format!("{what} was {done}: {why}{hint}");
    Some(line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect())
}

/// Says what would let a name through. Granting a name never admits the addresses at which clouds hand out credentials, so that nobody
/// is advised to.
fn hint_for(name: HostName) -> String {
    let host = Host::Name(name);
    if is_metadata(&host) {
        " (no change is advised: there clouds hand out the credentials of this machine)".to_owned()
    } else {
        format!(" (`--host {host}` would let it)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_hint_leads_to_the_credentials_of_the_machine() {
        for name in ["metadata.google.internal", "METADATA.goog", "instance-data.ec2.internal"] {
            let hint = hint_for(name.parse().unwrap());
            assert!(hint.contains("no change is advised") && !hint.contains("--host"), "{hint}");
        }
        assert_eq!(hint_for("evil.net".parse().unwrap()), " (`--host evil.net` would let it)");
    }
}
