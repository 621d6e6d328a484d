//! What the host keeps for one instance: its handles, its counters, what it was refused.

use std::sync::{Arc, Mutex, PoisonError};

use ringfence::policy::NamePattern;
use ringfence::{Context, Refusal};
use wasmtime_wasi::{ResourceTable, WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::bindings::ringfence::tool::log::Level;
use crate::files::Files;
use crate::http::Sender;
use crate::limit::{Budget, Counter};
use crate::log::{Log, Stream};

/// Resources that a guest may hold at a time: descriptors, streams, requests, things to wait for.
const RESOURCES: usize = 512;

/// How many random bytes may be asked for at a time.
const RANDOM: u64 = 64 << 10;
/// How large the headers of one message may be.
const FIELDS: usize = 32 << 10;

/// The state of one instance.
pub(crate) struct State {
    pub(crate) wasi: WasiCtx,
    pub(crate) http: WasiHttpCtx,
    pub(crate) sender: Sender,
    pub(crate) table: ResourceTable,
    pub(crate) files: Files,
    pub(crate) counter: Counter,
    pub(crate) log: Log,
    pub(crate) context: Option<Context>,
    pub(crate) refused: Refusals,
}

impl State {
    /// Makes the state of a call, or of the question what a component is, to which nothing is granted.
    pub(crate) fn new(context: Option<Context>, budget: &Budget) -> Self {
        let (tool, call) = context.as_ref().map_or_else(
            || ("a component that is not registered".into(), 0),
            |context| (context.tool().as_str().into(), context.call()),
        );
        let log = Log::new(tool, call);
        let mut wasi = WasiCtx::builder();
        // Nothing is admitted by an address check either: sockets are refused altogether.
        wasi.allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false);
        // Made on the thread that polls the guest.
        wasi.max_random_size(RANDOM);
        wasi.stdout(Stream { log: log.clone(), level: Level::Info });
        wasi.stderr(Stream { log: log.clone(), level: Level::Warn });
        if let Some(context) = &context {
            for (name, value) in variables(context) {
                wasi.env(name, value);
            }
        }
        let mut table = ResourceTable::new();
        table.set_max_capacity(RESOURCES);
        let refused = Refusals::default();
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(FIELDS);
        Self {
            wasi: wasi.build(),
            http,
            sender: Sender::new(context.clone(), refused.clone()),
            table,
            files: Files::new(context.clone(), budget.open_files, refused.clone()),
            counter: Counter::new(budget),
            log,
            context,
            refused,
        }
    }
}

/// Returns the granted variables that are set. A pattern names nothing, so only exact names appear.
fn variables(context: &Context) -> Vec<(String, String)> {
    let (Some(granted), Ok(environment)) = (&context.grant().environment, context.environment()) else {
        return Vec::new();
    };
    let names = granted.iter().filter_map(|pattern| match pattern {
        NamePattern::Exact(name) => Some(name.to_string()),
        _ => None,
    });
    let mut found = Vec::new();
    for name in names {
        if let Ok(Some(value)) = environment.get(&name) {
            let value = value.to_owned();
            found.push((name, value));
        }
    }
    found
}

/// What the handles of a call refused, the first of it. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusals(Arc<Mutex<Vec<Refusal>>>);

/// How many refusals are remembered.
const REMEMBERED: usize = 16;

impl Refusals {
    /// Remembers a refusal.
    pub(crate) fn note(&self, refusal: &Refusal) {
        let mut refusals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if refusals.len() < REMEMBERED {
            refusals.push(refusal.clone());
        }
    }

    /// Returns the refusal whose sentence is in a text, else the first.
    pub(crate) fn behind(&self, text: &str) -> Option<Refusal> {
        let refusals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.iter().find(|refusal| text.contains(&refusal.to_string())).or(refusals.first()).cloned()
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.sender, table: &mut self.table, ctx: &mut self.http }
    }
}
