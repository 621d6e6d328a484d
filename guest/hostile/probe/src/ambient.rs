//! What no import of ringfence gives, and a process would simply have: variables, arguments, clocks, chance.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::process::Command;
use std::time::{Instant, SystemTime};

use serde::Deserialize;
use serde_json::json;

use crate::Came;

/// An act that asks what surrounds the component.
#[derive(Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub(crate) enum Act {
    /// Returns the arguments of the program.
    Arguments,
    /// Returns both clocks, the second as what passed between two readings.
    Clock,
    /// Returns every variable.
    Environment,
    /// Returns the start of standard input.
    Input,
    /// Returns numbers that should not come twice.
    Random,
    /// Starts a program and returns its exit code; none where a signal ended it.
    Start {
        program: String,
        #[serde(default)]
        arguments: Vec<String>,
    },
    /// Starts a thread.
    Thread,
    /// Returns the folder that relative paths start from.
    WorkingFolder,
}

impl Act {
    pub(crate) fn attempt(self) -> Came {
        match self {
            Self::Arguments => Ok(json!(std::env::args().collect::<Vec<_>>())),
            Self::Clock => {
                let start = Instant::now();
                let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
                let seconds = since.map_err(|error| error.to_string())?.as_secs();
                Ok(json!({ "seconds": seconds, "nanoseconds_passed": start.elapsed().as_nanos() as u64 }))
            }
            Self::Environment => Ok(json!(std::env::vars().collect::<BTreeMap<_, _>>())),
            Self::Input => {
                let mut text = Vec::new();
                std::io::stdin().take(1000).read_to_end(&mut text).map_err(|error| error.to_string())?;
                Ok(json!(String::from_utf8_lossy(&text)))
            }
            Self::Random => Ok(json!([RandomState::new().hash_one(0), RandomState::new().hash_one(1)])),
            Self::Start { program, arguments } => {
                let status =
                    Command::new(program).args(arguments).status().map_err(|error| error.to_string())?;
                Ok(json!(status.code()))
            }
            Self::Thread => {
                let thread = std::thread::Builder::new().spawn(|| 1).map_err(|error| error.to_string())?;
                Ok(json!(thread.join().map_err(|_panic| "the thread panicked".to_owned())?))
            }
            Self::WorkingFolder => Ok(json!(std::env::current_dir().map_err(|error| error.to_string())?)),
        }
    }
}
