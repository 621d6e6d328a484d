//! The `[console]` entry of a toolbox file: where people look at what agents do.
//!
//! INVARIANT: what listens elsewhere than on loopback speaks TLS.

use std::net::SocketAddr;

use serde::Deserialize;

use crate::gateway::{self, TlsFiles};
use crate::{EntryGap, Host, Table, Variables};

/// Where people look at what agents do.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct ConsoleEntry {
    /// Whether there is one.
    pub enabled: bool,
    /// Further names of the console that `Host` and `Origin` may hold.
    #[serde(deserialize_with = "gateway::hosts")]
    pub hosts: Vec<Host>,
    /// The address; absent = loopback, on a port of the command's choice.
    #[serde(deserialize_with = "gateway::address")]
    pub listen: Option<SocketAddr>,
    /// The certificate and its key; absent = those of `[gateway]`. Required where the address is not loopback.
    pub tls: Option<TlsFiles>,
    /// The key whose checkpoints of the audit log are believed, as `ringfence audit verify --trust` takes it.
    pub trust: Option<String>,
}

impl Default for ConsoleEntry {
    fn default() -> Self {
        Self { enabled: true, hosts: Vec::new(), listen: None, tls: None, trust: None }
    }
}

impl ConsoleEntry {
    /// Expands variables; `fallback` are the expanded files of the gateway.
    pub(crate) fn expanded(
        &self,
        variables: &Variables,
        fallback: Option<&TlsFiles>,
    ) -> (Self, Vec<EntryGap>) {
        let mut gaps = Vec::new();
        let mut console = self.clone();
        if let Some(tls) = &mut console.tls {
            tls.expand(Table::Console, variables, &mut gaps);
        }
        console.tls = console.tls.or_else(|| fallback.cloned());
        gaps.extend(gateway::open_without_tls(Table::Console, console.listen, console.tls.as_ref()));
        (console, gaps)
    }
}
