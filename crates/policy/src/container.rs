//! Which container engine runs the tools that run in images.

use serde::{Deserialize, Serialize};

/// The entry `[container]` of a toolbox.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContainerEntry {
    /// Where the engine is asked: `unix:///run/podman/podman.sock`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
}
