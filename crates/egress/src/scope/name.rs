//! The names a call has asked for: those that only a wildcard admits, and those that were refused.
//!
//! INVARIANT: a name that only a pattern with `*` admits is counted before anything is done with it, because its
//! lookup carries what the name says to whoever owns the suffix.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ringfence_policy::{HostName, HostShape, NetworkGrant, Refusal};

use super::meter::exceeded;
use super::{Evidence, Scope, Verdict, Via, locked};

/// How many different names below wildcards a scope takes in all.
const WILD: usize = 4_096;

/// How many different refused names are told of; the ones after that are only counted.
const TOLD: usize = 1_024;

/// What is remembered of names.
#[derive(Debug, Default)]
pub(super) struct Names {
    wild: Mutex<HashSet<HostName>>,
    told: Mutex<HashSet<Box<str>>>,
}

impl Scope {
    /// Counts a granted name, or refuses it when there were too many that only a wildcard admits.
    pub(crate) fn count_name(&self, grant: &NetworkGrant, name: &HostName) -> Result<(), Refusal> {
        let exact = |shape: &HostShape| matches!(shape, HostShape::Name(own) if own == name);
        if grant.hosts().iter().any(|pattern| exact(pattern.shape())) {
            return Ok(());
        }
        let mut wild = locked(&self.0.names.wild);
        if wild.contains(name) {
            return Ok(());
        }
        if wild.len() >= WILD {
            return Err(exceeded(format!(
                "{WILD} different names below patterns with `*` are in use already"
            )));
        }
        self.0.meter.names.take()?;
        wild.insert(name.clone());
        self.0.counts.names_wild.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Counts a refused name and tells of it, the first time.
    pub(crate) fn name_refused(&self, shown: &str, refusal: &Refusal) {
        self.0.counts.names_refused.fetch_add(1, Ordering::Relaxed);
        let first = {
            let mut told = locked(&self.0.names.told);
            told.len() < TOLD && told.insert(shown.into())
        };
        if first {
            self.tell(&Evidence {
                host: shown.to_owned(),
                port: None,
                address: None,
                via: Via::Dns,
                sent: 0,
                received: 0,
                duration: Duration::ZERO,
                verdict: Verdict::from(refusal),
            });
        }
    }
}
