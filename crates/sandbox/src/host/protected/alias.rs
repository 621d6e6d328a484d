//! Folders that links put in the place of others: where `.cargo` leads to `x`, cargo obeys `x/config.toml`.
//!
//! A line of the floor with several names is only seen along the path that its program takes. From each link that stands for one of
//! its first names, what the link leads to is searched by that path as well, for as long as a line goes on there.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use ringfence_policy::Floor;

use super::{MAX_ENTRIES, Sensitive, Treatment, led_to, seen, too_many, treatment};
use crate::error::SandboxError;
use crate::host::{Identity, Kind, find};

/// A longer path is none that a program takes.
const MAX_PATH: usize = 4_096;

/// The folders whose aliases are searched, and what counts there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AliasSurvey<'a> {
    /// The granted trees, and whether each may be written.
    pub(crate) trees: &'a [(&'a Path, bool)],
    /// Paths that were named themselves, so that they are not protected.
    pub(crate) named: &'a [PathBuf],
    /// Whether links in protected folders are followed too: not after a run, when what is protected is known.
    pub(crate) follows_protected: bool,
}

impl AliasSurvey<'_> {
    /// Hands what lies in the trees and is on the floor by the path through one of the `links` to `found`, with each link on the
    /// way. Those in `home` count where it is known.
    ///
    /// # Errors
    ///
    /// There is too much to search, or `found` has had enough.
    pub(crate) fn run<'l>(
        &self,
        links: impl IntoIterator<Item = &'l Path>,
        home: Option<&Path>,
        found: &mut dyn FnMut(Sensitive) -> Result<(), SandboxError>,
    ) -> Result<(), SandboxError> {
        let mut following = Following::default();
        if let Some(home) = home {
            following.enter(home.to_path_buf(), home.to_path_buf());
        }
        for link in links {
            self.add_way(link, found)?;
            following.follow(link, link.to_path_buf());
        }
        while let Some((folder, alias)) = following.pending.pop() {
            for (name, kind) in following.list(&folder)? {
                let (real, alias) = (folder.join(&name), alias.join(&name));
                match self.treatment(&real, &alias, kind) {
                    Some(Treatment::Hide) => {
                        self.add(&real, kind, Treatment::Hide, found)?;
                        continue;
                    }
                    Some(treatment) => {
                        self.add(&real, kind, treatment, found)?;
                        if kind == Kind::Directory && self.follows_protected {
                            self.add_inside(&real, treatment, &mut following, found)?;
                        }
                    }
                    None => {}
                }
                if Floor::unfinished_names(&alias).is_none() {
                    continue;
                }
                if kind == Kind::Link {
                    self.add_link(&real, found)?;
                    self.add_way(&real, found)?;
                    following.follow(&real, alias);
                } else if kind == Kind::Directory {
                    following.enter(real, alias);
                }
            }
        }
        Ok(())
    }

    /// What is done with something by the path that leads to it.
    fn treatment(&self, real: &Path, alias: &Path, kind: Kind) -> Option<Treatment> {
        let is_link = kind == Kind::Link;
        // Without a link in between it is found where it is.
        let counts = is_link || (real != alias && self.holds(real));
        if !counts || self.named.iter().any(|named| named == real) {
            return None;
        }
        // What a link leads to may be written where the link may not.
        let writable = self.is_writable(real) || is_link;
        treatment(alias, kind, false, writable, self.named)
    }

    /// Hands on something that is protected, and what it leads to.
    fn add(
        &self,
        path: &Path,
        kind: Kind,
        treatment: Treatment,
        found: &mut dyn FnMut(Sensitive) -> Result<(), SandboxError>,
    ) -> Result<(), SandboxError> {
        if kind == Kind::Link {
            for one in led_to(path, treatment, &self.trees.iter().map(|(tree, _)| *tree)) {
                // What may not be written need not be kept from change.
                let counts = treatment == Treatment::Hide || self.is_writable(&one.path);
                if counts && !self.named.contains(&one.path) {
                    found(one)?;
                }
            }
        }
        let one = seen(path, kind, treatment).filter(|_| self.holds(path));
        one.map_or(Ok(()), found)
    }

    /// Hands on what links in a protected folder lead to: a setting may be a link to a file elsewhere.
    fn add_inside(
        &self,
        folder: &Path,
        treatment: Treatment,
        following: &mut Following,
        found: &mut dyn FnMut(Sensitive) -> Result<(), SandboxError>,
    ) -> Result<(), SandboxError> {
        let mut pending = vec![folder.to_path_buf()];
        while let Some(inside) = pending.pop() {
            for (name, kind) in following.list(&inside)? {
                let path = inside.join(name);
                match kind {
                    Kind::Directory => pending.push(path),
                    Kind::Link => self.add(&path, kind, treatment, found)?,
                    Kind::File | Kind::Other | Kind::Pipe => {}
                }
            }
        }
        Ok(())
    }

    /// Hands on the links on the way of a link: who changes one of them changes what it means.
    fn add_way(
        &self,
        link: &Path,
        found: &mut dyn FnMut(Sensitive) -> Result<(), SandboxError>,
    ) -> Result<(), SandboxError> {
        let Ok(target) = find(link) else { return Ok(()) };
        target.links.iter().filter(|(at, _)| at != link).try_for_each(|(at, _)| self.add_link(at, found))
    }

    fn add_link(
        &self,
        path: &Path,
        found: &mut dyn FnMut(Sensitive) -> Result<(), SandboxError>,
    ) -> Result<(), SandboxError> {
        let one = seen(path, Kind::Link, Treatment::ReadOnly);
        one.filter(|_| self.is_writable(path)).map_or(Ok(()), found)
    }

    fn holds(&self, path: &Path) -> bool {
        self.trees.iter().any(|(tree, _)| path.starts_with(tree) && path != *tree)
    }

    fn is_writable(&self, path: &Path) -> bool {
        self.trees.iter().any(|(tree, writable)| *writable && path.starts_with(tree) && path != *tree)
    }
}

/// Folders and the paths that lead to them, each once for the names by which a line of the floor goes on there.
#[derive(Debug, Default)]
struct Following {
    pending: Vec<(PathBuf, PathBuf)>,
    entered: HashSet<(Identity, PathBuf)>,
    entries: usize,
}

impl Following {
    /// Follows a link; one that leads nowhere, or to no folder, stands for nothing yet.
    fn follow(&mut self, link: &Path, alias: PathBuf) {
        if Floor::unfinished_names(&alias).is_some()
            && let Ok(target) = find(link)
            && target.kind == Kind::Directory
        {
            self.enter(target.real, alias);
        }
    }

    /// Enters a folder, unless it was entered by the same names: links may lead in a circle.
    fn enter(&mut self, real: PathBuf, alias: PathBuf) {
        use std::os::unix::fs::MetadataExt as _;
        let Ok(folder) = real.symlink_metadata() else { return };
        let identity = Identity { device: folder.dev(), inode: folder.ino() };
        let names = Floor::unfinished_names(&alias).unwrap_or(Path::new("")).to_path_buf();
        if alias.as_os_str().len() <= MAX_PATH && self.entered.insert((identity, names)) {
            self.pending.push((real, alias));
        }
    }

    /// Lists a folder. One that is closed is found where it is.
    fn list(&mut self, folder: &Path) -> Result<Vec<(OsString, Kind)>, SandboxError> {
        let Ok(listed) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        for entry in listed.filter_map(Result::ok) {
            let Ok(found) = entry.file_type() else { continue };
            let kind = match found {
                found if found.is_dir() => Kind::Directory,
                found if found.is_symlink() => Kind::Link,
                found if found.is_file() => Kind::File,
                found if found.is_fifo() => Kind::Pipe,
                _ => Kind::Other,
            };
            all.push((entry.file_name(), kind));
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(too_many(folder, "files behind links", MAX_ENTRIES));
            }
        }
        Ok(all)
    }
}

/// The paths by which links in some folders lead to others, as far as the always-deny floor knows those paths.
#[derive(Clone, Debug, Default)]
pub struct Aliases(Vec<(PathBuf, PathBuf)>);

impl Aliases {
    /// Looks for links right in these folders, and below them where a line of the floor goes on.
    ///
    /// # Errors
    ///
    /// There is too much to search.
    pub fn within<'f>(folders: impl IntoIterator<Item = &'f Path>) -> Result<Self, SandboxError> {
        let (mut following, mut all) = (Following::default(), Vec::new());
        for folder in folders {
            following.enter(folder.to_path_buf(), folder.to_path_buf());
        }
        while let Some((folder, alias)) = following.pending.pop() {
            if folder != alias {
                all.push((folder.clone(), alias.clone()));
            }
            for (name, kind) in following.list(&folder)? {
                let (real, alias) = (folder.join(&name), alias.join(&name));
                let is_known = Floor::may_end_with(&name);
                let goes_on = Floor::unfinished_names(&alias).is_some();
                match kind {
                    Kind::Link if is_known || goes_on => {
                        all.extend(find(&real).ok().map(|target| (target.real, alias.clone())));
                        following.follow(&real, alias);
                    }
                    Kind::Directory if goes_on => following.enter(real, alias),
                    _ => {}
                }
            }
        }
        Ok(Self(all))
    }

    /// Returns the other paths that lead to a path.
    pub fn of<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
        let alias = |(real, alias): &(PathBuf, PathBuf)| {
            let below = path.strip_prefix(real).ok()?;
            Some(if below.as_os_str().is_empty() { alias.clone() } else { alias.join(below) })
        };
        self.0.iter().filter_map(alias)
    }
}
