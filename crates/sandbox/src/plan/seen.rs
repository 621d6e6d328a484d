//! What is looked at before a plan is made.
//!
//! INVARIANT: a tree on the floor is in it only where it was named itself, and no link that a command could have made was followed.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ringfence_policy::{Direction, FloorKind, StoreFile};

use super::build::{RESOLVER, SCRATCH};
use super::check::Eyes;
use crate::error::SandboxError;
use crate::git::{Pointers, Target, trace};
use crate::hidden::{HiddenPath, Ours};
use crate::host::{
    AliasSurvey, Found, HardLinks, Judge, Kind, LinkedFolder, Pin, Platform, Program, Sensitive, Survey,
    Treatment, find, find_own_pins, find_pins, find_shared, gather, is_system, is_system_link, seen,
    survey_inside, survey_with_names,
};
use crate::spec::{Access, NamedPaths, Spec, Tree};

/// Everything about the machine that a plan depends on.
#[derive(Clone, Debug)]
pub struct Seen {
    pub(super) platform: Platform,
    pub(super) programs: Vec<Program>,
    pub(super) trees: Vec<(Found, Access)>,
    pub(super) folders: Vec<Found>,
    pub(super) sensitive: Vec<Sensitive>,
    /// Files in writable trees that have names elsewhere.
    pub(super) hard_links: HardLinks,
    /// What must stay where it is, so that protection does not go away with it.
    pub(super) pins: Vec<Pin>,
    /// Trees that were granted only where possible: what is in them may be gone when it is mounted.
    pub(super) passing: Vec<PathBuf>,
    /// What git configurations name in folders that may be written.
    pub(super) pointed: Vec<Target>,
    /// Where the machine's list of name servers really is.
    pub(super) resolver: Option<PathBuf>,
    /// What was to be granted only where possible, and is not.
    pub(super) left_out: Vec<PathBuf>,
    /// How the plan is looked at again.
    pub(super) eyes: Eyes,
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
        Self::look_for(spec, platform, &[], &[])
    }

    /// The same; what lies in `own` is hidden, and so are the files `hidden`.
    pub(crate) fn look_for(
        spec: &Spec,
        platform: &Platform,
        own: &[PathBuf],
        hidden: &[HiddenPath],
    ) -> Result<Self, SandboxError> {
        let mut trees = Vec::new();
        let mut sensitive = Vec::new();
        let mut followed = Vec::new();
        let mut left_out = Vec::new();
        let mut linked = Vec::new();
        let mut passing = Vec::new();
        let reach = writable_roots(spec);
        let wanted = spec.trees.iter().map(|tree| (tree, true));
        let possible = spec.possible.iter().map(|tree| (tree, false));
        for (tree, is_needed) in wanted.chain(possible) {
            let looked = match Looked::at(tree, spec, &reach) {
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
            linked.extend(looked.linked);
            // A link makes nothing passing that is granted without it.
            if !is_needed && looked.link.is_none() {
                passing.extend(looked.found.iter().map(|found| found.real.clone()));
            }
            match looked.link {
                None => trees.extend(looked.found.into_iter().map(|found| (found, tree.access))),
                Some(link) => followed.push((tree, is_needed, link, looked.found)),
            }
        }
        // Only these explain a further name of a file: a link could be planted to lead to one.
        let direct = trees.len();
        // A link that somebody could have planted gives nothing that is not granted without it.
        for (tree, is_needed, link, found) in followed {
            let covers = |one: &Found| {
                trees.iter().any(|(other, access)| {
                    one.real.starts_with(&other.real) && access.join(tree.access) == *access
                })
            };
            match found.iter().all(covers) {
                true => found.into_iter().for_each(|found| add(&mut trees, found, tree.access)),
                false if is_needed => return Err(planted(tree, &link, &found)),
                false => left_out.push(tree.path.clone()),
            }
        }
        refuse_writing_alone(spec, &trees)?;
        let programs = programs(spec, &trees)?;
        for companion in programs.iter().flat_map(Program::all).flat_map(|program| &program.companions) {
            let real = &companion.found.real;
            // What is in a tree was searched with it.
            if !is_system(real) && !trees.iter().any(|(tree, _)| real.starts_with(&tree.real)) {
                sensitive.extend(survey_with_names(real, false, &spec.named, &reach)?.sensitive);
            }
        }
        protect_behind_links(&trees, &mut sensitive, spec)?;
        let ours = Ours::at_all_mounts(own, hidden)?;
        let (mut own, folders) = protect_way(&ours, &trees);
        if let Some(link) = own.first().filter(|_| spec.image.is_some()) {
            let what = format!(
                "in an image: keeping the link `{}`, which leads to a file of ringfence; name that file without it",
                link.path.display()
            );
            return Err(SandboxError::Inexpressible { what });
        }
        own.extend(protect_own(&ours, &trees)?);
        sensitive.extend(own.iter().cloned());
        own.extend(folders);
        own.extend(hide(&ours.hidden, &trees, &mut sensitive, &mut passing)?);
        passing.extend(changing_store_files(&sensitive));
        let pointed =
            protect_named_by_git(&trees, &mut sensitive, &spec.named, &reach, spec.home.as_deref())?;
        let direct = trees.iter().take(direct);
        let written: Vec<&Path> =
            direct.filter(|(_, access)| access.write).map(|(found, _)| found.real.as_path()).collect();
        // A program is never writable, even in a writable folder.
        let fixed: HashSet<&Path> =
            programs.iter().flat_map(Program::all).map(|program| program.found.real.as_path()).collect();
        // Nor is what is protected, so that another name of it is not either.
        let held = sensitive.iter().filter(|one| one.treatment != Treatment::Watch);
        let fixed: HashSet<&Path> = fixed.into_iter().chain(held.map(|one| one.path.as_path())).collect();
        let granted: Vec<&Path> = trees.iter().map(|(found, _)| found.real.as_path()).collect();
        let hard_links = find_shared(&linked, &written, &granted, &fixed)?;
        // In a tree that was granted only where possible, folders come and go.
        let lasting: Vec<&Path> = written
            .iter()
            .copied()
            .filter(|tree| !passing.iter().any(|passing| tree.starts_with(passing)))
            .collect();
        let kept: Vec<Sensitive> =
            sensitive.iter().filter(|one| one.treatment != Treatment::Watch).cloned().collect();
        let mut pins = find_pins(&kept, &lasting)?;
        // What is ours stays in its place in any tree.
        pins.extend(find_own_pins(&own, &written)?);
        pins.sort_by(|one, other| (&one.path, !one.is_ours).cmp(&(&other.path, !other.is_ours)));
        pins.dedup_by(|one, other| one.path == other.path);
        let wanted = PROGRAM_FOLDERS.iter().filter(|_| spec.any_binary && spec.image.is_none());
        let folders = wanted.filter_map(|path| find(Path::new(path)).ok()).collect();
        let resolver = find(Path::new(RESOLVER)).ok().map(|found| found.real);
        Ok(Self {
            platform: platform.clone(),
            programs,
            trees,
            folders,
            sensitive,
            hard_links,
            pins,
            passing,
            pointed,
            resolver,
            left_out,
            eyes: Eyes::Open,
        })
    }
}

/// Hides files that lie in granted trees, or keeps them from being written, and returns them.
///
/// # Errors
///
/// One of them was granted itself.
fn hide(
    hidden: &[HiddenPath],
    trees: &[(Found, Access)],
    sensitive: &mut Vec<Sensitive>,
    passing: &mut Vec<PathBuf>,
) -> Result<Vec<Sensitive>, SandboxError> {
    let mut all = Vec::new();
    for (hidden, own) in hidden.iter().filter_map(|own| Some((own, find(&own.path).ok()?))) {
        let is_refused = |access: &Access| hidden.treatment == Treatment::Hide || access.write;
        if trees.iter().any(|(tree, access)| tree.real == own.real && is_refused(access)) {
            let why = match hidden.treatment {
                Treatment::Hide => "ringfence keeps its own state there, which no command may reach",
                Treatment::ReadOnly | Treatment::Watch => "the policy reads it, so no command may write it",
            };
            return Err(SandboxError::Path { path: own.real, error: std::io::Error::other(why) });
        }
        let is_granted = trees.iter().any(|(tree, _)| own.real.starts_with(&tree.real));
        // A folder that is hidden as a whole has no place to mount on, and what is hidden is not written either.
        let is_hidden = |one: &Sensitive| {
            one.treatment == Treatment::Hide
                && own.real.starts_with(&one.path)
                && (one.kind == Kind::Directory || hidden.treatment == Treatment::ReadOnly)
        };
        if !is_granted || sensitive.iter().any(is_hidden) {
            continue;
        }
        sensitive.retain(|one| one.path != own.real);
        let found = seen(&own.real, own.kind, hidden.treatment);
        sensitive.extend(found.clone());
        all.extend(found);
        if hidden.may_change {
            passing.push(own.real);
        }
    }
    Ok(all)
}

/// Returns the protected files of protected stores that a process outside may remove and make again: that is no attack on the run.
fn changing_store_files(sensitive: &[Sensitive]) -> Vec<PathBuf> {
    let is_protected = |store: &Path| {
        sensitive
            .iter()
            .any(|one| one.path == store && one.kind == Kind::File && one.treatment != Treatment::Watch)
    };
    let files = sensitive.iter().filter(|one| one.kind == Kind::File);
    let changing = files.filter(|one| {
        StoreFile::named(&one.path).is_some_and(|file| file.may_change && is_protected(&file.store))
    });
    changing.map(|one| one.path.clone()).collect()
}

/// What was seen of one tree.
struct Looked {
    found: Vec<Found>,
    /// The first link on the way to it that is not the system's.
    link: Option<PathBuf>,
    sensitive: Vec<Sensitive>,
    /// The files in it that have several names.
    linked: Vec<LinkedFolder>,
}

impl Looked {
    /// Looks at a tree; `reach` are the writable trees of this specification.
    fn at(tree: &Tree, spec: &Spec, reach: &[PathBuf]) -> Result<Self, SandboxError> {
        let refused = |error| SandboxError::Path { path: tree.path.clone(), error };
        let found = find(&tree.path).map_err(refused)?;
        if found.real == Path::new("/") && tree.access.write {
            return Err(SandboxError::Inexpressible {
                what: "writing to `/`: grant the folders below it".into(),
            });
        }
        let direction = if tree.access.write { Direction::Write } else { Direction::Read };
        if let Some((line, _)) = spec.named.denies(&found.real, direction) {
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
        // Everything below the scratch folder may be written as far as Landlock knows, and a pipe cares for no mount.
        if found.kind == Kind::Pipe && !tree.access.write && found.real.starts_with(SCRATCH) {
            return Err(refused(std::io::Error::other(
                "a pipe below `/tmp` can be written whatever is granted; grant it for writing, or move it elsewhere",
            )));
        }
        let link = found.links.iter().map(|(at, _)| at).find(|at| !is_system_link(at)).cloned();
        // What such a link leads to is searched where it is granted without the link, or is not granted.
        let survey = match &link {
            Some(_) => Survey::default(),
            None => survey_with_names(&found.real, tree.access.write, &spec.named, reach)?,
        };
        let found = if found.real == Path::new("/") { below_the_root()? } else { vec![found] };
        Ok(Self { found, link, sensitive: survey.sensitive, linked: survey.linked })
    }
}

/// Refuses a protected file that may be written and not read where a folder around it may be read: mounts cannot keep the two apart.
fn refuse_writing_alone(spec: &Spec, trees: &[(Found, Access)]) -> Result<(), SandboxError> {
    for (tree, _) in trees.iter().filter(|(_, access)| access.write && !access.read) {
        let Some((line, _)) = spec.named.denies(&tree.real, Direction::Read) else { continue };
        let is_readable =
            trees.iter().any(|(other, access)| access.read && tree.real.starts_with(&other.real));
        if line.kind != FloorKind::Git && is_readable {
            let why = format!(
                "it may be written and not read (`{}`, {}), inside a readable folder; grant both, or neither",
                line.pattern, line.kind
            );
            return Err(SandboxError::Path { path: tree.real.clone(), error: std::io::Error::other(why) });
        }
    }
    Ok(())
}

/// Where the writable trees really are, as far as they exist.
pub(crate) fn writable_roots(spec: &Spec) -> Vec<PathBuf> {
    let all = spec.trees.iter().chain(&spec.possible).filter(|tree| tree.access.write);
    all.filter_map(|tree| find(&tree.path).ok()).map(|found| found.real).collect()
}

/// Protects what is on the floor by a path through a link: `.cargo` may lead to any folder of the granted trees.
fn protect_behind_links(
    trees: &[(Found, Access)],
    sensitive: &mut Vec<Sensitive>,
    spec: &Spec,
) -> Result<(), SandboxError> {
    let Some((first, _)) = trees.first() else { return Ok(()) };
    let trees: Vec<(&Path, bool)> =
        trees.iter().map(|(tree, access)| (tree.real.as_path(), access.write)).collect();
    let links: Vec<PathBuf> =
        sensitive.iter().filter(|one| one.kind == Kind::Link).map(|one| one.path.clone()).collect();
    let survey = AliasSurvey { trees: &trees, named: &spec.named, follows_protected: true };
    let mut all = Vec::new();
    survey.run(links.iter().map(PathBuf::as_path), spec.home.as_deref(), &mut |found| {
        gather(&mut all, found, &first.real)
    })?;
    sensitive.extend(all);
    Ok(())
}

/// Returns the folders of ours that lie in granted trees, to be hidden.
///
/// # Errors
///
/// A tree is in a folder of ours, by another path than its own: by its own it must be named, and is on the floor.
fn protect_own(ours: &Ours, trees: &[(Found, Access)]) -> Result<Vec<Sensitive>, SandboxError> {
    let is_elsewhere = |path: &Path| ours.elsewhere.iter().any(|own| path.starts_with(own));
    if let Some((tree, _)) = trees.iter().find(|(tree, _)| is_elsewhere(&tree.real)) {
        let why = "it is mounted from a folder of ringfence, which no command may reach";
        return Err(SandboxError::Path { path: tree.real.clone(), error: std::io::Error::other(why) });
    }
    let is_inside =
        |path: &Path| trees.iter().any(|(tree, _)| path.starts_with(&tree.real) && path != tree.real);
    let all = ours.folders.iter().chain(&ours.elsewhere);
    let own = all.filter_map(|own| find(own).ok()).filter(|own| is_inside(&own.real));
    Ok(own.filter_map(|own| seen(&own.real, own.kind, Treatment::Hide)).collect())
}

/// Returns what lies in writable trees on the way to what is ours, wherever that is: the links, and the folders that `..` leaves.
/// Exchanged for another, each would lead whoever goes that way next to another file.
fn protect_way(ours: &Ours, trees: &[(Found, Access)]) -> (Vec<Sensitive>, Vec<Sensitive>) {
    let is_writable = |path: &Path| {
        let mut writable = trees.iter().filter(|(_, access)| access.write);
        writable.any(|(tree, _)| path.starts_with(&tree.real) && path != tree.real)
    };
    let on_the_way = || ours.on_the_way.iter().filter(|(path, _)| is_writable(path));
    let links = on_the_way().filter(|(_, kind)| *kind == Kind::Link);
    let folders = on_the_way().filter(|(_, kind)| *kind == Kind::Directory);
    (
        links.filter_map(|(link, kind)| seen(link, *kind, Treatment::ReadOnly)).collect(),
        folders.filter_map(|(folder, kind)| seen(folder, *kind, Treatment::Watch)).collect(),
    )
}

/// Protects what git configurations name in folders that may be written: those of repositories there and around them, of the
/// user and of the machine.
fn protect_named_by_git(
    trees: &[(Found, Access)],
    sensitive: &mut Vec<Sensitive>,
    named: &NamedPaths,
    reach: &[PathBuf],
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
            let is_named = named.write.contains(&one.path);
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
                if one.kind == Kind::Directory {
                    sensitive.extend(survey_inside(&one.path, named, reach)?);
                }
            }
        }
    }
    // A folder is covered before what is in it, or it would uncover that again.
    sensitive.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(targets)
}

/// Adds a tree, or to one that is there already the links that lead to it.
fn add(trees: &mut Vec<(Found, Access)>, found: Found, access: Access) {
    match trees.iter_mut().find(|(tree, _)| tree.real == found.real) {
        Some((tree, _)) => tree.links.extend(found.links),
        None => trees.push((found, access)),
    }
}

/// Looks at the programs that were named, and judges what they bring beside the trees.
fn programs(spec: &Spec, trees: &[(Found, Access)]) -> Result<Vec<Program>, SandboxError> {
    // The programs of an image are nothing that can be seen here.
    let here = || std::iter::once(&spec.program).chain(&spec.binaries).filter(|_| spec.image.is_none());
    let named: Vec<PathBuf> =
        here().skip(1).filter_map(|path| find(path).ok()).map(|found| found.real).collect();
    let judge = Judge { trees, named: &spec.named, programs: &named, home: spec.home.as_deref() };
    here().map(|path| Program::find(path, &judge)).collect()
}

/// Refuses a granted path that goes through a link which a command of an earlier run could have made, to choose what it is granted.
fn planted(tree: &Tree, link: &Path, found: &[Found]) -> SandboxError {
    let real = found.first().map(|found| found.real.display().to_string()).unwrap_or_default();
    let error = std::io::Error::other(format!(
        "the link `{}` on the way leads to `{real}`, and a command could have made it; grant `{real}` itself",
        link.display()
    ));
    SandboxError::Path { path: tree.path.clone(), error }
}

/// A root cannot be mounted on a root: what is in it is, but for what every sandbox has of its own.
fn below_the_root() -> Result<Vec<Found>, SandboxError> {
    let failed = |error| SandboxError::Path { path: PathBuf::from("/"), error };
    let mut all = Vec::new();
    for entry in std::fs::read_dir("/").map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let own = OWN.iter().any(|own| path == Path::new(own)) || path == Path::new(SCRATCH);
        // A link to something that is not there stays out.
        all.extend(find(&path).ok().filter(|found| !own && !matches!(found.kind, Kind::Other | Kind::Pipe)));
    }
    Ok(all)
}
