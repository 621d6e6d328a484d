//! What a console is told.

use std::sync::Arc;

use ringfence::audit::TrustedLog;

use super::front::Access;
use super::live::Live;
use super::port::{ConsoleStore, Desk};
use crate::http::TlsFiles;

/// How a console is run.
#[derive(Debug, Default)]
pub struct ConsoleConfig {
    /// Further names under which this host is known, with a port or without; loopback and the bound address always count.
    pub hosts: Vec<String>,
    /// What is needed to speak TLS; required where the address is not loopback.
    pub tls: Option<TlsFiles>,
    /// Whose checkpoints the audit page believes.
    pub trust: Option<TrustedLog>,
}

/// What a console is answered from.
#[derive(Clone)]
pub struct ConsoleParts {
    /// Approvals, keys and the audit.
    pub store: ConsoleStore,
    /// The policy, the pins and the manifest.
    pub desk: Arc<dyn Desk>,
    /// What goes on in this process.
    pub live: Arc<Live>,
    /// Who was let in, which outlives a console.
    pub access: Arc<Access>,
}

impl std::fmt::Debug for ConsoleParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConsoleParts").finish_non_exhaustive()
    }
}
