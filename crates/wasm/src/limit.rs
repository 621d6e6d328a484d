//! What one call may spend, and what this runtime cannot hold to a limit.
//!
//! INVARIANT: memory and tables of all instances of a call together stay within their limits; a guest that asks for
//! more is told no by the instruction it asks with.

use std::time::Duration;

use ringfence::policy::{Capabilities, Direction, Grant, Limits};
use ringfence::{Code, Declaration, Refusal};
use wasmtime::ResourceLimiter;

use crate::WasmError;

/// Something that a tool may declare elsewhere and that a component cannot have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unsupported {
    /// What it is called, in a declaration or in an interface.
    pub part: &'static str,
    /// Why.
    pub why: &'static str,
    /// When it is refused.
    pub refused: Refused,
}

/// When something is refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refused {
    /// A tool that declares it is not registered.
    AtRegistration,
    /// Whoever uses it is told no.
    AtUse,
}

/// What this runtime cannot do or cannot enforce. Nothing of it is silently left out.
#[rustfmt::skip]
pub const UNSUPPORTED: &[Unsupported] = &[
    Unsupported { part: "process",          why: "a component starts no processes",                             refused: Refused::AtRegistration },
    Unsupported { part: "limits.file_size", why: "what is written to open files is not counted",                refused: Refused::AtRegistration },
    Unsupported { part: "limits.scratch",   why: "there is no scratch space",                                   refused: Refused::AtRegistration },
    Unsupported { part: "wasi:sockets",     why: "only HTTP goes out, through the one egress function",         refused: Refused::AtUse },
    Unsupported { part: "wasi:filesystem/types#[method]descriptor.link-at",    why: "no links are made for a tool", refused: Refused::AtUse },
    Unsupported { part: "wasi:filesystem/types#[method]descriptor.symlink-at", why: "no links are made for a tool", refused: Refused::AtUse },
];

/// Memory of a tool that says nothing of it.
const MEMORY: u64 = 64 << 20;
/// Output of a tool that says nothing of it.
const OUTPUT: u64 = 4 << 20;
/// Open files of a tool that says nothing of it.
const OPEN_FILES: u32 = 256;
/// Entries of all tables of a call.
pub(crate) const TABLE_ENTRIES: usize = 100_000;

/// Refuses a declaration that asks for what a component cannot have, all of it at once.
pub(crate) fn check(declaration: &Declaration) -> Result<(), WasmError> {
    let capabilities = declaration.capabilities.as_ref();
    let asked = |unsupported: &&Unsupported| match unsupported.part {
        "process" => capabilities.is_some_and(|capabilities: &Capabilities| capabilities.process.is_some()),
        "limits.file_size" => declaration.limits.file_size.is_some(),
        "limits.scratch" => declaration.limits.scratch.is_some(),
        _ => false,
    };
    let parts: Vec<&'static str> = UNSUPPORTED.iter().filter(asked).map(|asked| asked.part).collect();
    if parts.is_empty() { Ok(()) } else { Err(WasmError::Unsupported { parts }) }
}

/// What one call may spend, decided when it starts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Budget {
    pub(crate) memory: u64,
    pub(crate) output: u64,
    pub(crate) open_files: u32,
    pub(crate) cpu: Option<Duration>,
}

impl Budget {
    /// Takes the limits of a call.
    ///
    /// # Errors
    ///
    /// The operator sets a limit that cannot be held here, and the tool could pass it.
    pub(crate) fn of(limits: &Limits, grant: &Grant) -> Result<Self, Refusal> {
        let writes = grant.fs.as_ref().is_some_and(|files| !files.is_empty(Direction::Write));
        if writes && limits.enforced().file_size.is_some() {
            let message =
                "the limit `file_size` is set, and a component that writes files cannot be held to it";
            return Err(Refusal::new(Code::NotAvailable, message)
                .hint("take the limit away for this tool, or run it as a process in the sandbox"));
        }
        Ok(Self {
            memory: limits.memory.map_or(MEMORY, |size| size.bytes()),
            output: limits.output.map_or(OUTPUT, |size| size.bytes()),
            open_files: limits.open_files.unwrap_or(OPEN_FILES),
            cpu: limits.enforced().cpu.map(|span| span.duration()),
        })
    }

    /// What a component may spend on saying what it is.
    pub(crate) const ASKING: Self =
        Self { memory: MEMORY, output: 1 << 20, open_files: 0, cpu: Some(Duration::from_secs(2)) };
}

/// Counts what the instances of a call have, and remembers which limit they ran into.
#[derive(Debug)]
pub(crate) struct Counter {
    memory: u64,
    table: usize,
    most: u64,
    reached: Option<&'static str>,
}

impl Counter {
    pub(crate) const fn new(budget: &Budget) -> Self {
        Self { memory: 0, table: 0, most: budget.memory, reached: None }
    }

    /// Returns the limit that was asked to be passed, the first one.
    pub(crate) const fn reached(&self) -> Option<&'static str> {
        self.reached
    }
}

impl ResourceLimiter for Counter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let more = desired.saturating_sub(current) as u64;
        let memory = self.memory.saturating_add(more);
        if memory > self.most {
            self.reached.get_or_insert("memory");
            return Ok(false);
        }
        self.memory = memory;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let table = self.table.saturating_add(desired.saturating_sub(current));
        if table > TABLE_ENTRIES {
            self.reached.get_or_insert("table entries");
            return Ok(false);
        }
        self.table = table;
        Ok(true)
    }
}
