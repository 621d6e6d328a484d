//! Finding the record of a call: by its number, by its run, or the last that was not done.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use ringfence_store::{Database, Filter, Stored};
use serde_json::{Value, json};

use super::record::Recorded;
use crate::commands::ask::line::next_bytes;
use crate::commands::audit::numbered;
use crate::error::CommandError;
use crate::store::{Opening, StoreName};

/// How many records are read at once.
const PAGE: usize = 200;
/// How many calls are looked through for the beginning of a run's name.
const MOST_LOOKED: usize = 5_000;

/// How a call is named.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Name {
    /// By the number of its entry.
    Entry(u64),
    /// The last that was not done.
    Last,
    /// By its run and its number there.
    Numbered(String, u64),
    /// The last of a run, by the run's name or the beginning of it, that was not done.
    Run(String),
}

/// Where calls are recorded.
pub(super) enum Log {
    /// A file of JSON lines.
    File(PathBuf),
    /// A store.
    Store(StoreName),
}

impl Name {
    /// Reads a name. Everything is one.
    pub(super) fn read(text: &str) -> Self {
        let text = text.strip_prefix('#').unwrap_or(text);
        if text == "last" {
            return Self::Last;
        }
        if let Ok(index) = text.parse() {
            return Self::Entry(index);
        }
        match text.rsplit_once('/').and_then(|(run, number)| Some((run, number.parse().ok()?))) {
            Some((run, number)) => Self::Numbered(run.to_owned(), number),
            None => Self::Run(text.to_owned()),
        }
    }
}

impl Log {
    /// Finds a call.
    pub(super) async fn find(&self, name: &Name) -> Result<Option<Recorded>, CommandError> {
        match self {
            Self::File(path) => in_file(path, name),
            Self::Store(store) => in_store(&*store.open(Opening::Read).await?, name).await,
        }
    }
}

async fn in_store(store: &dyn Database, name: &Name) -> Result<Option<Recorded>, CommandError> {
    let of_run = |run: &str| Filter { run: Some(run.to_owned()), ..calls() };
    match name {
        Name::Entry(index) => {
            let stored = store.entry(*index).await?.filter(|stored| stored.kind == "call");
            Ok(stored.as_ref().map(read))
        }
        Name::Last => newest(store, calls(), |record| record.code().is_some()).await,
        Name::Numbered(run, number) => newest(store, of_run(run), |record| record.call == *number).await,
        Name::Run(run) => {
            let exact = newest(store, of_run(run), |record| record.code().is_some()).await?;
            if exact.is_some() || run.is_empty() {
                return Ok(exact);
            }
            let begun = store.newest(&Filter { light: true, ..calls() }, MOST_LOOKED).await?;
            let names = begun.iter().filter_map(|stored| stored.run.as_deref());
            match only(run, names)? {
                Some(whole) => newest(store, of_run(&whole), |record| record.code().is_some()).await,
                None => Ok(None),
            }
        }
    }
}

fn calls() -> Filter {
    Filter { kind: Some("call".to_owned()), ..Filter::default() }
}

/// Returns the newest record that fits.
async fn newest(
    store: &dyn Database,
    filter: Filter,
    fits: impl Fn(&Recorded) -> bool,
) -> Result<Option<Recorded>, CommandError> {
    let mut filter = filter;
    loop {
        let page = store.newest(&filter, PAGE).await?;
        let Some(first) = page.first().map(|stored| stored.index) else { return Ok(None) };
        if let Some(found) = page.iter().rev().map(read).find(&fits) {
            return Ok(Some(found));
        }
        filter.below = Some(first);
    }
}

fn read(stored: &Stored) -> Recorded {
    serde_json::from_value(numbered(stored)).unwrap_or_default()
}

/// Looks through a file, whose calls are numbered by their lines where they have no number.
fn in_file(path: &Path, name: &Name) -> Result<Option<Recorded>, CommandError> {
    let failed = |error| CommandError::File {
        verb: "read the audit file",
        path: path.to_path_buf(),
        error,
        hint: None,
    };
    let mut input = BufReader::new(File::open(path).map_err(failed)?);
    let mut found: Vec<Recorded> = Vec::new();
    let (mut line, mut is_log) = (0_u64, false);
    while let Some((bytes, _)) = next_bytes(&mut input).map_err(failed)? {
        line += 1;
        let Ok(mut value) = serde_json::from_slice::<Value>(&bytes) else { continue };
        let Some(fields) = value.as_object_mut() else { continue };
        if fields.get("kind").is_some_and(|kind| kind != "call") || !fields.contains_key("outcome") {
            continue;
        }
        fields.entry("index").or_insert(json!(line));
        let Ok(record) = serde_json::from_value::<Recorded>(value) else { continue };
        is_log = true;
        let is_wanted = match name {
            Name::Entry(index) => record.index == Some(*index),
            Name::Last => record.code().is_some(),
            Name::Numbered(run, number) => record.run == *run && record.call == *number,
            Name::Run(run) => !run.is_empty() && record.run.starts_with(run) && record.code().is_some(),
        };
        if !is_wanted {
            continue;
        }
        // Only what may still be asked for is kept: all runs of a beginning, else the last.
        if !matches!(name, Name::Run(_)) {
            found.clear();
        }
        found.push(record);
    }
    // A line that is no record may be half written; a file without a single one is something else.
    if !is_log {
        return Err(CommandError::Input {
            message: format!(
                "`{}` holds no record of a call",
                crate::shown::one_line(&path.display().to_string())
            ),
            hint: Some("give the file that `ringfence call --audit FILE` wrote"),
        });
    }
    if let Name::Run(run) = name {
        let Some(whole) = only(run, found.iter().map(|record| record.run.as_str()))? else { return Ok(None) };
        found.retain(|record| record.run == whole);
    }
    Ok(found.pop())
}

/// Returns the one run that begins so, or is called so.
fn only<'a>(beginning: &str, runs: impl Iterator<Item = &'a str>) -> Result<Option<String>, CommandError> {
    let mut found: Vec<&str> = runs.filter(|run| run.starts_with(beginning)).collect();
    found.sort_unstable();
    found.dedup();
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some((*one).to_owned())),
        all if all.contains(&beginning) => Ok(Some(beginning.to_owned())),
        [one, other, ..] => Err(CommandError::Input {
            message: format!(
                "more than one run begins with `{}`, such as `{}` and `{}`",
                crate::shown::cell(beginning),
                crate::shown::cell(one),
                crate::shown::cell(other)
            ),
            hint: Some("write more of its name"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_calls_are_told_apart() {
        #[rustfmt::skip]
        let cases = [
            ("17",          Name::Entry(17)),
            ("#17",         Name::Entry(17)),
            ("last",        Name::Last),
            ("cli-4711/2",  Name::Numbered("cli-4711".into(), 2)),
            ("a/b/2",       Name::Numbered("a/b".into(), 2)),
            ("cli-4711",    Name::Run("cli-4711".into())),
            ("a/b",         Name::Run("a/b".into())),
        ];
        for (text, wanted) in cases {
            assert_eq!(Name::read(text), wanted, "{text}");
        }
    }

    #[test]
    fn the_beginning_of_a_run_is_enough_where_it_is_the_only_one() {
        let runs = ["cli-1", "cli-12", "web-3", "web-3"];
        let only = |beginning| only(beginning, runs.into_iter());
        assert_eq!(only("web").unwrap().as_deref(), Some("web-3"));
        assert_eq!(only("cli-1").unwrap().as_deref(), Some("cli-1"));
        assert_eq!(only("x").unwrap(), None);
        assert!(only("cli").is_err());
    }
}
