//! The audit as JSON lines in a file.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use ringfence::{AuditEntry, AuditSink};

use crate::error::CommandError;

/// Appends one line per outcome. What a tool returned is kept beside its cleaned form, so the file may hold secrets
/// and is for its owner only.
#[derive(Debug)]
pub(crate) struct AuditFile(Mutex<File>);

impl AuditFile {
    /// Opens the file for appending, readable by its owner only, before any tool runs.
    pub(crate) fn open(path: &Path) -> Result<Self, CommandError> {
        let opened = File::options().create(true).append(true).mode(0o600).open(path);
        opened.map(|file| Self(Mutex::new(file))).map_err(|error| CommandError::File {
            verb: "open the audit file",
            path: path.to_path_buf(),
            error,
            hint: Some("no tool was run"),
        })
    }
}

impl AuditFile {
    fn write(&self, entries: &[AuditEntry<'_>]) -> Result<(), String> {
        let mut lines = String::new();
        for entry in entries {
            // One line for each outcome, which lists its connections; a store keeps the rest too.
            let AuditEntry::Call { record, raw } = entry else { continue };
            let mut line = serde_json::to_value(record).map_err(|error| error.to_string())?;
            if let (Some(raw), Some(line)) = (raw, line.as_object_mut()) {
                line.insert("raw".to_owned(), (*raw).clone());
            }
            lines.push_str(&line.to_string());
            lines.push('\n');
        }
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(lines.as_bytes()).and_then(|()| file.sync_data()).map_err(|error| error.to_string())
    }
}

impl AuditSink for AuditFile {
    fn append<'a>(&'a self, entries: &'a [AuditEntry<'a>]) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(self.write(entries)))
    }
}
