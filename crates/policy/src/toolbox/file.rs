//! The files that a toolbox names: this crate asks for them and touches none.

use serde_json::Value;

/// The files that a toolbox names, read by whoever may read files.
pub trait ToolFiles {
    /// Returns the schema that a file holds.
    ///
    /// # Errors
    ///
    /// What is wrong with the file.
    fn schema(&mut self, file: &str) -> Result<Value, String>;

    /// Returns what a component says of itself.
    ///
    /// # Errors
    ///
    /// What is wrong with the file.
    fn component(&mut self, file: &str) -> Result<ComponentFile, String> {
        let _ = file;
        Err("components are not read here".to_owned())
    }
}

/// No files at all: a toolbox that names one has a gap.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl ToolFiles for NoFiles {
    fn schema(&mut self, _: &str) -> Result<Value, String> {
        Err("no files are read here".to_owned())
    }
}

/// A component as it was read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ComponentFile {
    /// Its declaration, as JSON.
    pub declaration: String,
    /// The digest of the whole file.
    pub digest: String,
}
