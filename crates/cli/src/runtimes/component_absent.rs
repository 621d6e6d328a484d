//! A build without WebAssembly.

use std::sync::Arc;

use ringfence::Tool;
use ringfence::policy::{ComponentFile, Declaration};

use crate::error::CommandError;

/// A component, of which there are none.
#[derive(Clone, Debug)]
pub(crate) enum Plugin {}

impl Plugin {
    /// Says that this build runs no components.
    pub(crate) fn read(_: Vec<u8>) -> Result<Self, String> {
        Err("this ringfence was built without components; build it with the feature `wasm`".to_owned())
    }

    /// Returns what the policy wants to know of it.
    pub(crate) fn file(&self) -> ComponentFile {
        match *self {}
    }
}

/// Says that this build runs no components.
pub(crate) fn plugin_tools(
    _: &[Plugin],
) -> impl FnMut(Declaration) -> Result<Arc<dyn Tool>, CommandError> + '_ {
    |declaration| {
        Err(CommandError::Input {
            message: format!("tool `{}`: this ringfence was built without components", declaration.name),
            hint: Some("build it with the feature `wasm`"),
        })
    }
}
