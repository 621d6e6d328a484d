//! The endpoint that agents connect to.
//!
//! INVARIANT: an address that others can reach is never listened on in plain text, and never without tokens.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use super::config::{AgentToken, EdgeConfig, EdgeLimits};
use super::error::EdgeError;
use super::guard::Guard;
use super::listener::{Bounds, Listener};
use super::route::{Front, House, router};
use super::table::Table;
use super::tls;
use super::token::{random, token_hash};
use crate::door::{Agent, Door};
use crate::message::MAX_MESSAGE;

/// An HTTP endpoint that is listening.
pub struct Edge {
    listener: Listener,
    front: Front,
}

impl std::fmt::Debug for Edge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Edge").field("address", &self.address()).finish_non_exhaustive()
    }
}

impl Edge {
    /// Listens on an address. Nothing is accepted until [`Edge::run`].
    ///
    /// # Errors
    ///
    /// The address cannot be taken, or must not be with this configuration.
    pub async fn bind(
        address: SocketAddr,
        config: EdgeConfig,
        door: Arc<dyn Door>,
    ) -> Result<Self, EdgeError> {
        let tls = permit(address, &config)?;
        let EdgeConfig { agents, anonymous, hosts, limits, .. } = config;
        let EdgeLimits { connections, header_timeout, write_timeout, .. } = limits;
        let bounds = Bounds { connections, header_timeout, write_timeout };
        let listener = Listener::bind(address, tls, bounds).await?;
        let guard = Guard::new(listener.address(), &hosts)?;
        let agents = if anonymous { vec![anybody()] } else { agents };
        let table = Table::new(door, agents.iter().map(|one| one.agent.clone()).collect(), limits);
        let front = House::new(agents, anonymous, guard, limits, table);
        Ok(Self { listener, front })
    }

    /// Returns the address that is listened on.
    pub const fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Takes connections until told to stop; then takes none any more, closes the rooms, and ends what is left after five
    /// seconds.
    ///
    /// # Errors
    ///
    /// No connection can be accepted any more.
    pub async fn run(self, until: impl Future<Output = ()>) -> Result<(), EdgeError> {
        let Self { listener, front, .. } = self;
        let router = router(&front);
        let sweeper = tokio::spawn(sweep(Arc::clone(&front)));
        // Whoever drops this instead of stopping it leaves nothing behind.
        let _ended = tokio_util::task::AbortOnDropHandle::new(sweeper);
        listener.run(router, until, front.table.stop()).await
    }
}

/// Checks that the address may be listened on with this configuration.
fn permit(address: SocketAddr, config: &EdgeConfig) -> Result<Option<TlsAcceptor>, EdgeError> {
    let is_loopback = address.ip().to_canonical().is_loopback();
    let agents = &config.agents;
    if config.anonymous && !is_loopback {
        return Err(EdgeError::AnonymousAbroad { address });
    }
    if config.anonymous && !agents.is_empty() {
        return Err(EdgeError::AnonymousBesideAgents);
    }
    if !config.anonymous && agents.is_empty() {
        return Err(EdgeError::NoAgents);
    }
    if config.tls.is_none() && !is_loopback {
        return Err(EdgeError::PlainText { address });
    }
    for (place, first) in agents.iter().enumerate() {
        let same = |other: &&AgentToken| other.hash == first.hash || other.agent.name == first.agent.name;
        if let Some(second) = agents.iter().skip(place + 1).find(same) {
            let (first, second) = (first.agent.name.clone(), second.agent.name.clone());
            return Err(EdgeError::SameAgent { first, second });
        }
    }
    check(&config.limits)?;
    config.tls.as_ref().map(tls::acceptor).transpose()
}

fn check(limits: &EdgeLimits) -> Result<(), EdgeError> {
    #[rustfmt::skip]
    let all = [
        ("body",                (1..=MAX_MESSAGE).contains(&limits.body)),
        ("sessions",            limits.sessions > 0),
        ("sessions_per_agent",  limits.sessions_per_agent > 0),
        ("requests_per_minute", limits.requests_per_minute > 0),
        ("connections",         (1..=Semaphore::MAX_PERMITS).contains(&limits.connections)),
        ("in_flight",           (1..=Semaphore::MAX_PERMITS).contains(&limits.in_flight)),
        ("idle",                !limits.idle.is_zero()),
        ("header_timeout",      !limits.header_timeout.is_zero()),
        ("body_timeout",        !limits.body_timeout.is_zero()),
        ("write_timeout",       !limits.write_timeout.is_zero()),
        ("keep_alive",          !limits.keep_alive.is_zero()),
    ];
    match all.into_iter().find(|(_, fits)| !fits) {
        Some((limit, _)) => Err(EdgeError::Limit { limit }),
        None => Ok(()),
    }
}

/// Who everybody is where nobody shows a token. Its own token is known to nobody.
fn anybody() -> AgentToken {
    let agent = Agent { name: "anonymous".to_owned(), ..Agent::default() };
    AgentToken { agent, hash: token_hash(&format!("{:?}", random::<32>())) }
}

async fn sweep(front: Front) {
    let pause = (front.limits.idle / 4).clamp(Duration::from_millis(10), Duration::from_secs(30));
    loop {
        tokio::time::sleep(pause).await;
        front.table.sweep();
    }
}
