//! When a call is tried again, by its class.
//!
//! Reading again does no harm, so that a `read` tool is tried again when it fails for a reason of its own, unless it
//! declares idempotency and so says of itself that repeating it matters. Everything else is tried again only when it
//! cannot have had an effect: the call has an idempotency key, and the tool says that it was not executed. What a
//! fence refused is never tried again: it would be refused again.

use std::time::Duration;

use ringfence_policy::SafetyClass;

use crate::outcome::Failure;
use crate::random;

/// How often a call is tried at most.
const ATTEMPTS: u32 = 3;
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(2);

/// What is known of a call before it runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Harm {
    /// The class of the tool.
    pub(super) class: SafetyClass,
    /// Whether the tool declares idempotency.
    pub(super) declares_idempotency: bool,
    /// Whether the call has a key.
    pub(super) has_key: bool,
}

/// Says whether a call that failed at its `attempt`th attempt is tried again.
pub(super) fn again(harm: Harm, failure: &Failure, attempt: u32) -> bool {
    let reads = harm.class == SafetyClass::Read && !harm.declares_idempotency;
    attempt < ATTEMPTS && failure.again && (reads || (harm.has_key && !failure.executed))
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
            // class                   declares  key    executed  again  attempt  tried
            (SafetyClass::Read,        false,    false, true,     true,  1,       true),
            (SafetyClass::Read,        false,    false, true,     true,  3,       false),
            (SafetyClass::Read,        true,     false, true,     true,  1,       false),
            (SafetyClass::Read,        true,     true,  true,     true,  1,       false),
            (SafetyClass::Read,        true,     true,  false,    true,  2,       true),
            (SafetyClass::Read,        false,    false, true,     false, 1,       false),
            (SafetyClass::Write,       true,     true,  true,     true,  1,       false),
            (SafetyClass::Write,       false,    false, false,    true,  1,       false),
            (SafetyClass::Write,       true,     true,  false,    true,  1,       true),
            (SafetyClass::Network,     true,     true,  false,    true,  1,       true),
            (SafetyClass::Financial,   true,     true,  false,    true,  2,       true),
            (SafetyClass::Financial,   true,     true,  true,     true,  1,       false),
            (SafetyClass::Financial,   true,     true,  false,    false, 1,       false),
            (SafetyClass::Privileged,  false,    false, false,    true,  1,       false),
        ];
        for (class, declares_idempotency, has_key, executed, may, attempt, expected) in cases {
            let harm = Harm { class, declares_idempotency, has_key };
            let failure =
                Failure { code: Code::ExecutionFailed, message: String::new(), executed, again: may };
            assert_eq!(again(harm, &failure, attempt), expected, "{harm:?} {executed} {may} {attempt}");
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
