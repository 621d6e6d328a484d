//! The manifest of the toolbox as it is now, beside the one that was agreed to: what somebody accepts.

use std::collections::BTreeMap;

use ringfence::Personality;
use ringfence::policy::manifest::diff::Change;
use ringfence::policy::manifest::{DefaultLimits, Manifest, Outside, Sources};

use super::lock::{Lockfile, Read};
use super::{MadeArgs, build, compare, input};
use crate::error::CommandError;
use crate::load::Place;

/// What would be accepted.
#[derive(Debug)]
pub(crate) struct Proposal {
    pub(crate) lock: Lockfile,
    /// What was agreed to, where anything was.
    pub(super) before: Option<Read>,
    pub(crate) now: Manifest,
}

impl Proposal {
    /// Makes the manifest of the toolbox, with the digests of the programs that the accepted one records.
    pub(crate) fn of(place: &Place) -> Result<Self, CommandError> {
        Self::made(place, &MadeArgs { binaries: false, lint: None })
    }

    pub(super) fn made(place: &Place, made: &MadeArgs) -> Result<Self, CommandError> {
        let lock = Lockfile::beside(place);
        let before = if lock.is_there()? { Some(lock.try_read()?) } else { None };
        let now = build::manifest(place, made, sound(before.as_ref()))?;
        Ok(Self { lock, before, now })
    }

    /// Returns the manifest that was agreed to; nothing where there is none, or none that can be trusted.
    pub(crate) fn accepted(&self) -> Option<&Manifest> {
        sound(self.before.as_ref())
    }

    /// Returns what differs from what was agreed to; from nothing, where nothing was.
    pub(crate) fn changes(&self) -> Result<Vec<Change>, CommandError> {
        let now = Read::Sound(Box::new(self.now.clone()));
        Ok(match &self.before {
            Some(before) => compare::changes(before, &now),
            None => compare::changes(&Read::Sound(Box::new(nothing()?)), &now),
        })
    }
}

fn sound(read: Option<&Read>) -> Option<&Manifest> {
    match read {
        Some(Read::Sound(manifest)) => Some(manifest),
        Some(Read::Unsound(_)) | None => None,
    }
}

/// Returns the manifest that nothing is in: what is compared with where nobody has agreed to anything.
pub(super) fn nothing() -> Result<Manifest, CommandError> {
    Manifest::new(&Sources {
        personality: &Personality::default(),
        tools: &[],
        servers: &[],
        binaries: &BTreeMap::new(),
        definitions: &BTreeMap::new(),
        lint: &BTreeMap::new(),
        defaults: DefaultLimits::default(),
        outside: Outside::default(),
    })
    .map_err(|error| input(error.to_string()))
}
