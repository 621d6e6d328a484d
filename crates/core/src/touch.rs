//! What a call touched through its handles, or was refused: the reach that its record shows.
//!
//! INVARIANT: what is kept here is in the record of the call, or, once the call has ended, in an entry of its own.
//!
//! INVARIANT: a secret is named by its ref and a stored value by its key; no value is ever kept here.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ringfence_egress::{Evidence, Verdict};
use ringfence_policy::{Code, Direction, Grant, Refusal};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::late::{LateUses, call_ended};

/// How many things a record lists; what is beyond is counted.
const MOST_LISTED: usize = 64;
/// How much of a name is kept, in bytes.
const MOST_BYTES: usize = 512;

/// One thing that a call touched or was refused.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(crate) struct Touch {
    surface: &'static str,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<Code>,
    /// A process could reach it; whether it did was not observed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    granted: bool,
}

/// What a call touched, each thing once, as its record has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    pub(crate) listed: Vec<Touch>,
    /// How often something was touched after the list was full.
    pub(crate) left_out: u64,
    /// The code of the first refusal, listed or not.
    pub(crate) first_refusal: Option<Code>,
}

/// What a call touches while it runs, and whether it still does. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Touches(Arc<Shared>);

#[derive(Default)]
struct Shared {
    touched: Mutex<Touched>,
    /// Where uses are recorded once the call has ended.
    late: OnceLock<LateUses>,
    ended: CancellationToken,
}

impl Touches {
    /// Lets a handle be used as long as its call lasts; a later use is recorded.
    pub(crate) fn admit(&self, surface: &'static str, what: &str) -> Result<(), Refusal> {
        match self.0.late.get() {
            None => Ok(()),
            Some(late) => {
                let refusal = call_ended();
                late.record(surface, short(what).into_owned(), Some(refusal.code));
                Err(refusal)
            }
        }
    }

    /// Says whether the call has ended.
    pub(crate) fn is_ended(&self) -> bool {
        self.0.late.get().is_some()
    }

    /// Returns the token that is cancelled when the call ends.
    pub(crate) fn ended(&self) -> &CancellationToken {
        &self.0.ended
    }

    /// Keeps that something was touched, or refused.
    pub(crate) fn note(&self, surface: &'static str, what: &str, refused: Option<Code>) {
        self.keep(surface, what, refused, false);
    }

    /// Keeps that a file was touched, or refused.
    pub(crate) fn file(&self, direction: Direction, path: &Path, refused: Option<Code>) {
        self.note(surface(direction), &path.to_string_lossy(), refused);
    }

    /// Keeps what a process that was started could reach in the file system.
    pub(crate) fn process(&self, grant: &Grant) {
        let Some(fs) = &grant.fs else { return };
        for direction in [Direction::Read, Direction::Write] {
            let (trees, globs) = fs.trees(direction);
            for tree in &trees {
                self.keep(surface(direction), &tree.to_string_lossy(), None, true);
            }
            for glob in globs {
                self.keep(surface(direction), glob.as_str(), None, true);
            }
        }
    }

    /// Ends the call and takes what it touched, with the hosts of its connections. What comes later goes to `late`.
    pub(crate) fn end(&self, connections: &[Evidence], late: LateUses) -> Touched {
        for evidence in connections {
            let refused = match &evidence.verdict {
                Verdict::Refused { code, .. } => Some(*code),
                Verdict::Cut { .. } | Verdict::Done | Verdict::Failed { .. } => None,
            };
            self.note("host", &evidence.host, refused);
        }
        let mut touched = self.0.touched.lock().unwrap_or_else(PoisonError::into_inner);
        // Within the lock: nothing is touched between what is taken and what is late.
        let _first = self.0.late.set(late);
        let taken = std::mem::take(&mut *touched);
        drop(touched);
        self.0.ended.cancel();
        taken
    }

    fn keep(&self, surface: &'static str, what: &str, refused: Option<Code>, granted: bool) {
        let what = short(what);
        let mut touched = self.0.touched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(late) = self.0.late.get() {
            drop(touched);
            if !granted {
                late.record(surface, what.into_owned(), refused);
            }
            return;
        }
        touched.first_refusal = touched.first_refusal.or(refused.filter(|code| code.is_reach_refusal()));
        let same = |touch: &Touch| {
            touch.surface == surface
                && touch.what == what
                && touch.refused == refused
                && touch.granted == granted
        };
        if touched.listed.iter().any(same) {
            return;
        }
        if touched.listed.len() < MOST_LISTED {
            touched.listed.push(Touch { surface, what: what.into_owned(), refused, granted });
        } else {
            touched.left_out += 1;
        }
    }
}

impl std::fmt::Debug for Touches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Touches").field("ended", &self.is_ended()).finish_non_exhaustive()
    }
}

const fn surface(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "read",
        Direction::Write => "write",
    }
}

/// Cuts a name that is too long.
fn short(what: &str) -> Cow<'_, str> {
    match what.get(..what.floor_char_boundary(MOST_BYTES)) {
        Some(head) if head.len() < what.len() => Cow::Owned(format!("{head}…")),
        _ => Cow::Borrowed(what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what was touched so far.
    fn take(touches: &Touches) -> Touched {
        std::mem::take(&mut *touches.0.touched.lock().unwrap())
    }

    #[test]
    fn lists_each_thing_once_and_not_too_many() {
        let touches = Touches::default();
        for _ in 0..3 {
            touches.note("secret", "prod/db", None);
            touches.note("secret", "prod/db", Some(Code::SecretNotDeclared));
        }
        for number in 0..100 {
            touches.note("storage", &number.to_string(), None);
        }
        touches.note("secret", "prod/db", None);
        let touched = take(&touches);
        assert_eq!((touched.listed.len(), touched.left_out), (64, 38));
        assert!(take(&touches).listed.is_empty());
    }

    #[test]
    fn cuts_long_names_between_characters() {
        let touches = Touches::default();
        touches.note("storage", &"ä".repeat(1_000), None);
        touches.note("storage", &"x".repeat(512), None);
        let lengths: Vec<_> = take(&touches).listed.iter().map(|touch| touch.what.chars().count()).collect();
        assert_eq!(lengths, [257, 512]);
    }
}
