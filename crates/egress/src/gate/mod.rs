//! The way out of a network namespace, without a proxy and without a helper process.
//!
//! Inside the namespace every granted name has an address of its own, which leads nowhere but to sockets that this
//! side holds. The address a client connects to says which name it means; the connection is judged by the live grant,
//! its first words are read where they name a host too, and only then is the far side dialled.
//!
//! INVARIANT: no byte goes to a far side before the connection was admitted, and none goes to another far side than
//! the one it was admitted to.

mod accept;
mod buffer;
mod connection;
mod dns;
mod farewell;
mod lane;
mod names;
mod opening;
#[cfg(target_os = "linux")]
mod pipe;
#[cfg(not(target_os = "linux"))]
#[path = "pipe_absent.rs"]
mod pipe;
mod relay;
mod request;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, UdpSocket};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::{Dialer, Scope};
use names::Names;
use pipe::Pipes;

pub use names::Range;

/// How long what clients have sent may take to flow off when the gate closes.
const FLOW_OFF: Duration = Duration::from_secs(2);

/// How many clients may talk DNS over TCP at the same time.
const DNS_STREAMS: usize = 32;

/// Sockets made inside a network namespace and handed out of it.
#[derive(Debug)]
pub struct Sockets {
    /// Listening TCP sockets; one of them may be for DNS over TCP.
    pub listeners: Vec<OwnedFd>,
    /// The UDP socket of DNS.
    pub dns: OwnedFd,
}

/// What is where inside a namespace. A test that has no namespace puts it elsewhere.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Layout {
    /// The addresses that stand for names.
    pub range: Range,
    /// Where DNS is answered.
    pub dns: SocketAddr,
    /// The port on which HTTP is judged.
    pub http: u16,
    /// The port on which TLS is judged.
    pub tls: u16,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            range: Range::new(Ipv4Addr::new(198, 18, 0, 0), 15),
            dns: SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 53),
            http: 80,
            tls: 443,
        }
    }
}

/// The way out of one network namespace: names are answered, connections judged, dialled and relayed.
#[derive(Debug)]
#[must_use = "dropping a Gate cuts everything that passes through it"]
pub struct Gate {
    phase: watch::Sender<Phase>,
    tasks: TaskTracker,
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
        Self::open_with(handle, Layout::default(), scope, dialer, sockets)
    }

    /// Opens a gate where things lie elsewhere than in a namespace of ours.
    #[doc(hidden)]
    pub fn open_with(
        handle: &Handle,
        layout: Layout,
        scope: Scope,
        dialer: Dialer,
        sockets: Sockets,
    ) -> io::Result<Self> {
        let _entered = handle.enter();
        let dns = std::net::UdpSocket::from(sockets.dns);
        dns.set_nonblocking(true)?;
        let dns = UdpSocket::from_std(dns)?;
        let listeners = sockets.listeners.into_iter().map(listener).collect::<io::Result<Vec<_>>>()?;
        let (phase, phases) = watch::channel(Phase::Open);
        let gate = Arc::new(Shared {
            scope,
            dialer,
            layout,
            names: Names::new(layout.range),
            dns_streams: Arc::new(Semaphore::new(DNS_STREAMS)),
            pipes: Pipes::default(),
            phases: Phases(phases),
            tasks: TaskTracker::new(),
        });
        gate.spawn(dns::datagrams(Arc::clone(&gate), dns, gate.phases.clone()));
        for listener in listeners {
            gate.spawn(accept::accept(Arc::clone(&gate), listener, gate.phases.clone()));
        }
        Ok(Self { phase, tasks: gate.tasks.clone() })
    }

    /// Closes the gate: accepts nothing more, lets what clients have finished sending flow off for at most two
    /// seconds, and cuts the rest. When it returns, everything has been told.
    pub async fn close(self) {
        self.tasks.close();
        self.phase.send_replace(Phase::Closing);
        if timeout(FLOW_OFF, self.tasks.wait()).await.is_err() {
            self.phase.send_replace(Phase::Cut);
            self.tasks.wait().await;
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.phase.send_replace(Phase::Cut);
    }
}

/// Takes over a listening socket. What it accepts inherits that small pieces are sent at once.
fn listener(socket: OwnedFd) -> io::Result<TcpListener> {
    rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
    let listener = std::net::TcpListener::from(socket);
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// What the tasks of a gate share.
#[derive(Debug)]
struct Shared {
    scope: Scope,
    dialer: Dialer,
    layout: Layout,
    names: Names,
    dns_streams: Arc<Semaphore>,
    pipes: Pipes,
    phases: Phases,
    tasks: TaskTracker,
}

impl Shared {
    /// Runs a task until it ends or the gate is cut.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut phases = self.phases.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = phases.reach(Phase::Cut) => {}
                () = task => {}
            }
        });
    }
}

/// How far a gate is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Phase {
    /// It accepts.
    Open,
    /// It lets flow off what it has.
    Closing,
    /// It is at its end.
    Cut,
}

/// Hears how far the gate is. A gate that is gone is at its end.
#[derive(Clone, Debug)]
struct Phases(watch::Receiver<Phase>);

impl Phases {
    /// Waits until the gate is as far as `phase`.
    async fn reach(&mut self, phase: Phase) {
        // An error means that the gate is gone, which is further still.
        let _reached = self.0.wait_for(|now| *now >= phase).await.map(drop);
    }

    fn now(&self) -> Phase {
        *self.0.borrow()
    }
}
