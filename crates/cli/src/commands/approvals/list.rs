//! Requests as people see them.
//!
//! INVARIANT: what a model or a caller wrote is on lines that begin with our words, and cannot begin one of its own.

use std::io::Write;

use ringfence::{DamagedRequest, FiledRequest, RequestFilter, RequestState};
use ringfence_store::Database;
use serde_json::{Value, json};

use crate::error::{CommandError, Exit};
use crate::list_limit::{COUNTED, report_cut};
use crate::shown::{cell, json_line, json_lines, one_line};
use crate::table::table;
use crate::time::Moment;

/// Which requests are listed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Shown {
    /// All of them.
    All,
    /// Those that wait for people.
    Waiting,
}

/// Finds a request by its name or digest.
pub(super) async fn find(store: &dyn Database, id: &str) -> Result<FiledRequest, CommandError> {
    store.request(id).await?.ok_or_else(|| CommandError::Input {
        message: format!("there is no request `{}`", one_line(id)),
        hint: Some("`ringfence approvals list --all` shows every request"),
    })
}

/// Lists requests. Exits with 4 where one cannot be read.
pub(super) async fn list(
    store: &dyn Database,
    shown: Shown,
    limit: usize,
    json: bool,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let state = (shown == Shown::Waiting).then_some(RequestState::Open);
    let filter = |most| RequestFilter { state, most, ..RequestFilter::default() };
    let listed = store.list_requests(&filter(limit)).await?;
    print(shown, &listed.requests, json, out)?;
    let count = listed.requests.len() + listed.damaged.len();
    if limit > 0 && count >= limit {
        let all = store.list_requests(&filter(limit.max(COUNTED).saturating_add(1))).await?;
        report_cut(count, all.requests.len() + all.damaged.len());
    }
    out.flush()?;
    for DamagedRequest { id, why } in &listed.damaged {
        let (id, why) = (one_line(id), one_line(why));
        let _told = writeln!(crate::print::errors(), "error: request `{id}` cannot be read: {why}");
    }
    Ok(if listed.damaged.is_empty() { Exit::Done } else { Exit::Findings })
}

fn print(shown: Shown, filed: &[FiledRequest], json: bool, out: &mut dyn Write) -> Result<(), CommandError> {
    if json {
        for one in filed {
            writeln!(out, "{}", json_line(&whole(one)))?;
        }
        return Ok(());
    }
    if filed.is_empty() {
        let what = if shown == Shown::All { "there is no request" } else { "no request waits for people" };
        let _told = writeln!(crate::print::errors(), "{what}");
        return Ok(());
    }
    let row = |one: &FiledRequest| {
        let request = &one.request;
        let agreed = format!("{} of {}", one.decided.len(), request.needed.approvals());
        [
            one.id.clone(),
            one.state.as_str().to_owned(),
            request.tool.to_string(),
            request.class.as_str().to_owned(),
            cell(&request.run),
            cell(&request.proposer),
            agreed,
            Moment::from(one.expires).to_string(),
            cell(&json_line(&request.arguments)),
        ]
    };
    let rows: Vec<[String; 9]> = filed.iter().map(row).collect();
    let headings = ["ID", "STATE", "TOOL", "CLASS", "RUN", "PROPOSER", "DECIDED", "EXPIRES", "ARGUMENTS"];
    write!(out, "{}", table(headings, &rows))?;
    Ok(())
}

/// Shows one request.
pub(super) fn show(filed: &FiledRequest, json: bool, out: &mut dyn Write) -> Result<Exit, CommandError> {
    if json {
        writeln!(out, "{}", json_lines(&whole(filed)))?;
        return Ok(Exit::Done);
    }
    let request = &filed.request;
    let needed = match request.needed.approvals() {
        1 => "one person, not the proposer".to_owned(),
        people => format!("{people} different people, not the proposer"),
    };
    writeln!(out, "request    {}", filed.id)?;
    writeln!(out, "state      {}", filed.state.as_str())?;
    writeln!(out, "tool       {}", request.tool)?;
    writeln!(out, "class      {}", request.class.as_str())?;
    writeln!(out, "run        {}", one_line(&request.run))?;
    writeln!(out, "session    {}", one_line(&request.session))?;
    writeln!(out, "proposer   {}", one_line(&request.proposer))?;
    if let Some(call) = &request.call {
        if let Some(personality) = &call.personality {
            writeln!(out, "role       {}", one_line(personality))?;
        }
        if let Some(directory) = &call.directory {
            writeln!(out, "directory  {}", one_line(&directory.to_string_lossy()))?;
        }
        if let Some(key) = &call.key {
            writeln!(out, "key        {}", one_line(key))?;
        }
    }
    writeln!(out, "needs      {needed}")?;
    for decided in &filed.decided {
        let (by, word, at) = (one_line(&decided.by), decided.word.as_str(), millis(decided.at_ms));
        let reason = one_line(&decided.reason);
        let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        writeln!(out, "decided    {by}, {word}, {at}{why}")?;
    }
    if let Some(replaced) = &filed.replaces {
        writeln!(out, "replaces   {replaced}")?;
    }
    writeln!(out, "asked      {}", Moment::from(filed.asked))?;
    writeln!(out, "expires    {}", Moment::from(filed.expires))?;
    writeln!(out, "digest     {}", request.digest)?;
    for line in json_lines(&request.arguments).lines() {
        writeln!(out, "arguments  {line}")?;
    }
    Ok(Exit::Done)
}

fn millis(at_ms: u64) -> Moment {
    Moment::from(std::time::Duration::from_millis(at_ms))
}

/// Everything there is about a request.
fn whole(filed: &FiledRequest) -> Value {
    json!({
        "id": filed.id,
        "state": filed.state,
        "asked": Moment::from(filed.asked).to_string(),
        "expires": Moment::from(filed.expires).to_string(),
        "decided": filed.decided,
        "replaces": filed.replaces,
        "request": filed.request,
    })
}
