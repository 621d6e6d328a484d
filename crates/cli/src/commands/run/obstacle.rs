//! What the sandbox kept from a command that failed, and the flag that would grant it.
//!
//! Nothing is recorded while a command runs. When it fails, the words of its command line and the end of its error output are looked
//! up: what exists outside and not inside, and was named there, was probably in the way.
//!
//! INVARIANT: no flag is named for something on the floor. A command chooses what it prints, so that a flag is advice, and what it
//! would grant is named in full.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use ringfence::policy::{Direction, Floor, HostName, normalise};
use ringfence::sandbox::Plan;

use super::show::shown_path;
use crate::program::find_program;

/// How many are told.
const MOST: usize = 8;
/// How many words are looked up.
const MOST_WORDS: usize = 4_000;

/// Something that a command named and did not get.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Obstacle {
    /// The current folder is not granted, so that the command ran elsewhere.
    Here,
    /// A path that exists outside and not inside.
    Unseen { path: PathBuf, flag: String },
    /// A path that exists inside and cannot be written.
    Unwritable { path: PathBuf, flag: String },
    /// A program that may not be started.
    Program { name: String },
    /// A host, where no host is granted.
    Host { name: String },
    /// A path on the floor.
    Protected { path: PathBuf, what: String },
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here => f.write_str(
                "it ran in `/tmp`, because the current folder is not granted: `--read .` or `--write .`",
            ),
            Self::Unseen { path, flag } => write!(f, "it cannot see `{}`: `{flag}`", shown_path(path)),
            Self::Unwritable { path, flag } => write!(f, "it cannot write `{}`: `{flag}`", shown_path(path)),
            Self::Program { name } => write!(f, "it may not start `{name}`: `--exec {name}`"),
            Self::Host { name } => write!(f, "it may not connect to `{name}`: `--host {name}`"),
            Self::Protected { path, what } => {
                write!(
                    f,
                    "`{}` is protected ({what}); grant it by its own path if it must be",
                    shown_path(path)
                )
            }
        }
    }
}

/// What is known of a command that failed.
pub(super) struct Failure<'a> {
    pub(super) plan: &'a Plan,
    /// The folder that the caller is in.
    pub(super) here: &'a Path,
    pub(super) home: Option<&'a Path>,
    /// The file that the command was found at.
    pub(super) program: Option<&'a Path>,
    pub(super) arguments: Vec<String>,
    /// The end of what it wrote to its error stream.
    pub(super) errors: String,
    pub(super) has_hosts: bool,
}

impl Failure<'_> {
    /// Returns a sentence for each thing that was probably in the way, the most general first.
    pub(super) fn sentences(&self) -> Vec<String> {
        let found = self.obstacles();
        let mut lines: Vec<String> = found.iter().take(MOST).map(ToString::to_string).collect();
        if found.len() > MOST {
            lines.push(format!("and {} more", found.len() - MOST));
        }
        lines
    }

    fn obstacles(&self) -> BTreeSet<Obstacle> {
        let mut found = self.named_obstacles();
        // What lies elsewhere says nothing of the current folder.
        let is_below =
            |one: &Obstacle| matches!(one, Obstacle::Unseen { path, .. } if path.starts_with(self.here));
        let is_here = self.plan.directory == self.here || self.plan.access(self.here).is_some();
        let may_matter = if found.is_empty() { self.misses_something() } else { found.iter().any(is_below) };
        if !is_here && may_matter && self.offers(self.here) {
            found.insert(Obstacle::Here);
        }
        found
    }

    /// Returns what the command line or the error output names.
    fn named_obstacles(&self) -> BTreeSet<Obstacle> {
        let mut found = BTreeSet::new();
        found.extend(self.environment());
        let mut left = MOST_WORDS;
        for argument in &self.arguments {
            for word in argument.split(['=', ',']) {
                found.extend(self.unseen(word));
            }
        }
        // The last lines say most of why it failed.
        for line in self.errors.lines().rev() {
            let Some(rest) = left.checked_sub(line.len() / 2 + 1) else { break };
            left = rest;
            let (line, kind) = Complaint::read(line);
            for word in words(&line) {
                found.extend(self.unseen(word));
                match kind {
                    Some(Complaint::Missing) => found.extend(self.program(word)),
                    Some(Complaint::Denied) => {
                        found.extend(self.unwritable(word));
                        found.extend(self.program(word));
                    }
                    Some(Complaint::Name) if !self.has_hosts => found.extend(host(word)),
                    Some(Complaint::Name) | None => {}
                }
            }
        }
        if !self.has_hosts && found.iter().any(|one| matches!(one, Obstacle::Host { .. })) {
            return found;
        }
        // A lookup failed, and the line does not say of what.
        let is_lookup = self.errors.lines().any(|line| Complaint::read(line).1 == Some(Complaint::Name));
        if is_lookup && !self.has_hosts {
            let hosts = self.arguments.iter().filter_map(|argument| argument.split_once("://"));
            found.extend(hosts.filter_map(|(_, rest)| host(rest.split(['/', ':', '?', '#']).next()?)));
        }
        found
    }

    /// Says whether the error output reads as if something was not found.
    fn misses_something(&self) -> bool {
        const SIGNS: [&str; 9] = [
            "no such",
            "not found",
            "not a ",
            "cannot",
            "can't",
            "could not",
            "unable",
            "missing",
            "no files",
        ];
        let errors = self.errors.to_ascii_lowercase();
        SIGNS.iter().any(|sign| errors.contains(sign))
    }

    /// A Python environment, which its own program cannot see.
    fn environment(&self) -> Option<Obstacle> {
        let root = self.program?.parent()?.parent()?;
        let is_environment = root.join("pyvenv.cfg").is_file();
        self.grantable(root).filter(|_| is_environment && self.plan.access(root).is_none())
    }

    /// A path that exists outside and not inside.
    fn unseen(&self, word: &str) -> Option<Obstacle> {
        let path = self.named(word)?;
        let exists = path.symlink_metadata().is_ok();
        if !exists || self.sees(&path) {
            return None;
        }
        self.grantable(&path)
    }

    /// Says what would grant a path, or that nothing is offered for it.
    fn grantable(&self, path: &Path) -> Option<Obstacle> {
        if let Some(protected) = protected(path, Direction::Read) {
            return Some(protected);
        }
        let folder = if path.starts_with(self.here) { self.here } else { path };
        (self.offers(path) && self.offers(folder))
            .then(|| Obstacle::Unseen { path: path.into(), flag: self.flag("--read", folder) })
    }

    /// A path that cannot be written, by the nearest folder that exists.
    fn unwritable(&self, word: &str) -> Option<Obstacle> {
        let path = self.named(word)?;
        let exists = path.symlink_metadata().is_ok();
        let folder = if exists { path.as_path() } else { path.parent().filter(|parent| parent.is_dir())? };
        if self.plan.access(folder).is_some_and(|access| access.write) || !self.offers(folder) {
            return None;
        }
        if let Some(protected) = protected(&path, Direction::Write) {
            return Some(protected);
        }
        let flag = self.flag("--write", folder);
        Some(Obstacle::Unwritable { path, flag })
    }

    fn program(&self, word: &str) -> Option<Obstacle> {
        let is_name = !word.is_empty() && !word.contains('/') && word.chars().all(is_of_program);
        let path = find_program(word).filter(|_| is_name)?;
        let is_granted = self.plan.may_start(&path);
        (!is_granted).then(|| Obstacle::Program { name: word.to_owned() })
    }

    /// Returns the path that a word may mean: one with a slash, or the name of something in the current folder.
    fn named(&self, word: &str) -> Option<PathBuf> {
        let word = word.strip_prefix("file://").unwrap_or(word);
        let is_path = !word.is_empty() && word.len() < 4_096 && !word.contains("://");
        let path = normalise(&self.here.join(Path::new(word))).ok().filter(|_| is_path)?;
        (word.contains('/') || path.symlink_metadata().is_ok()).then_some(path)
    }

    fn sees(&self, path: &Path) -> bool {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        self.plan.access(path).is_some() || self.plan.access(&real).is_some()
    }

    /// Nobody is advised to grant a home, or more, or what the run hides; nor what leads there.
    fn offers(&self, folder: &Path) -> bool {
        let real = folder.canonicalize();
        self.is_offered(folder) && real.is_ok_and(|real| real == folder || self.is_offered(&real))
    }

    fn is_offered(&self, folder: &Path) -> bool {
        let is_wide = folder.components().count() < 3 && folder.is_dir();
        let is_home = self.home.is_some_and(|home| home.starts_with(folder));
        let made_inside = ["/proc", "/dev", "/sys", "/run"].iter().any(|own| folder.starts_with(own));
        !is_wide && !is_home && !made_inside && !self.plan.hides(folder)
    }

    fn flag(&self, flag: &str, folder: &Path) -> String {
        let short = folder.strip_prefix(self.here).unwrap_or(folder);
        let short = if short.as_os_str().is_empty() { Path::new(".") } else { short };
        let text = shown_path(short);
        let is_plain = text.chars().all(|c| c.is_alphanumeric() || "/._-+@%:,".contains(c));
        if is_plain { format!("{flag} {text}") } else { format!("{flag} '{}'", text.replace('\'', "'\\''")) }
    }
}

/// Returns what is said of a path on the floor, or of one that leads there.
fn protected(path: &Path, direction: Direction) -> Option<Obstacle> {
    let real = path.canonicalize().ok();
    let (entry, _) = std::iter::once(path)
        .chain(real.as_deref())
        .find_map(|path| Floor::denies_unless_named(path, direction, &std::iter::empty()))?;
    Some(Obstacle::Protected { path: path.into(), what: entry.kind.to_string() })
}

/// What a line of error output complains about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Complaint {
    Denied,
    Missing,
    Name,
}

/// How programs say so. The longer of two that begin alike comes first.
const PHRASES: [(&str, Complaint); 20] = [
    ("could not resolve host", Complaint::Name),
    ("temporary failure in name resolution", Complaint::Name),
    ("name or service not known", Complaint::Name),
    ("no address associated with hostname", Complaint::Name),
    ("failed to lookup address information", Complaint::Name),
    ("unable to resolve host address", Complaint::Name),
    ("no such host", Complaint::Name),
    ("getaddrinfo", Complaint::Name),
    ("eai_again", Complaint::Name),
    ("read-only file system", Complaint::Denied),
    ("permission denied", Complaint::Denied),
    ("operation not permitted", Complaint::Denied),
    ("erofs", Complaint::Denied),
    ("eacces", Complaint::Denied),
    ("executable file not found in $path", Complaint::Missing),
    ("no such file or directory", Complaint::Missing),
    ("command not found", Complaint::Missing),
    ("not found", Complaint::Missing),
    ("cannot find", Complaint::Missing),
    ("enoent", Complaint::Missing),
];

impl Complaint {
    /// Returns the line without the words of the complaint, which name nothing.
    fn read(line: &str) -> (String, Option<Self>) {
        let lower = line.to_ascii_lowercase();
        let phrase = PHRASES.iter().find_map(|(phrase, kind)| Some((lower.find(phrase)?, phrase, *kind)));
        match phrase {
            Some((at, phrase, kind)) => {
                let before = line.get(..at).unwrap_or_default();
                let after = line.get(at + phrase.len()..).unwrap_or_default();
                (format!("{before} {after}"), Some(kind))
            }
            None => (line.to_owned(), None),
        }
    }
}

/// Returns the words of a line, without what encloses and separates them.
fn words(line: &str) -> impl Iterator<Item = &str> {
    const AROUND: &str = "\"'`\u{2018}\u{2019}()[]{}<>,;=|";
    line.split(|c: char| c.is_whitespace() || AROUND.contains(c))
        .map(|word| word.trim_matches([':', '.', '!']).trim_start_matches("./"))
        .flat_map(|word| word.split_once(':').map_or([word, ""], |(one, other)| [one, other]))
        .filter(|word| !word.is_empty())
}

fn is_of_program(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._+-".contains(c)
}

fn host(word: &str) -> Option<Obstacle> {
    let is_host = word.contains('.') && word.chars().any(char::is_alphabetic) && !word.contains('/');
    let name: HostName = word.parse().ok().filter(|_| is_host)?;
    let is_metadata = ringfence::policy::is_metadata(&ringfence::policy::Host::Name(name.clone()));
    (!is_metadata).then(|| Obstacle::Host { name: name.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_programs_say() {
        #[rustfmt::skip]
        let cases: [(&str, Option<Complaint>, &[&str]); 9] = [
            ("sh: 1: ls: not found",                                      Some(Complaint::Missing), &["sh", "1", "ls"]),
            ("bash: line 1: wc: command not found",                       Some(Complaint::Missing), &["bash", "line", "1", "wc"]),
            ("env: \u{2018}node\u{2019}: No such file or directory",      Some(Complaint::Missing), &["env", "node"]),
            ("No such file or directory: 'git'",                          Some(Complaint::Missing), &["git"]),
            ("exec: \"gcc\": executable file not found in $PATH",         Some(Complaint::Missing), &["exec", "gcc"]),
            ("touch: cannot touch 'out/x': Read-only file system",        Some(Complaint::Denied),  &["touch", "cannot", "touch", "out/x"]),
            ("curl: (6) Could not resolve host: example.com",             Some(Complaint::Name),    &["curl", "6", "example.com"]),
            ("getaddrinfo EAI_AGAIN registry.example.org",                Some(Complaint::Name),    &["EAI_AGAIN", "registry.example.org"]),
            ("all is well",                                               None,                     &["all", "is", "well"]),
        ];
        for (line, kind, wanted) in cases {
            let (rest, found) = Complaint::read(line);
            assert_eq!((found, words(&rest).collect::<Vec<_>>()), (kind, wanted.to_vec()), "{line}");
        }
    }

    #[test]
    fn no_host_leads_to_the_credentials_of_the_machine() {
        assert!(host("metadata.google.internal").is_none());
        assert!(host("x").is_none() && host("1.2").is_none());
        assert_eq!(host("example.com"), Some(Obstacle::Host { name: "example.com".into() }));
    }
}
