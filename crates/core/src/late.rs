//! What a tool does with its handles after its call has ended: refused, and recorded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use ringfence_policy::{Code, Refusal};
use tokio::runtime::Handle;

use crate::audit::{AuditEntry, LateUse};
use crate::event::Event;
use crate::registry::Parts;

/// How many late uses of one call are recorded. The rest is refused all the same.
const MAX_RECORDED: usize = 64;

/// Returns the refusal of a handle whose call has ended.
pub(crate) fn call_ended() -> Refusal {
    Refusal::new(Code::CallEnded, "the call that this handle belongs to has ended")
        .hint("have the tool wait for its own work before it returns")
}

/// Records the late uses of one call.
pub(crate) struct LateUses {
    registry: Arc<Parts>,
    /// The runtime the call ran on: a late use may come from a thread without one.
    runtime: Option<Handle>,
    call: u64,
    run: Arc<str>,
    tool: Arc<str>,
    recorded: AtomicUsize,
}

impl LateUses {
    pub(crate) fn new(registry: Arc<Parts>, call: u64, run: Arc<str>, tool: Arc<str>) -> Self {
        let runtime = Handle::try_current().ok();
        Self { registry, runtime, call, run, tool, recorded: AtomicUsize::new(0) }
    }

    /// Records one use: refused with a code, or begun before the end and done after it.
    pub(crate) fn record(&self, surface: &'static str, what: String, code: Option<Code>) {
        if self.recorded.fetch_add(1, Ordering::Relaxed) >= MAX_RECORDED {
            return;
        }
        let late = LateUse {
            at: self.registry.clock.now(),
            call: self.call,
            run: Arc::clone(&self.run),
            manifest: self.registry.in_force.hash.clone(),
            tool: Arc::clone(&self.tool),
            surface,
            what,
            code,
        };
        self.registry.tell(Event::Late(&late));
        let registry = Arc::clone(&self.registry);
        let mut keeping = Box::pin(async move {
            if let Err(error) = registry.append(std::iter::once(AuditEntry::Late(&late))).await {
                tracing::error!(tool = %late.tool, "the late use of a handle could not be recorded: {error}");
            }
        });
        // An audit in memory is done at once; another goes on in the background.
        let _entered = self.runtime.as_ref().map(Handle::enter);
        if keeping.as_mut().now_or_never().is_none()
            && let Some(runtime) = &self.runtime
        {
            runtime.spawn(keeping);
        }
    }
}
