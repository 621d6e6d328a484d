//! A file of a revision, read by git inside the fence: it may read the repository, start nothing else, and has no network.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ringfence::policy::{Limits, Size, Span};
use ringfence::sandbox::{Access, Ending, SearchPath, Spec, Streams};

use super::input;
use crate::error::CommandError;
use crate::load::read_text;
use crate::sandbox::{BackendChoice, choose};
use crate::shown::one_line;

/// The largest file that is read.
const MAX_FILE: u64 = 16 << 20;

/// A repository, as far as git needs it to read a revision.
#[derive(Debug)]
pub(super) struct Repository {
    root: PathBuf,
    /// The folder of this working tree, and the one it shares with others.
    folders: Vec<PathBuf>,
}

impl Repository {
    /// Finds the repository that a file is in.
    pub(super) fn of(file: &Path) -> Result<Self, CommandError> {
        let failed = |error| CommandError::File { verb: "find", path: file.to_path_buf(), error, hint: None };
        let folder = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().map_err(failed)?;
        let root = folder.ancestors().find(|folder| folder.join(".git").exists());
        let Some(root) = root else {
            return Err(CommandError::Input {
                message: format!("`{}` is not in a git repository", folder.display()),
                hint: Some("name a manifest with --against FILE"),
            });
        };
        let mut folders = vec![own_folder(root)?];
        if let Some(common) = folders.first().and_then(|own| shared_folder(own)) {
            folders.push(common);
        }
        let alternates = folders.iter().filter_map(|folder| {
            let listed = read_text(&folder.join("objects/info/alternates"), None).ok()?;
            Some(listed.lines().map(|line| folder.join("objects").join(line)).collect::<Vec<_>>())
        });
        let alternates: Vec<PathBuf> =
            alternates.flatten().filter_map(|path| path.canonicalize().ok()).collect();
        folders.extend(alternates);
        Ok(Self { root: root.to_path_buf(), folders })
    }

    /// Returns a file of a revision; none where the revision has no such file.
    pub(super) fn file(&self, revision: &str, file: &Path) -> Result<Option<String>, CommandError> {
        let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, ':' | '\\' | '*' | '?' | '[');
        if revision.is_empty() {
            return Err(input("an empty name is not a revision"));
        }
        if revision.starts_with('-') || !revision.chars().all(is_plain) {
            return Err(input(format!("`{}` is not a revision", one_line(revision))));
        }
        let inside = self.inside(file)?;
        let known = self.git(&["cat-file", "-t", &format!("{revision}^{{commit}}")])?;
        if known.is_none() {
            return Err(CommandError::Input {
                message: format!("git knows no revision `{revision}`"),
                hint: Some("name a revision, or a manifest whose name ends in `.json`"),
            });
        }
        self.refuse_ambiguous(revision)?;
        let listed = self.git(&["ls-tree", "--full-tree", revision, "--", &inside])?.unwrap_or_default();
        if listed.starts_with("120000 ") {
            return Err(input(format!("`{revision}:{inside}` is a symbolic link, not a manifest")));
        }
        self.git(&["cat-file", "blob", &format!("{revision}:{inside}")])
    }

    /// Refuses a name that several refs answer to: git takes a tag before the branch of a remote, and whoever may push a tag
    /// would choose what was agreed to.
    fn refuse_ambiguous(&self, revision: &str) -> Result<(), CommandError> {
        let name = revision.split(['~', '^']).next().unwrap_or_default();
        let name = name.split("@{").next().unwrap_or_default();
        // Git looks for these in its own folder first.
        if matches!(name, "" | "@" | "HEAD") {
            return Ok(());
        }
        let candidates = [
            name.to_owned(),
            format!("refs/{name}"),
            format!("refs/tags/{name}"),
            format!("refs/heads/{name}"),
            format!("refs/remotes/{name}"),
            format!("refs/remotes/{name}/HEAD"),
        ];
        let mut arguments = vec!["for-each-ref", "--format=%(refname)"];
        arguments.extend(candidates.iter().map(String::as_str));
        let listed = self.git(&arguments)?.unwrap_or_default();
        let answers: Vec<&str> =
            listed.lines().filter(|line| candidates.iter().any(|candidate| candidate == line)).collect();
        // A whole name is looked for as it is before anything else; a digest is one before it is a name.
        let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        let is_digest = name.len() >= 7 && name.chars().all(is_digit);
        let is_clear = match answers.as_slice() {
            [] => true,
            _ if answers.contains(&name) => true,
            _ if is_digest => matches!(name.len(), 40 | 64),
            [_] => !name.starts_with("refs/"),
            _ => false,
        };
        if is_clear {
            return Ok(());
        }
        let answers: Vec<String> = answers.iter().map(|answer| format!("`{}`", one_line(answer))).collect();
        Err(CommandError::Input {
            message: format!("`{revision}` is ambiguous: it is the name of {}", answers.join(" and ")),
            hint: Some("write the whole name, such as `refs/remotes/origin/main`"),
        })
    }

    /// Returns the path of a file from the root of the repository.
    fn inside(&self, file: &Path) -> Result<String, CommandError> {
        let name = file.file_name().unwrap_or_default();
        let folder = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf()).join(name);
        let inside = whole.strip_prefix(&self.root).ok().and_then(Path::to_str).map(str::to_owned);
        inside.ok_or_else(|| input(format!("`{}` is not a file of the repository", file.display())))
    }

    /// Runs git; none when it says no.
    fn git(&self, arguments: &[&str]) -> Result<Option<String>, CommandError> {
        let failed = |message: String| CommandError::Failed { message, hint: None };
        let program = SearchPath::default().find("git");
        let program = program.ok_or_else(|| failed("no program is named `git`".to_owned()))?;
        let sandbox = choose(BackendChoice::Auto, "").map_err(|error| failed(error.to_string()))?;
        let directory = self.folders.first().cloned().unwrap_or_default();
        let mut spec = Spec::new(&program)
            .called("git")
            // Who owns the files is of no matter: nothing of the repository is run, and git could not run it here.
            .arguments(["-c", "safe.directory=*", "--git-dir"])
            .arguments([&directory])
            .arguments(["--no-pager", "--literal-pathspecs", "--no-replace-objects"])
            .arguments(arguments.iter().copied())
            .limits(limits())
            .variable("GIT_CONFIG_NOSYSTEM", "1")
            .variable("GIT_CONFIG_GLOBAL", "/dev/null")
            .variable("GIT_NO_LAZY_FETCH", "1")
            .variable("GIT_OPTIONAL_LOCKS", "0")
            .variable("GIT_TERMINAL_PROMPT", "0")
            .variable("LC_ALL", "C");
        for folder in &self.folders {
            spec = spec.tree(folder, Access::READ);
        }
        let plan = sandbox.plan(&spec).map_err(|error| failed(error.to_string()))?;
        let report =
            sandbox.run_plan(&plan, Streams::default()).map_err(|error| failed(error.to_string()))?;
        match report.ending {
            Ending::Exited(0) => {}
            Ending::Exited(128) => return Ok(None),
            _ => {
                let told = String::from_utf8_lossy(&report.stderr.bytes).into_owned();
                let told = one_line(told.lines().next().unwrap_or_default());
                return Err(failed(format!("git ended with code {}: {told}", report.ending.code())));
            }
        }
        if report.stdout.dropped > 0 {
            return Err(failed("what git returned is larger than 16 MiB".to_owned()));
        }
        let text = String::from_utf8(report.stdout.bytes);
        text.map(Some).map_err(|_| failed("what git returned is not UTF-8".to_owned()))
    }
}

/// Returns the folder of git for a working tree, which a file may name.
fn own_folder(root: &Path) -> Result<PathBuf, CommandError> {
    let entry = root.join(".git");
    let failed = |error| CommandError::File { verb: "read", path: entry.clone(), error, hint: None };
    if entry.is_dir() {
        return entry.canonicalize().map_err(failed);
    }
    let text = read_text(&entry, None)?;
    let named = text.strip_prefix("gitdir:").map(str::trim);
    let named = named.ok_or_else(|| failed(std::io::Error::other("it names no folder")))?;
    root.join(named).canonicalize().map_err(failed)
}

/// Returns the folder that the working trees of a repository share, where this is one of several.
fn shared_folder(own: &Path) -> Option<PathBuf> {
    let named = read_text(&own.join("commondir"), None).ok()?;
    own.join(named.trim()).canonicalize().ok()
}

fn limits() -> Limits {
    Limits {
        wall: Some(Span::new(Duration::from_secs(20))),
        memory: Some(Size::new(1 << 30)),
        output: Some(Size::new(MAX_FILE)),
        ..Limits::default()
    }
}
