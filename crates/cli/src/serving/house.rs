//! Building the house: what the policy says, in the words of the server crate.

use std::sync::Arc;
use std::time::Duration;

use ringfence::policy::{self, Code, Personality, ServerEntry};
use ringfence::{
    Approver, Backends, Event, HostFiles, InForce, Launcher, Outcome, Pins, Registry, SandboxLauncher,
    StoreApprover, Tool,
};
use ringfence_server::console::Live;
use ringfence_server::message::MAX_MESSAGE;
use ringfence_server::{Accept, NO_DEADLINE, ServerSpec, Starter, ToolRule};
use ringfence_store::Database;

use super::log::tell;

/// How long a call waits for people who decide elsewhere.
const WAIT: Duration = Duration::from_secs(10 * 60);

/// What the registry of every session is made of.
pub(crate) struct Makings {
    pub(crate) personality: Personality,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// What starts programs of images.
    pub(crate) containers: Option<Arc<dyn Launcher>>,
    pub(crate) pins: Option<Pins>,
    pub(crate) in_force: InForce,
    /// How long outputs are kept for their idempotency keys.
    pub(crate) keep_keys: Duration,
    pub(crate) launcher: Option<Arc<SandboxLauncher>>,
    pub(crate) store: Option<Arc<dyn Database>>,
    /// What counts the calls.
    pub(crate) live: Arc<Live>,
}

impl Makings {
    /// Makes the registry of one session.
    pub(crate) fn registry(&self, approver: Arc<dyn Approver>) -> Result<Registry, String> {
        let mut backends = Backends::none()
            .files(HostFiles::new())
            .network(ringfence::egress::Client::builder().build())
            .secrets(Arc::new(crate::secrets::source()))
            .environment(crate::secrets::environment());
        if let Some(launcher) = &self.launcher {
            backends = backends.launcher(Arc::clone(launcher) as _);
        }
        if let Some(containers) = &self.containers {
            backends = backends.containers(Arc::clone(containers));
        }
        if let Some(store) = &self.store {
            backends = backends.store(Arc::clone(store) as _);
        }
        let mut builder = Registry::builder()
            .personality(self.personality.clone())
            .backends(backends)
            .deadline(NO_DEADLINE)
            .keep_keys(self.keep_keys)
            .manifest(self.in_force.clone())
            .observer(Arc::clone(&self.live) as _)
            .observer(Arc::new(tell_unrecorded))
            .approver(approver);
        if let Some(store) = &self.store {
            builder = builder
                .audit(Arc::clone(store) as _)
                .idempotency(Arc::clone(store) as _)
                .runs(Arc::clone(store) as _);
        }
        if let Some(pins) = &self.pins {
            builder = builder.pins(pins.clone());
        }
        let registry = builder.build();
        for tool in &self.tools {
            registry.register_shared(tool).map_err(|error| error.to_string())?;
        }
        Ok(registry)
    }

    /// Returns whoever decides elsewhere, where there is a store.
    pub(crate) fn people(&self) -> Option<Arc<dyn Approver>> {
        let store = self.store.as_ref()?;
        let approver = StoreApprover::new(Arc::clone(store) as _).wait(WAIT);
        Some(match self.personality.approvals.expires {
            Some(expires) => Arc::new(approver.expires(expires.duration())),
            None => Arc::new(approver),
        })
    }
}

/// Tells whoever runs us of a call that ran and is not in the audit: its caller was told, and nobody else would know.
fn tell_unrecorded(event: Event<'_>) {
    if let Event::Failed(record) = event
        && let Outcome::Failed(failure) = record.outcome()
        && failure.code == Code::AuditFailed
    {
        tell(&format!(
            "error: call {} of `{}` is not in the audit: {}",
            record.call(),
            record.tool(),
            failure.message
        ));
    }
}

/// Writes a policy entry in the words of the server crate.
pub(crate) fn server_spec(
    entry: &ServerEntry,
    starter: Arc<dyn Starter>,
    prefixed: bool,
    idle: Duration,
) -> ServerSpec {
    let rule = |own: &policy::ServerTool| ToolRule {
        class: own.class,
        risk: own.risk.unwrap_or_default(),
        idempotency: own.idempotency.clone(),
        constraints: own.constraints.clone(),
        limits: own.limits,
        enabled: own.enabled,
    };
    ServerSpec {
        name: entry.name.to_string(),
        prefixed,
        capabilities: entry.capabilities.clone(),
        accept: match entry.accept {
            policy::Accept::Clean => Accept::Clean,
            policy::Accept::Review => Accept::Review,
        },
        tools: entry.tools.iter().map(|(name, own)| (name.to_string(), rule(own))).collect(),
        idle: entry.idle.map_or(idle, policy::Span::duration),
        wall: entry.limits.wall,
        max_message: entry
            .max_message
            .map_or(MAX_MESSAGE, |most| usize::try_from(most.bytes()).unwrap_or(usize::MAX)),
        sampling: entry.sampling,
        elicitation: entry.elicitation,
        starter,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;
    use ringfence::egress::Witness;
    use ringfence::policy::Toolbox;
    use ringfence::{Running, ToolError};
    use ringfence_server::ErrorSink;

    use super::*;

    struct Nothing;

    impl Starter for Nothing {
        fn start(&self, _: ErrorSink, _: Arc<dyn Witness>) -> BoxFuture<'_, Result<Running, ToolError>> {
            Box::pin(std::future::ready(Err(ToolError::new("nothing is started"))))
        }
    }

    #[test]
    fn a_server_has_the_limits_of_its_entry_and_no_others() {
        let spec = |lines: &str| {
            let toolbox = Toolbox::from_toml(&format!("[[server]]\nname = \"s\"\n{lines}")).unwrap();
            let entry = toolbox.servers(&policy::Variables::default()).0.remove(0);
            server_spec(&entry, Arc::new(Nothing), false, Duration::ZERO)
        };
        let usual = spec("");
        assert_eq!((usual.wall, usual.max_message), (None, MAX_MESSAGE));
        assert!(usual.sampling && usual.elicitation);
        let own =
            spec("limits = { wall = \"90s\" }\nmax_message = \"64M\"\nsampling = false\nelicitation = false");
        assert_eq!((own.wall, own.max_message), (Some("90s".parse().unwrap()), 64 << 20));
        assert!(!own.sampling && !own.elicitation);
        // No call of a gateway ends before its own limit does.
        assert!(NO_DEADLINE >= Duration::from_hours(24 * 30));
    }

    #[tokio::test]
    async fn gateways_on_one_store_count_a_run_together() {
        let folder = tempfile::tempdir().unwrap();
        let store = ringfence_store::SqliteStore::open(&folder.path().join("s.db")).unwrap();
        let store: Arc<dyn Database> = Arc::new(store);
        let once: Arc<dyn Tool> = Arc::new(
            ringfence::tool("once")
                .max_invocations(1)
                .input::<u8>()
                .output::<u8>()
                .run(|number, _| async move { Ok(number) })
                .unwrap(),
        );
        let gateway = || Makings {
            personality: Personality::default(),
            tools: vec![Arc::clone(&once)],
            containers: None,
            pins: None,
            in_force: InForce::default(),
            keep_keys: Duration::from_secs(60),
            launcher: None,
            store: Some(Arc::clone(&store)),
            live: Arc::default(),
        };
        let registry = |makings: &Makings| makings.registry(Arc::new(ringfence::MemoryApprover::default()));
        let (one, other) = (registry(&gateway()).unwrap(), registry(&gateway()).unwrap());
        // Another gateway continues the run where a call of it waited for people.
        let call = || ringfence::Call::new("once", serde_json::json!(1));
        let run = || ringfence::Run::new("mcp-1", "mcp-1");
        assert!(one.call(&run(), call()).await.outcome.is_done());
        let report = other.call(&run(), call()).await;
        assert_eq!(report.outcome.code(), Some(Code::ConstraintViolated), "{report:?}");
        one.end_run(&run()).await.unwrap();
        assert!(other.call(&run(), call()).await.outcome.is_done());
    }
}
