//! Why a call failed.
//!
//! INVARIANT: whatever is not said to be worth another try is final.

use std::error::Error;

use crate::bindings;

/// Why a call failed, for the model to read.
///
/// `?` makes one of any error. It is no error itself, which is what makes that possible.
///
/// # Examples
///
/// ```
/// use ringfence_guest::Failure;
///
/// fn half(text: &str) -> Result<u32, Failure> {
///     let number: u32 = text.parse()?;
///     if number % 2 == 1 {
///         return Err(Failure::new("the number is odd"));
///     }
///     Ok(number / 2)
/// }
/// assert_eq!(half("x").unwrap_err().message(), "invalid digit found in string");
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failure {
    message: String,
    again: bool,
}

impl Failure {
    /// Something went wrong, and the same call will not succeed later by itself.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), again: false }
    }

    /// Nothing was done, and the same call may succeed later.
    pub fn again(message: impl Into<String>) -> Self {
        Self { message: message.into(), again: true }
    }

    /// Returns what went wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Says whether nothing was done and the same call may succeed later.
    pub fn may_succeed_later(&self) -> bool {
        self.again
    }
}

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

impl From<Failure> for bindings::Failure {
    fn from(failure: Failure) -> Self {
        Self { message: failure.message, again: failure.again }
    }
}
