//! The policy of the MCP servers that a client's configuration lists. The configuration stays as it is.

use std::path::Path;

use super::document::Document;
use super::words::quoted as shell;
use super::{Draft, flag};
use crate::commands::import::imported;
use crate::error::CommandError;
use crate::import::Line;
use crate::load::{Place, read_text};

/// Makes the policy.
pub(crate) fn draft(file: &Path, place: &Place) -> Result<Draft, CommandError> {
    let text = read_text(
        file,
        Some(
            "give the file in which the client lists its MCP servers, such as .cursor/mcp.json or .vscode/mcp.json",
        ),
    )?;
    let policy = std::path::absolute(&place.policy).map_err(CommandError::Start)?;
    let found = imported(file, &text, &policy)?;
    if found.servers.is_empty() {
        let why = found.notes.first().map(|note| format!(": {note}")).unwrap_or_default();
        return Err(CommandError::Input {
            message: format!("`{}` lists no server that can be fenced{why}", file.display()),
            hint: Some(
                "a server that is reached over the network runs elsewhere; fence one that the client starts itself",
            ),
        });
    }
    let mut document = Document::new(&[
        format!("Written by `ringfence init` from {}.", crate::shown::one_line(&file.display().to_string())),
        "What a server may touch was guessed from its arguments, and narrowly: look at what is marked REVIEW.".into(),
    ]);
    let mut ceiling = vec![
        Line::Field("id", "\"clients\"".into()),
        Line::Remark(
            "Exactly what the servers declare below. What you add to a server, add here too.".into(),
        ),
    ];
    ceiling.extend(found.personality.iter().cloned());
    document.section("personality", &ceiling);
    for (_, server) in &found.servers {
        document.section("server", server);
    }
    let flag = flag(place);
    let file = shell(&file.to_string_lossy());
    Ok(Draft {
        text: document.finish(&["personality", "server"]),
        beside: Vec::new(),
        notes: found.notes.iter().map(|note| note.replace(": is wrapped", ": will be fenced")).collect(),
        next: vec![
            (format!("ringfence check{flag}"), "all problems at once; there are none now"),
            (
                format!("ringfence import {file}{flag} --keep-policy"),
                "let the client start them inside the fence; a backup is kept",
            ),
            (format!("ringfence pins{flag} list"), "once they ran: which of their tools were accepted"),
        ],
    })
}
