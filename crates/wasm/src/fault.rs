//! How a guest ends that does not answer: by a limit, by a trap, by its own exit.
//!
//! INVARIANT: the sentence holds nothing of the host's: no path, no backtrace, no address.

use std::fmt;

use ringfence::{Code, Refusal, ToolError};
use wasmtime::{PoolConcurrencyLimitError, Trap};
use wasmtime_wasi::I32Exit;

use crate::state::State;

/// Why there is no answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    /// The guest ended itself.
    Exit(i32),
    /// The guest ran into a limit.
    Limit(&'static str),
    /// There was no place for it, and nothing ran.
    Full,
    /// The host did.
    Other,
    /// The guest did what WebAssembly does not allow.
    Trap(&'static str),
}

/// Finds out what ended a guest.
pub(crate) fn fault(error: &wasmtime::Error, state: &State, counts_fuel: bool) -> Fault {
    if let Some(limit) = state.counter.reached() {
        return Fault::Limit(limit);
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return Fault::Exit(exit.0);
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) if counts_fuel => Fault::Limit("fuel"),
        Some(Trap::StackOverflow) => Fault::Limit("stack"),
        Some(Trap::AllocationTooLarge) => Fault::Limit("memory"),
        Some(Trap::MemoryOutOfBounds | Trap::HeapMisaligned) => Fault::Trap("an access outside its memory"),
        Some(Trap::TableOutOfBounds | Trap::IndirectCallToNull | Trap::BadSignature) => {
            Fault::Trap("a call of what is no function")
        }
        Some(Trap::IntegerOverflow | Trap::IntegerDivisionByZero | Trap::BadConversionToInteger) => {
            Fault::Trap("an impossible calculation")
        }
        Some(Trap::UnreachableCodeReached) => Fault::Trap("a panic or an abort of its own"),
        Some(_) => Fault::Trap("a trap"),
        // The engine's type for this is its own.
        None if error.chain().any(|cause| cause.to_string().contains("fuel allocated for hostcalls")) => {
            Fault::Limit("output")
        }
        None if error.is::<PoolConcurrencyLimitError>() => Fault::Full,
        None => Fault::Other,
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "the component ended itself with exit code {code}"),
            Self::Full => f.write_str("there is no place for a further component"),
            Self::Limit(limit) => write!(f, "the component ran into its limit `{limit}`"),
            Self::Other => f.write_str("the component was ended by the host"),
            Self::Trap(what) => write!(f, "the component was ended by {what}"),
        }
    }
}

impl Fault {
    /// Makes the error of a call. Whatever ended a guest would end it again.
    pub(crate) fn into_tool_error(self, state: &State) -> ToolError {
        let behind = state.refused.behind("").map(|refusal| format!(" ({refusal})")).unwrap_or_default();
        match &self {
            Self::Full => ToolError::new(self.to_string()).not_executed(),
            Self::Limit(_) => Refusal::new(Code::LimitExceeded, self.to_string()).into(),
            Self::Exit(_) | Self::Other | Self::Trap(_) => {
                ToolError::new(format!("{self}{behind}")).permanent()
            }
        }
    }
}
