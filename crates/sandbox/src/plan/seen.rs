//! What is looked at before a plan is made.
//!
//! INVARIANT: a tree on the floor is in it only where it was named itself, and no link that a command could have made was followed.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ringfence_policy::{Direction, Floor};

use super::build::{RESOLVER, SCRATCH};
use crate::error::SandboxError;
use crate::git::{Pointers, Target, trace};
use crate::host::{Found, Kind, Platform, Program, Sensitive, Treatment, find, seen, survey};
use crate::spec::{Access, Spec, Tree};

/// Everything about the machine that a plan depends on.
#[derive(Clone, Debug)]
pub struct Seen {
    pub(super) platform: Platform,
    pub(super) programs: Vec<Program>,
    pub(super) trees: Vec<(Found, Access)>,
    pub(super) folders: Vec<Found>,
    pub(super) sensitive: Vec<Sensitive>,
    /// What git configurations name in folders that may be written.
    pub(super) pointed: Vec<Target>,
    /// Where the machine's list of name servers really is.
    pub(super) resolver: Option<PathBuf>,
    /// What was to be granted only where possible, and is not.
    pub(super) left_out: Vec<PathBuf>,
}
/// The folders that `*` mounts.
const PROGRAM_FOLDERS: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives"];
/// What no grant replaces.
const OWN: &[&str] = &["/proc", "/dev"];

impl Seen {
    /// Looks at everything a specification names.
    ///
    /// # Errors
    ///
    /// A program or a granted path is missing, or a tree is too large to search for files on the floor.
    pub fn look(spec: &Spec, platform: &Platform) -> Result<Self, SandboxError> {
        Self::look_for(spec, platform, None, &[])
    }

    /// The same for the user whose home is given: paths in git configurations may begin there. What lies in `own` is hidden.
    pub(crate) fn look_for(
        spec: &Spec,
        platform: &Platform,
        home: Option<&Path>,
        own: &[PathBuf],
    ) -> Result<Self, SandboxError> {
        let mut programs = Vec::new();
        // The programs of an image are nothing that can be seen here.
        let here = std::iter::once(&spec.program).chain(&spec.binaries).filter(|_| spec.image.is_none());
        for binary in here {
            programs.push(Program::find(binary)?);
        }
        let mut trees = Vec::new();
        let mut sensitive = Vec::new();
        let mut followed = Vec::new();
        let mut left_out = Vec::new();
        let wanted = spec.trees.iter().map(|tree| (tree, true));
        let possible = spec.possible.iter().map(|tree| (tree, false));
        for (tree, is_needed) in wanted.chain(possible) {
            let looked = match Looked::at(tree, spec) {
                Ok(looked) => looked,
                Err(SandboxError::Path { error, .. })
                    if spec.skip_missing && error.kind() == std::io::ErrorKind::NotFound =>
                {
                    continue;
                }
                Err(error) if is_needed => return Err(error),
                Err(_) => {
                    left_out.push(tree.path.clone());
                    continue;
                }
            };
            sensitive.extend(looked.sensitive);
            followed.extend(looked.links.into_iter().map(|link| (tree.path.clone(), link)));
            trees.extend(looked.found.into_iter().map(|found| (found, tree.access)));
        }
        refuse_planted(&followed, &trees)?;
        for own in own.iter().filter_map(|own| find(own).ok()) {
            if trees.iter().any(|(tree, _)| own.real.starts_with(&tree.real) && own.real != tree.real) {
                sensitive.extend(seen(&own.real, own.kind, Treatment::Hide));
            }
        }
        let pointed = protect_named_by_git(&trees, &mut sensitive, &spec.named, home)?;
        let wanted = PROGRAM_FOLDERS.iter().filter(|_| spec.any_binary && spec.image.is_none());
        let folders = wanted.filter_map(|path| find(Path::new(path)).ok()).collect();
        let resolver = find(Path::new(RESOLVER)).ok().map(|found| found.real);
        Ok(Self {
            platform: platform.clone(),
            programs,
            trees,
            folders,
            sensitive,
            pointed,
            resolver,
            left_out,
        })
    }
}

/// What was seen of one tree.
struct Looked {
    found: Vec<Found>,
    /// The links on the way to it.
    links: Vec<PathBuf>,
    sensitive: Vec<Sensitive>,
}

impl Looked {
    fn at(tree: &Tree, spec: &Spec) -> Result<Self, SandboxError> {
        let refused = |error| SandboxError::Path { path: tree.path.clone(), error };
        let found = find(&tree.path).map_err(refused)?;
        if found.real == Path::new("/") && tree.access.write {
            return Err(SandboxError::Inexpressible {
                what: "writing to `/`: grant the folders below it".into(),
            });
        }
        let direction = if tree.access.write { Direction::Write } else { Direction::Read };
        let named = spec.named.iter().map(PathBuf::as_path);
        if let Some((line, _)) = Floor::denies_unless_named(&found.real, direction, &named) {
            return Err(refused(std::io::Error::other(format!(
                "it leads to `{}`, and `{}` ({}) is on the always-deny floor until it is named itself",
                found.real.display(),
                line.pattern,
                line.kind
            ))));
        }
        if let Some(own) = OWN.iter().find(|own| found.real.starts_with(own)) {
            return Err(refused(std::io::Error::other(format!("a sandbox has a `{own}` of its own"))));
        }
        let sensitive = survey(&found.real, tree.access.write, &spec.named)?;
        let links = found.links.iter().map(|(link, _)| link.clone()).collect();
        let found = if found.real == Path::new("/") { below_the_root()? } else { vec![found] };
        Ok(Self { found, links, sensitive })
    }
}

/// Protects what git configurations name in folders that may be written: those of repositories there and around them, of the
/// user and of the machine.
fn protect_named_by_git(
    trees: &[(Found, Access)],
    sensitive: &mut Vec<Sensitive>,
    named: &[PathBuf],
    home: Option<&Path>,
) -> Result<Vec<Target>, SandboxError> {
    let writable = trees.iter().filter(|(tree, access)| access.write && tree.kind == Kind::Directory);
    let writable: Vec<&Path> = writable.map(|(tree, _)| tree.real.as_path()).collect();
    if writable.is_empty() {
        return Ok(Vec::new());
    }
    let mut pointers = Pointers::new(home)?;
    for tree in &writable {
        pointers.around(tree)?;
    }
    for one in sensitive.iter() {
        match one.treatment {
            Treatment::Watch => pointers.repository(&one.path)?,
            Treatment::ReadOnly if one.path.file_name().is_some_and(|name| name == ".git") => {
                pointers.git_file(&one.path)?;
            }
            Treatment::Hide | Treatment::ReadOnly => {}
        }
    }
    let targets = pointers.into_targets();
    let known: HashSet<PathBuf> = sensitive
        .iter()
        .filter(|one| one.treatment != Treatment::Watch)
        .map(|one| one.path.clone())
        .collect();
    for target in &targets {
        for one in trace(target) {
            let is_named = named.contains(&one.path);
            // A folder that was granted as such is lifted like any other name; the top of a repository is not its folder of hooks.
            let is_lifted = |tree: &&Path| is_named && **tree == *one.path && !one.path.join(".git").exists();
            let is_whole = |tree: &&Path| tree.starts_with(&one.path) && !is_lifted(tree);
            if one.kind == Kind::Directory && writable.iter().any(is_whole) {
                return Err(SandboxError::Inexpressible {
                    what: format!(
                        "writing to `{}`: a git configuration names it for hooks or attributes; grant less of it",
                        one.path.display()
                    ),
                });
            }
            let is_writable = writable.iter().any(|tree| one.path.starts_with(tree));
            let is_known = is_named || one.path.ancestors().any(|above| known.contains(above));
            if is_writable && !is_known {
                sensitive.extend(seen(&one.path, one.kind, Treatment::ReadOnly));
            }
        }
    }
    // A folder is covered before what is in it, or it would uncover that again.
    sensitive.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(targets)
}

/// Refuses a granted path that goes through a link in a folder that is granted for writing: the command, or one before it, could
/// have made that link, and chosen what it is granted.
fn refuse_planted(followed: &[(PathBuf, PathBuf)], trees: &[(Found, Access)]) -> Result<(), SandboxError> {
    let written =
        |link: &Path| trees.iter().any(|(tree, access)| access.write && link.starts_with(&tree.real));
    let Some((path, link)) = followed.iter().find(|(_, link)| written(link)) else { return Ok(()) };
    let error = std::io::Error::other(format!(
        "the link `{}` on the way to it lies in a folder that may be written; grant the folder that it leads to",
        link.display()
    ));
    Err(SandboxError::Path { path: path.clone(), error })
}

/// A root cannot be mounted on a root: what is in it is, but for what every sandbox has of its own.
fn below_the_root() -> Result<Vec<Found>, SandboxError> {
    let failed = |error| SandboxError::Path { path: PathBuf::from("/"), error };
    let mut all = Vec::new();
    for entry in std::fs::read_dir("/").map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let own = OWN.iter().any(|own| path == Path::new(own)) || path == Path::new(SCRATCH);
        // A link to something that is not there stays out.
        all.extend(find(&path).ok().filter(|found| !own && found.kind != Kind::Other));
    }
    Ok(all)
}
