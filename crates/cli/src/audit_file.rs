//! The audit as JSON lines in a file.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use ringfence::{AuditEntry, AuditSink};

use crate::error::CommandError;

/// Appends one line per outcome, and one for each handle that was used after its call had ended. What a tool returned is kept beside its cleaned form, so the file may hold secrets
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
            // One line for each outcome, which lists its connections, and for each late use; a store keeps the rest too.
            let line = match entry {
                AuditEntry::Call { record, raw } => {
                    let mut line = serde_json::to_value(record).map_err(|error| error.to_string())?;
                    if let (Some(raw), Some(line)) = (raw, line.as_object_mut()) {
                        line.insert("raw".to_owned(), (*raw).clone());
                    }
                    line
                }
                AuditEntry::Late(late) => {
                    let mut line = serde_json::to_value(late).map_err(|error| error.to_string())?;
                    if let Some(line) = line.as_object_mut() {
                        line.insert("kind".to_owned(), "late".into());
                    }
                    line
                }
                _ => continue,
            };
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use ringfence::{Backends, Call, Context, HostFiles, Registry, Run, tool};
    use serde_json::{Value, json};

    use super::*;

    #[tokio::test]
    async fn a_handle_that_is_used_after_its_call_leaves_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let kept: Arc<Mutex<Option<Context>>> = Arc::default();
        let keeper = Arc::clone(&kept);
        let registry = Registry::builder()
            .personality(serde_json::from_value(json!({"fs_reach": {"read": ["/srv"]}})).unwrap())
            .backends(Backends::none().files(HostFiles::new()))
            .audit(Arc::new(AuditFile::open(&path).unwrap()))
            .build();
        let keep = tool("keep").read(["/srv"]).input::<u8>().output::<u8>().run(move |number, context| {
            *keeper.lock().unwrap() = Some(context);
            async move { Ok(number) }
        });
        registry.register(keep.unwrap()).unwrap();
        assert!(registry.call(&Run::new("r", "s"), Call::new("keep", json!(1))).await.outcome.is_done());
        let context = kept.lock().unwrap().take().unwrap();
        assert!(context.fs().is_err());
        let written = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [call, late] = lines.as_slice() else { panic!("{written}") };
        assert_eq!((&call["tool"], &call["kind"]), (&json!("keep"), &Value::Null));
        assert_eq!(
            (&late["kind"], &late["tool"], &late["run"]),
            (&json!("late"), &json!("keep"), &json!("r"))
        );
        assert_eq!(late["code"], "CALL_ENDED", "{late}");
    }
}
