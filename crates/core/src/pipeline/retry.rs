//! When a call is tried again, by its class.
//!
//! Reading again does no harm, so that a `read` tool is tried again when it fails for a reason of its own. Every other
//! class is tried again only when it cannot have had an effect: it has an idempotency key, and the tool says that it
//! was not executed. What a fence refused is never tried again: it would be refused again.

use std::time::Duration;

use ringfence_policy::SafetyClass;

use crate::outcome::Failure;
use crate::random;

/// How often a call is tried at most.
const ATTEMPTS: u32 = 3;
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(2);

/// Says whether a call that failed at its `attempt`th attempt is tried again.
pub(super) fn again(class: SafetyClass, has_key: bool, failure: &Failure, attempt: u32) -> bool {
    let is_safe = class == SafetyClass::Read || (has_key && !failure.executed);
    attempt < ATTEMPTS && failure.again && is_safe
}

/// Pauses that grow and differ, so that those who failed together do not come back together.
pub(super) struct Backoff(Duration);

impl Backoff {
    /// Starts with about this pause.
    pub(super) const fn new(first: Duration) -> Self {
        Self(first)
    }

    /// Returns the next pause: between half of the planned one and all of it.
    pub(super) fn next(&mut self) -> Duration {
        let planned = self.0;
        self.0 = planned.saturating_mul(2).min(LONGEST);
        let byte = random::bytes::<1>().map_or(u8::MAX, |[byte]| byte);
        planned / 2 + planned / 2 * u32::from(byte) / u32::from(u8::MAX)
    }
}

#[cfg(test)]
mod tests {
    use ringfence_policy::Code;

    use super::*;

    #[test]
    fn only_what_does_no_harm_is_tried_again() {
        #[rustfmt::skip]
        let cases = [
            // class                   key    executed  again  attempt  tried
            (SafetyClass::Read,        false, true,     true,  1,       true),
            (SafetyClass::Read,        false, true,     true,  3,       false),
            (SafetyClass::Read,        true,  true,     true,  2,       true),
            (SafetyClass::Read,        false, true,     false, 1,       false),
            (SafetyClass::Write,       true,  true,     true,  1,       false),
            (SafetyClass::Write,       false, false,    true,  1,       false),
            (SafetyClass::Write,       true,  false,    true,  1,       true),
            (SafetyClass::Network,     true,  false,    true,  1,       true),
            (SafetyClass::Financial,   true,  false,    true,  2,       true),
            (SafetyClass::Financial,   true,  true,     true,  1,       false),
            (SafetyClass::Financial,   true,  false,    false, 1,       false),
            (SafetyClass::Privileged,  false, false,    true,  1,       false),
        ];
        for (class, has_key, executed, may, attempt, expected) in cases {
            let failure =
                Failure { code: Code::ExecutionFailed, message: String::new(), executed, again: may };
            assert_eq!(again(class, has_key, &failure, attempt), expected, "{class:?} {has_key} {executed}");
        }
    }

    #[test]
    fn pauses_grow_to_a_limit() {
        let mut backoff = Backoff::new(Duration::from_millis(100));
        let mut planned = Duration::from_millis(100);
        for _ in 0..10 {
            let pause = backoff.next();
            assert!(pause >= planned / 2 && pause <= planned, "{pause:?} of {planned:?}");
            planned = (planned * 2).min(LONGEST);
        }
    }
}
