//! What operators read. It is kept up to a limit and never shown to a model.

#[cfg(target_family = "wasm")]
use crate::bindings::ringfence::tool::log as host;
#[cfg(not(target_family = "wasm"))]
use crate::outside::log as host;

/// Writes a line for whoever looks for a fault.
pub fn debug(message: &str) {
    host::write(host::Level::Debug, message);
}

/// Writes a line about the ordinary course of things.
pub fn info(message: &str) {
    host::write(host::Level::Info, message);
}

/// Writes a line about something that may become a problem.
pub fn warn(message: &str) {
    host::write(host::Level::Warn, message);
}

/// Writes a line about something that went wrong.
pub fn error(message: &str) {
    host::write(host::Level::Error, message);
}
