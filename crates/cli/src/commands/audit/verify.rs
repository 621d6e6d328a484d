//! Verifying the log, and proving single records.

use std::io::Write;
use std::path::Path;

use ringfence::audit::{Checkpoint, Note, ProofFile, TrustedLog, Verified};
use ringfence_store::Database;
use serde_json::{Value, json};

use super::input;
use crate::error::{CommandError, Exit};
use crate::load::read_text;
use crate::shown::json_line;

/// Checks a proof without the log.
pub(super) fn check_proof(
    file: &Path,
    log: &TrustedLog,
    json: bool,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let proof: ProofFile = read_text(file, Some("give what `ringfence audit prove` wrote"))?
        .parse()
        .map_err(|error| input(format!("`{}`: {error}", file.display())))?;
    match proof.verify(log) {
        Ok(proven) if json => {
            let text = String::from_utf8_lossy(proven.record);
            let record: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!(text));
            writeln!(out, "{}", json_line(&json!({ "holds": true, "record": record })))?;
            Ok(Exit::Done)
        }
        Err(error) if json => {
            writeln!(out, "{}", json_line(&json!({ "holds": false, "why": error.to_string() })))?;
            Ok(Exit::Findings)
        }
        Ok(proven) => {
            writeln!(out, "{}", String::from_utf8_lossy(proven.record))?;
            Ok(Exit::Done)
        }
        Err(error) => {
            writeln!(out, "the proof does not hold: {error}")?;
            Ok(Exit::Findings)
        }
    }
}

/// Writes the proof that a record is under the first checkpoint that covers it.
pub(super) async fn prove(
    store: &dyn Database,
    index: u64,
    log: &TrustedLog,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let notes = store.checkpoints().await?;
    let covering = notes.into_iter().find(|(size, _)| *size > index).ok_or_else(|| CommandError::Input {
        message: format!("no checkpoint covers record {index}"),
        hint: Some("sign one with `ringfence audit checkpoint`"),
    })?;
    let note: Note = covering.1.parse().map_err(|error| input(format!("the checkpoint: {error}")))?;
    writeln!(out, "{}", store.prove(index, &note, log).await?)?;
    Ok(Exit::Done)
}

/// Reads a checkpoint that was kept elsewhere.
pub(super) fn checkpoint(path: &Path, log: &TrustedLog) -> Result<Checkpoint, CommandError> {
    let note: Note = read_text(path, Some("give what `ringfence audit checkpoint` printed"))?
        .parse()
        .map_err(|error| input(format!("`{}`: {error}", path.display())))?;
    log.open(&note).map_err(|error| input(format!("`{}`: {error}", path.display())))
}

/// Says what was found.
pub(super) fn tell(verified: &Verified, json: bool, out: &mut dyn Write) -> Result<Exit, CommandError> {
    if json {
        let told = json!({
            "intact": verified.is_intact(), "records": verified.records, "proven": verified.proven,
            "root": verified.root, "findings": verified.findings,
        });
        writeln!(out, "{told}")?;
    } else if verified.is_intact() {
        let (records, proven) = (verified.records, verified.proven);
        writeln!(out, "intact: {records} records, {proven} under a signed checkpoint")?;
    } else {
        for finding in &verified.findings {
            writeln!(out, "{}: {finding}", finding.word())?;
        }
    }
    Ok(if verified.is_intact() { Exit::Done } else { Exit::Findings })
}
