//! The clock of deadlines: one thread that raises the engine's epoch while guests run.
//!
//! INVARIANT: while a [`Ticking`] is alive the epoch rises every [`TICK`]; when none has been for a while the thread
//! sleeps, and it ends with the engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::{Engine, EngineWeak};

use crate::WasmError;
use crate::error::said;

/// How long a guest may hold its thread.
pub(crate) const TICK: Duration = Duration::from_millis(5);
/// How many ticks without a guest until the thread sleeps, so that calls one after the other need not wake it.
const IDLE: u32 = 200;
/// How long it sleeps at most; it is woken by the next guest.
const SLEEP: Duration = Duration::from_secs(60);

/// The ticking thread.
#[derive(Debug)]
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

#[derive(Debug, Default)]
struct Shared {
    guests: AtomicUsize,
    asleep: AtomicBool,
}

/// Keeps the clock going while it is alive.
#[derive(Debug)]
pub(crate) struct Ticking(Arc<Shared>);

impl Ticker {
    /// Starts the thread.
    pub(crate) fn start(engine: &Engine) -> Result<Self, WasmError> {
        let shared = Arc::new(Shared::default());
        let (weak, theirs) = (engine.weak(), Arc::clone(&shared));
        let handle = thread::Builder::new()
            .name("ringfence-wasm".to_owned())
            .spawn(move || tick(&weak, &theirs))
            .map_err(|error| WasmError::Engine { problem: said(&error) })?;
        Ok(Self { shared, thread: handle.thread().clone() })
    }

    /// Says that a guest runs.
    pub(crate) fn ticking(&self) -> Ticking {
        self.shared.guests.fetch_add(1, Ordering::SeqCst);
        if self.shared.asleep.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
        Ticking(Arc::clone(&self.shared))
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.thread.unpark();
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.0.guests.fetch_sub(1, Ordering::SeqCst);
    }
}

fn tick(engine: &EngineWeak, shared: &Shared) {
    let mut idle = 0;
    while let Some(engine) = engine.upgrade() {
        engine.increment_epoch();
        drop(engine);
        idle = if shared.guests.load(Ordering::SeqCst) == 0 { idle + 1 } else { 0 };
        if idle < IDLE {
            thread::sleep(TICK);
            continue;
        }
        shared.asleep.store(true, Ordering::SeqCst);
        // A guest that came before the store is seen here; one that comes after it wakes the thread.
        if shared.guests.load(Ordering::SeqCst) == 0 {
            thread::park_timeout(SLEEP);
        }
        shared.asleep.store(false, Ordering::SeqCst);
        idle = 0;
    }
}
