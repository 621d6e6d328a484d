//! The files that a toolbox names, beside it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ringfence::policy::{ComponentFile, ToolFiles};
use serde_json::Value;

use super::{Plugin, read_component};
use crate::load::read_schema;

/// Reads schemas and components, and keeps what they said.
#[derive(Clone, Debug, Default)]
pub(crate) struct PolicyFiles {
    base: PathBuf,
    schemas: BTreeMap<String, Result<Value, String>>,
    components: BTreeMap<String, Result<ComponentFile, String>>,
    /// The component that is called by itself.
    pub(crate) called: Option<PathBuf>,
    pub(crate) plugins: Vec<Plugin>,
}

impl PolicyFiles {
    /// Reads what a toolbox names; names begin in its folder.
    pub(crate) fn beside(toolbox: &Path) -> Self {
        Self { base: toolbox.parent().unwrap_or(Path::new("")).to_path_buf(), ..Self::default() }
    }

    /// Returns the files that were read.
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        let names = self.schemas.keys().chain(self.components.keys());
        names.map(|name| self.base.join(name)).chain(self.called.clone())
    }

    fn read_plugin(&mut self, file: &str) -> Result<ComponentFile, String> {
        let plugin = Plugin::read(read_component(&self.base.join(file))?)?;
        let found = plugin.file();
        self.plugins.push(plugin);
        Ok(found)
    }
}

/// Each file is read once, however many tools name it: what was judged is what runs.
impl ToolFiles for &mut PolicyFiles {
    fn schema(&mut self, file: &str) -> Result<Value, String> {
        if let Some(known) = self.schemas.get(file) {
            return known.clone();
        }
        let read = read_schema(&self.base, file);
        self.schemas.insert(file.to_owned(), read.clone());
        read
    }

    fn component(&mut self, file: &str) -> Result<ComponentFile, String> {
        if let Some(known) = self.components.get(file) {
            return known.clone();
        }
        let read = self.read_plugin(file);
        self.components.insert(file.to_owned(), read.clone());
        read
    }
}

/// What was read, and nothing from the disk: by now the files may say something else.
impl ToolFiles for &PolicyFiles {
    fn schema(&mut self, file: &str) -> Result<Value, String> {
        self.schemas.get(file).cloned().unwrap_or_else(|| Err(not_read(file)))
    }

    fn component(&mut self, file: &str) -> Result<ComponentFile, String> {
        self.components.get(file).cloned().unwrap_or_else(|| Err(not_read(file)))
    }
}

fn not_read(file: &str) -> String {
    format!("`{file}` was not read with the toolbox")
}
