//! Points where a test can end the process, to see what survives.
//!
//! Nothing happens at a point unless somebody has set a hook, which only tests do. The hook is a plain function: it kills the
//! process, sleeps, or does nothing.

use std::sync::OnceLock;

/// What happens at a point.
pub type Hook = fn(&'static str);

static HOOK: OnceLock<Hook> = OnceLock::new();

/// Sets the hook, once for the process.
pub fn set(hook: Hook) {
    // A second hook is a mistake in a test, which then fails.
    let _set = HOOK.set(hook);
}

/// Passes a point.
pub fn hit(point: &'static str) {
    if let Some(hook) = HOOK.get() {
        hook(point);
    }
}
