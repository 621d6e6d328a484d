//! The files that a toolbox names, beside it.

use std::path::{Path, PathBuf};

use ringfence::policy::{ComponentFile, ToolFiles};
use serde_json::Value;

use super::{Plugin, read_component};
use crate::load::read_schema;

/// Reads schemas and components, and keeps the components.
#[derive(Debug)]
pub(crate) struct PolicyFiles {
    base: PathBuf,
    pub(crate) plugins: Vec<Plugin>,
}

impl PolicyFiles {
    /// Reads what a toolbox names; names begin in its folder.
    pub(crate) fn beside(toolbox: &Path) -> Self {
        Self { base: toolbox.parent().unwrap_or(Path::new("")).to_path_buf(), plugins: Vec::new() }
    }
}

impl ToolFiles for &mut PolicyFiles {
    fn schema(&mut self, file: &str) -> Result<Value, String> {
        read_schema(&self.base, file)
    }

    fn component(&mut self, file: &str) -> Result<ComponentFile, String> {
        let plugin = Plugin::read(read_component(&self.base.join(file))?)?;
        let found = plugin.file();
        self.plugins.push(plugin);
        Ok(found)
    }
}
