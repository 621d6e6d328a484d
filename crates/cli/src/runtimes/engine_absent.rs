//! A build without container engines.

use std::sync::Arc;

use ringfence::Launcher;
use ringfence::policy::ContainerEntry;
use ringfence::sandbox::Sandbox;
use tokio::runtime::Handle;

use crate::error::CommandError;

/// Says that this build asks no container engine.
pub(crate) fn containers(_: &ContainerEntry) -> Result<Option<Arc<dyn Launcher>>, CommandError> {
    Err(absent())
}

/// Says that this build asks no container engine.
pub(crate) fn sandbox(_: Option<&str>, _: Handle) -> Result<Sandbox, CommandError> {
    Err(absent())
}

/// Says that this build asks no container engine.
pub(crate) fn describe(_: &str) -> Result<String, CommandError> {
    Err(absent())
}

/// Does nothing: where no engine is asked, nothing was left.
pub(crate) const fn sweep(_: Option<&str>, _: &Handle) {}

fn absent() -> CommandError {
    CommandError::Input {
        message: "this ringfence was built without container engines".to_owned(),
        hint: Some("build it with the feature `container`"),
    }
}
