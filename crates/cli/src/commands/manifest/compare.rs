//! Comparing manifests, and telling what came out.

use std::io::{IsTerminal as _, Write};
use std::path::Path;

use ringfence::audit::VerifierKey;
use ringfence::policy::Places;
use ringfence::policy::manifest::diff::{self, Change, ChangeCode, Drift, Subject};
use ringfence::policy::manifest::{Manifest, ManifestError};
use ringfence::policy::report::{FilePlace, Finding, Format, Level, Report};
use serde_json::json;

use super::git::Repository;
use super::lock::{Lockfile, Read, parse};
use super::proposal::{Proposal, nothing};
use super::{MadeArgs, VerifyArgs, build, seal};
use crate::book::NOTHING_YET;
use crate::deciding::read_deciding;
use crate::error::{CommandError, Exit};
use crate::load::{Place, read_text};
use crate::shown::one_line;

/// Whether somebody has agreed already.
#[derive(Clone, Copy, Debug)]
pub(super) enum Agreement {
    Asked,
    Given,
}

/// Compares two files.
pub(super) fn diff(
    old: &Path,
    new: &Path,
    format: Format,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let (before, now) = (Lockfile::at(old).try_read()?, Lockfile::at(new).try_read()?);
    let text = read_text(new, None)?;
    let file = new.display().to_string();
    let place = |change: &Change| Some(line_of(&text, &change.subject, &file));
    Told { title: "ringfence manifest diff", format, place: &place, help: Help::Told }.of(&before, &now, out)
}

/// Compares the toolbox with what was agreed to.
pub(super) fn verify(args: &VerifyArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let before = agreed(&args.against, args.key.as_ref(), place)?;
    let recorded = match &before {
        Read::Sound(manifest) => Some(&**manifest),
        Read::Unsound(_) => None,
    };
    let now = Read::Sound(Box::new(build::manifest(place, &args.made, recorded)?));
    in_policy("ringfence manifest verify", args.format.format(), place, &before, &now, out)
}

/// Tells what the toolbox has beyond the manifest that is there, where it has anything.
pub(super) fn is_wider(
    lock: &Lockfile,
    now: &Manifest,
    place: &Place,
    out: &mut dyn Write,
) -> Result<bool, CommandError> {
    let before = lock.try_read()?;
    let is_wider = match &before {
        Read::Sound(before) => diff::is_widened(&diff::diff(before, now)),
        // Nobody knows what it was.
        Read::Unsound(_) => true,
    };
    if is_wider {
        let now = Read::Sound(Box::new(now.clone()));
        in_policy("ringfence manifest", Format::Human, place, &before, &now, out)?;
        writeln!(
            out,
            "{}: was not written, since it would be wider; agree to it with `ringfence manifest accept`",
            lock.path.display()
        )?;
    }
    Ok(is_wider)
}

/// Tells of changes with their places in the toolbox.
fn in_policy(
    title: &'static str,
    format: Format,
    place: &Place,
    before: &Read,
    now: &Read,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let text = read_deciding(&place.policy, None)?;
    let places = Places::read(&text);
    let file = place.policy.display().to_string();
    let find = |change: &Change| {
        let found = places.as_ref().and_then(|places| in_toolbox(places, change));
        let (line, column) = found.unwrap_or((1, 1));
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Some(FilePlace { file: file.clone(), line: number(line), column: number(column) })
    };
    Told { title, format, place: &find, help: Help::Told }.of(before, now, out)
}

/// Shows what has changed, and writes the manifest anew when somebody agrees.
pub(super) fn accept(
    made: &MadeArgs,
    agreement: Agreement,
    key: Option<&Path>,
    place: &Place,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let proposal = Proposal::made(place, made)?;
    let is_same = proposal.accepted().is_some_and(|before| *before == proposal.now);
    let Proposal { lock, before, now } = proposal;
    if is_same && key.is_none() {
        writeln!(out, "{}: nothing has changed", lock.path.display())?;
        return Ok(Exit::Done);
    }
    let nowhere = |_: &Change| None;
    let told = Told {
        title: "ringfence manifest accept",
        format: Format::Human,
        place: &nowhere,
        help: Help::Known,
    };
    let proposed = Read::Sound(Box::new(now.clone()));
    match before {
        Some(before) => told.of(&before, &proposed, out)?,
        None => told.of(&Read::Sound(Box::new(nothing()?)), &proposed, out)?,
    };
    out.flush()?;
    match agreement {
        Agreement::Given => {}
        Agreement::Asked if std::io::stdin().is_terminal() => {
            let _told = write!(crate::print::errors(), "Accept this? [y/N] ");
            let mut answer = String::new();
            std::io::stdin().read_line(&mut answer)?;
            if !matches!(answer.trim(), "y" | "Y" | "yes") {
                writeln!(out, "nothing was written")?;
                return Ok(Exit::Findings);
            }
        }
        Agreement::Asked => {
            return Err(CommandError::Input {
                message: "nobody is at a terminal to agree".to_owned(),
                hint: Some("look at the changes, then run it again with --yes"),
            });
        }
    }
    lock.write(&now, key, out)
}

/// Finds what was agreed to: a file, or the manifest of a revision.
fn agreed(against: &str, key: Option<&VerifierKey>, place: &Place) -> Result<Read, CommandError> {
    let lock = Lockfile::beside(place);
    let file = Path::new(against);
    // By its name alone: a change that adds a file called `origin/main` must not become what it is compared with.
    let is_file = file.extension().is_some_and(|extension| extension == "json");
    let (read, signature, shown) = if is_file {
        let lock = Lockfile::at(file);
        let signature = key.and_then(|_| read_deciding(&lock.signature(), None).ok());
        (lock.try_read()?, signature, lock.signature().display().to_string())
    } else {
        let repository = Repository::of(&lock.path)?;
        let found = repository.file(against, &lock.path)?;
        let Some(text) = found.filter(|text| text != NOTHING_YET) else {
            return Err(CommandError::Failed {
                message: format!("revision `{}` holds no `{}`", one_line(against), lock.path.display()),
                hint: Some("write it with `ringfence manifest` and commit it"),
            });
        };
        let signature = match key {
            Some(_) => repository.file(against, &lock.signature())?,
            None => None,
        };
        let read = parse(&text, &format!("{against}:{}", lock.path.display()))?;
        (read, signature, format!("{against}:{}", lock.signature().display()))
    };
    if let (Some(key), Read::Sound(manifest)) = (key, &read) {
        let Some(signature) = signature else {
            return Err(CommandError::Failed {
                message: format!("there is no signature `{shown}`"),
                hint: Some("have it signed with `ringfence manifest accept --sign KEYFILE`"),
            });
        };
        seal::verify(&signature, key, manifest, &shown)?;
    }
    Ok(read)
}

/// How a comparison is told.
struct Told<'a> {
    title: &'static str,
    format: Format,
    place: &'a dyn Fn(&Change) -> Option<FilePlace>,
    help: Help,
}

/// Whether findings say what can be done about them.
#[derive(Clone, Copy, Debug)]
enum Help {
    /// Whoever reads it is doing it.
    Known,
    Told,
}

impl Told<'_> {
    fn of(&self, old: &Read, new: &Read, out: &mut dyn Write) -> Result<Exit, CommandError> {
        let data = match (old, new) {
            (Read::Sound(old), Read::Sound(new)) => json!({"old": old.hash(), "new": new.hash()}),
            _ => json!({}),
        };
        let changes = changes(old, new);
        let is_widened = diff::is_widened(&changes);
        let findings = changes.iter().map(|change| {
            let finding = Finding { place: (self.place)(change), ..change.finding() };
            match self.help {
                Help::Known => Finding { help: None, ..finding },
                Help::Told => finding,
            }
        });
        let mut data = data;
        if let Some(map) = data.as_object_mut() {
            map.insert("widened".to_owned(), is_widened.into());
            map.insert("changes".to_owned(), json!(changes));
        }
        let report =
            Report { title: self.title, rules: ChangeCode::RULES, findings: findings.collect(), data };
        let colour = crate::colour::of_output();
        let rendered = report.render(self.format, colour);
        crate::print::coloured(out, colour, &rendered.text)?;
        if let (Format::Human, Help::Told) = (self.format, self.help) {
            for line in report.explain_lines() {
                writeln!(out, "{line}")?;
            }
        }
        if let Some(summary) = rendered.summary {
            summarise(&summary)?;
        }
        Ok(if is_widened { Exit::Findings } else { Exit::Done })
    }
}

/// Returns what differs.
pub(super) fn changes(old: &Read, new: &Read) -> Vec<Change> {
    match (old, new) {
        (Read::Sound(old), Read::Sound(new)) => diff::diff(old, new),
        (old, new) => unsound("the old", old).chain(unsound("the new", new)).collect(),
    }
}

/// Returns why a manifest cannot be compared, as a change that counts as a widening: nobody knows what it was.
fn unsound<'a>(which: &'a str, read: &'a Read) -> impl Iterator<Item = Change> + 'a {
    let error: Option<&ManifestError> = match read {
        Read::Sound(_) => None,
        Read::Unsound(error) => Some(error),
    };
    error.and_then(|error| Some((error.code()?, error))).into_iter().map(move |(code, error)| Change {
        code,
        direction: Drift::Widened,
        level: Level::Error,
        subject: Subject::Manifest,
        message: format!("{which} manifest: {error}"),
    })
}

/// Adds a summary to that of the job, where a forge says where it is.
fn summarise(summary: &str) -> Result<(), CommandError> {
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let path = std::path::PathBuf::from(path);
    let opened = std::fs::File::options().create(true).append(true).open(&path);
    opened.and_then(|mut file| file.write_all(summary.as_bytes())).map_err(|error| CommandError::File {
        verb: "write the summary to",
        path,
        error,
        hint: None,
    })
}

/// Finds an entry in the text of a manifest.
fn line_of(text: &str, subject: &Subject, file: &str) -> FilePlace {
    let (table, name) = match subject {
        Subject::Agent(name) => ("  \"agents\": {", Some(name.as_str())),
        Subject::Console => ("  \"console\": {", None),
        Subject::Gateway => ("  \"gateway\": {", None),
        Subject::Manifest => ("", None),
        Subject::Notify(_) => ("  \"notify\": [", None),
        Subject::Personality => ("  \"personality\": {", None),
        Subject::Server(name) => ("  \"servers\": {", name.split(' ').next()),
        Subject::Tool(name) => ("  \"tools\": {", Some(name.as_str())),
    };
    let mut lines = text.lines().zip(1_u32..);
    let found = lines.by_ref().find(|(line, _)| !table.is_empty() && line.starts_with(table));
    let entry = name.map(|name| format!("    \"{name}\": {{"));
    let found = entry.and_then(|entry| lines.find(|(line, _)| *line == entry)).or(found);
    FilePlace { file: file.to_owned(), line: found.map_or(1, |(_, number)| number), column: 1 }
}

/// Finds what a change is about in the text of a toolbox.
fn in_toolbox(places: &Places<'_>, change: &Change) -> Option<(usize, usize)> {
    let field = match field(change.code) {
        "input" if change.message.starts_with("the output ") => "output",
        field => field,
    };
    match &change.subject {
        Subject::Agent(name) => places.agent(name, field),
        Subject::Console => places.console("listen"),
        Subject::Gateway => places.gateway("listen"),
        Subject::Manifest => None,
        Subject::Notify(_) => places.notify(),
        Subject::Personality => places.personality(field),
        Subject::Server(name) => {
            let name = name.split(' ').next().unwrap_or_default();
            places.server(name, &format!("capabilities.{field}")).or_else(|| places.server(name, field))
        }
        Subject::Tool(name) => places.tool(name, field),
    }
}

/// Returns the field of a toolbox that a change comes from.
fn field(code: ChangeCode) -> &'static str {
    let words: Vec<&str> = code.as_str().split('.').collect();
    match words.as_slice() {
        [_, "network", ..] => "network",
        [_, "filesystem", "read", ..] => "fs_reach.read",
        [_, "filesystem", ..] => "fs_reach.write",
        [_, "exec", ..] => "process",
        [_, "environment", ..] => "environment",
        [_, "secrets", ..] => "secrets",
        [_, "storage", ..] => "storage",
        [_, "approvals", ..] => "approvals",
        [_, "constraint", ..] => "constraints",
        [_, "limits", ..] => "limits",
        [_, "schema", ..] => "input",
        [_, "description", ..] => "description",
        [_, "idempotency", ..] => "idempotency",
        [_, "command", ..] => "command",
        [_, "class", ..] => "class",
        [_, "risk", ..] => "risk",
        [_, "tools", ..] => "tools",
        [_, "id", ..] => "id",
        ["agent", "scope", ..] => "servers",
        ["agent", "approval", ..] => "approves",
        ["agent", "token", ..] => "token",
        _ => "name",
    }
}
