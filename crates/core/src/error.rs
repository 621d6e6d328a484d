//! What a tool's own code may fail with.

use std::error::Error;
use std::fmt;

use ringfence_egress::EgressError;
use ringfence_policy::{Code, Refusal};

use crate::fs::FsError;
use crate::port::StoreError;

/// Why a tool failed, for the model: one sentence, and the code where a scoped handle refused.
///
/// Every error converts with `?`; the code of a handle's refusal is kept.
///
/// # Examples
///
/// ```
/// use ringfence::ToolError;
///
/// fn parse(text: &str) -> Result<u32, ToolError> {
///     Ok(text.parse()?)
/// }
///
/// assert_eq!(parse("x").unwrap_err().to_string(), "invalid digit found in string");
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolError {
    message: String,
    code: Option<Code>,
    executed: bool,
    permanent: bool,
}

impl ToolError {
    /// Makes an error of the tool's own.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: None, executed: true, permanent: false }
    }

    /// Marks a failure that certainly had no effect, so that the same idempotency key may be tried again.
    #[must_use]
    pub fn not_executed(mut self) -> Self {
        self.executed = false;
        self
    }

    /// Marks a failure that would only come again, so that a `read` tool is not tried again.
    #[must_use]
    pub fn permanent(mut self) -> Self {
        self.permanent = true;
        self
    }

    pub(crate) const fn is_permanent(&self) -> bool {
        self.permanent
    }

    pub(crate) const fn was_executed(&self) -> bool {
        self.executed
    }

    /// Returns the code of the handle's refusal that caused it.
    pub const fn code(&self) -> Option<Code> {
        self.code
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

// `ToolError` is not an `Error` itself, which is what lets every `Error` convert into it.
impl<E: Error + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self { message: error.to_string(), code: code_of(&error), executed: true, permanent: false }
    }
}

fn code_of(error: &(dyn Error + 'static)) -> Option<Code> {
    let code = if let Some(refusal) = error.downcast_ref::<Refusal>() {
        refusal.code
    } else if let Some(error) = error.downcast_ref::<FsError>() {
        error.code()
    } else if let Some(error) = error.downcast_ref::<EgressError>() {
        error.code()
    } else if let Some(StoreError::Refused(refusal)) = error.downcast_ref::<StoreError>() {
        refusal.code
    } else {
        return error.source().and_then(code_of);
    };
    (code != Code::ExecutionFailed).then_some(code)
}
