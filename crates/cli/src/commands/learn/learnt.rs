//! From observations to grants.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ringfence::policy::{Direction, Floor};
use ringfence::sandbox::{Aliases, How, Kind};

use super::base::Programs;
use super::ceiling::Ground;
use super::fold::{fold, is_wide_place};
use super::private;
use super::sorted::{Fate, Observation, made, writes};

/// What a command is to be granted, and what a person is to look at.
#[derive(Debug, Default)]
pub(super) struct Learnt {
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
    /// Programs, the command's own first.
    pub(super) programs: Vec<PathBuf>,
    /// Libraries that were loaded and that no toolbox can have loaded.
    pub(super) libraries: Vec<PathBuf>,
    pub(super) hosts: Vec<String>,
    pub(super) private: Vec<String>,
    pub(super) environment: Vec<String>,
    /// Whether it named things from its working directory, which is only there when it is granted.
    pub(super) from_workspace: bool,
    /// Arguments that are paths from the working directory, and are written in full.
    pub(super) placed: BTreeSet<String>,
    /// One line each.
    pub(super) review: Vec<Review>,
}

/// Something that was asked for and is not granted.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Review {
    /// What was to be done.
    pub(super) verb: &'static str,
    /// With what.
    pub(super) what: String,
    /// Why it is not granted.
    pub(super) why: String,
}

impl Learnt {
    /// Adds paths and programs. What is in it already was granted before, and stays.
    pub(super) fn add(
        &mut self,
        observations: &[Observation],
        programs: &Programs,
        ground: &Ground,
        arguments: &[String],
        named: &[PathBuf],
        aliases: &Aliases,
    ) {
        let made = made(observations);
        let holds = Holds { named, aliases, known: RefCell::default() };
        let needed = || observations.iter().filter(|one| one.fate == Fate::Needed);
        self.add_programs(programs, &made);
        self.add_review(observations);

        let (mut changed, mut folders) = (Vec::new(), Vec::new());
        for one in needed().filter(|one| writes(one.touch.how)) {
            let path = &one.touch.path;
            match (before(path, &made), one.touch.how) {
                (None, How::Change) => changed.push(path.clone()),
                (None, _) => folders.extend(path.parent().map(Path::to_path_buf)),
                (Some(above), _) => folders.push(above),
            }
        }
        let place = |folder: &Path| is_wide_place(folder, &ground.workspace, ground.home.as_deref());
        let given = |folder: &Path| !ground.written.iter().any(|root| root == folder);
        let agreed = |folder: &Path| ground.agreed.iter().any(|root| folder.starts_with(root));
        let folded = fold(changed, folders, |folder| {
            (place(folder) && given(folder)) || (!agreed(folder) && holds.why(folder).is_some())
        });
        self.write.extend(folded.paths);
        self.review_wide("write in", &folded.too_wide, &holds);
        tidy(&mut self.write);

        let private: Vec<&Path> = observations
            .iter()
            .filter(|one| matches!(one.fate, Fate::Review(_)) && one.given && !writes(one.touch.how))
            .map(|one| one.touch.path.as_path())
            .collect();
        // A folder with something in it that nobody has agreed to is not granted as a whole.
        let is_wide = |folder: &Path| {
            place(folder)
                || private.iter().any(|private| private.starts_with(folder))
                || holds.why(folder).is_some()
        };
        let (mut files, mut listed, mut links) = (Vec::new(), Vec::new(), Vec::new());
        for one in needed().filter(|one| matches!(one.touch.how, How::Look | How::Read)) {
            let list = one.touch.there == Some(Kind::Directory);
            links.extend(
                one.touch
                    .real
                    .iter()
                    .filter(|real| **real != one.touch.path)
                    .map(|real| (&one.touch.path, real)),
            );
            for path in std::iter::once(&one.touch.path).chain(&one.touch.real) {
                if programs.base.covers(path) {
                    continue;
                }
                match before(path, &made) {
                    Some(above) => listed.push(above),
                    None if is_library(path) => self.add_library(path),
                    None if list => listed.push(path.clone()),
                    None => files.push(self.unprotected(path)),
                }
            }
        }
        self.add_workspace(observations, ground, arguments);
        if self.from_workspace && !self.write.iter().any(|path| ground.workspace.starts_with(path)) {
            listed.push(ground.workspace.clone());
        }
        let mut folded = fold(files, listed, is_wide);
        // A path that is granted itself brings along what it leads to.
        let kept: HashSet<PathBuf> = folded.paths.iter().cloned().collect();
        let led: HashSet<&PathBuf> =
            links.iter().filter(|(path, _)| kept.contains(*path)).map(|(_, to)| *to).collect();
        folded.paths.retain(|path| !led.contains(path));
        self.read.extend(folded.paths);
        self.review_wide("list", &folded.too_wide, &holds);
        tidy(&mut self.read);
        self.review.sort();
        self.review.dedup();
    }

    /// Finds out whether its working directory has to be there: unless all that it names from there are its own arguments, which can
    /// be written in full.
    fn add_workspace(&mut self, observations: &[Observation], ground: &Ground, arguments: &[String]) {
        // Its own working directory is there wherever it is; what it names from there is not.
        let is_below = |path: &Path| path.starts_with(&ground.workspace) && *path != ground.workspace;
        let used: Vec<&Path> = observations
            .iter()
            .filter(|one| {
                one.touch.relative && one.given && (one.touch.there.is_some() || writes(one.touch.how))
            })
            .map(|one| one.touch.path.as_path())
            .filter(|path| is_below(path))
            .collect();
        let full = |argument: &str| ringfence::policy::normalise(&ground.workspace.join(argument)).ok();
        let paths: Vec<(&String, PathBuf)> = arguments
            .iter()
            .filter(|argument| !argument.starts_with(['-', '/']) && !argument.is_empty())
            .filter_map(|argument| Some((argument, full(argument)?)))
            .filter(|(_, path)| used.contains(&path.as_path()))
            .collect();
        if used.iter().all(|used| paths.iter().any(|(_, path)| used.starts_with(path))) {
            self.placed = paths.into_iter().map(|(argument, _)| argument.clone()).collect();
        } else {
            self.from_workspace = true;
        }
    }

    /// Naming a protected path would let it be changed where the folder around it may be: the folder is named instead.
    fn unprotected(&self, path: &Path) -> PathBuf {
        let may_write = self.write.iter().any(|root| path.starts_with(root));
        match Floor::denies_unless_named(path, Direction::Write, &std::iter::empty()) {
            Some((_, anchor)) if may_write => anchor.parent().unwrap_or(anchor).to_path_buf(),
            Some(_) | None => path.to_path_buf(),
        }
    }

    fn add_programs(&mut self, programs: &Programs, made: &HashSet<PathBuf>) {
        for path in &programs.paths {
            if made.contains(path) {
                self.review.push(Review {
                    verb: "start",
                    what: path.display().to_string(),
                    why: "the command made it itself; `ringfence run --exec DIR` lets a folder start what it holds"
                        .into(),
                });
            } else if !self.programs.contains(path) {
                self.programs.push(path.clone());
            }
        }
        // An earlier round may have run another command: its programs come after this one's own.
        let own = programs.paths.first();
        let place = self.programs.iter().position(|path| Some(path) == own);
        if let Some(first) = place.and_then(|place| self.programs.get_mut(..=place)) {
            first.rotate_right(1);
        }
        self.review.extend(programs.refused.iter().map(|(path, why)| Review {
            verb: "start",
            what: path.display().to_string(),
            why: why.clone(),
        }));
    }

    /// A file that is read cannot be loaded as code; a program can, and a file that may be executed is granted as one.
    fn add_library(&mut self, path: &Path) {
        let may_execute = std::fs::metadata(path)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
        if may_execute && !self.programs.iter().any(|known| known == path) {
            self.programs.push(path.to_path_buf());
        }
        if !may_execute && !self.libraries.iter().any(|known| known == path) {
            self.libraries.push(path.to_path_buf());
            self.review.push(Review {
                verb: "load",
                what: path.display().to_string(),
                why: "a library loads as code only where it may be executed: `chmod +x` it and learn again"
                    .into(),
            });
        }
    }

    fn add_review(&mut self, observations: &[Observation]) {
        // Many files of one folder that may not be written are one line.
        let mut all: BTreeMap<(&'static str, PathBuf), String> = BTreeMap::new();
        for one in observations {
            let Fate::Review(why) = &one.fate else { continue };
            let (verb, path) = match one.touch.how {
                How::Change | How::Make | How::Remove if !one.given && one.touch.how != How::Change => {
                    let folder = one.touch.path.parent().unwrap_or(&one.touch.path);
                    let is_floor = why.contains("floor");
                    ("write", if is_floor { one.touch.path.clone() } else { folder.to_path_buf() })
                }
                How::Change | How::Make | How::Remove => ("write", one.touch.path.clone()),
                How::Execute => ("start", one.touch.path.clone()),
                How::Look | How::Read => ("read", one.touch.path.clone()),
            };
            all.entry((verb, path)).or_insert_with(|| why.clone());
        }
        self.review.extend(all.into_iter().map(|((verb, path), why)| Review {
            verb,
            what: path.display().to_string(),
            why,
        }));
    }

    fn review_wide(&mut self, verb: &'static str, folders: &[PathBuf], holds: &Holds<'_>) {
        const WIDE: &str = "all of it would be granted, and it is wide or holds what nobody has agreed to";
        self.review.extend(folders.iter().map(|folder| Review {
            verb,
            what: folder.display().to_string(),
            why: holds.known(folder).unwrap_or_else(|| WIDE.to_owned()),
        }));
    }
}

/// What folders hold that nobody has agreed to, each looked through once.
struct Holds<'a> {
    /// What somebody has named before.
    named: &'a [PathBuf],
    aliases: &'a Aliases,
    known: RefCell<HashMap<PathBuf, Option<String>>>,
}

impl Holds<'_> {
    /// Says why a folder is not granted as a whole because of what it holds.
    fn why(&self, folder: &Path) -> Option<String> {
        let is_clean = |above: &Path| matches!(self.known.borrow().get(above), Some(None));
        if folder.ancestors().any(is_clean) {
            return None;
        }
        let known = self.known(folder);
        if known.is_some() {
            return known;
        }
        let why = private::held(folder, self.named, self.aliases);
        self.known.borrow_mut().insert(folder.to_path_buf(), why.clone());
        why
    }

    /// Returns what was said before.
    fn known(&self, folder: &Path) -> Option<String> {
        self.known.borrow().get(folder).cloned().flatten()
    }
}

/// Tells whether a file is named as libraries are.
fn is_library(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.ends_with(".so") || name.contains(".so.") || name.ends_with(".node")
}

/// Where something lay before it was made: the folder that was there already. Nothing when it was there itself.
fn before(path: &Path, made: &HashSet<PathBuf>) -> Option<PathBuf> {
    let first = path.ancestors().filter(|above| made.contains(*above)).last()?;
    Some(first.parent().unwrap_or(first).to_path_buf())
}

/// Sorts, and leaves out what lies below something else.
fn tidy(paths: &mut Vec<PathBuf>) {
    let all: BTreeSet<PathBuf> = std::mem::take(paths).into_iter().collect();
    let is_below = |path: &PathBuf| path.ancestors().skip(1).any(|above| all.contains(above));
    *paths = all.iter().filter(|path| !is_below(path)).cloned().collect();
}
