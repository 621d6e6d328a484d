//! A thread with a stack that deeply nested source does not exhaust.

use super::ScriptError;

/// The memory is only reserved: a page counts from when it is touched.
const STACK_BYTES: usize = 1 << 30;

/// Runs `job` on a thread of its own with a big stack and waits for it.
pub(crate) fn with_big_stack<T: Send>(
    job: impl FnOnce() -> Result<T, ScriptError> + Send,
) -> Result<T, ScriptError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("scripts".into())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, job)
            .map_err(|error| ScriptError::Thread(error.to_string()))?;
        thread.join().map_err(|_| ScriptError::Thread("it panicked".into()))?
    })
}
