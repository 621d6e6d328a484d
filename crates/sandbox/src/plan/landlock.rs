//! The second wall: what the kernel's Landlock allows on which path, as seen from inside.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Entry;
use crate::host::{Found, Identity, Kind};
use crate::spec::Access;

/// A Landlock domain.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Landlock {
    /// What is allowed where; everything else is refused.
    pub rules: Vec<Rule>,
}

/// What is allowed on a path and below it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rule {
    /// The path, inside.
    pub path: PathBuf,
    /// What is allowed.
    pub access: Access,
    /// Whether it is a single file, which takes fewer rights.
    pub file: bool,
    /// Which file it must be when the rule is made, where that is known.
    #[serde(skip)]
    pub identity: Option<Identity>,
}

/// A file or folder that may be started, or whose files may be.
#[derive(Clone, Debug)]
pub(super) struct Executable {
    pub(super) path: PathBuf,
    pub(super) file: bool,
    pub(super) identity: Option<Identity>,
}

impl Executable {
    pub(super) fn of(found: &Found) -> Self {
        let file = found.kind != Kind::Directory;
        Self { path: found.real.clone(), file, identity: Some(found.identity) }
    }
}

/// Returns which file is seen at a path, where an entry of its own says so and nothing covers it.
fn identity_at(entries: &[&Entry], path: &Path) -> Option<Identity> {
    let mut found = None;
    for entry in entries {
        match entry {
            Entry::Bind { path: at, identity, .. } if at == path => found = Some(*identity),
            Entry::Cover { path: at, .. } | Entry::Hidden { path: at, .. } if path.starts_with(at) => {
                return None;
            }
            _ => {}
        }
    }
    found
}

impl Landlock {
    /// Makes the rules of what exists inside. `programs` are the files and folders that may be started.
    pub(super) fn new(entries: &[&Entry], programs: &[Executable], any_program: bool) -> Self {
        let rule = |path: &Path, access, file| Rule {
            path: path.to_path_buf(),
            access,
            file,
            identity: identity_at(entries, path),
        };
        let binds = || {
            entries.iter().filter_map(|entry| match entry {
                // What is protected has the rights of the tree around it, less what its mount refuses.
                Entry::Bind { path, access, file, protected: false, .. } => Some((path, *access, *file)),
                _ => None,
            })
        };
        let mut rules = Vec::new();
        // What is mounted may be read, unless something is there to be written only: then each path has its own rule.
        if binds().all(|(_, access, _)| access.read) {
            rules.push(rule(
                Path::new("/"),
                Access { read: true, write: false, execute: any_program },
                false,
            ));
        } else {
            rules.extend(
                binds().map(|(path, access, file)| rule(path, Access { execute: false, ..access }, file)),
            );
            rules.extend(
                ["/etc", "/dev", "/proc", "/tmp"].map(|path| rule(Path::new(path), Access::READ, false)),
            );
            if any_program {
                rules.push(rule(Path::new("/"), Access { read: false, write: false, execute: true }, false));
            }
        }
        let writable = binds().filter(|(_, access, _)| access.write);
        rules.extend(
            writable.map(|(path, access, file)| rule(path, Access { execute: false, ..access }, file)),
        );
        rules.extend(["/dev", "/tmp"].map(|path| rule(Path::new(path), Access::WRITE, false)));
        if !any_program {
            let execute = Access { read: false, write: false, execute: true };
            rules.extend(programs.iter().map(|one| {
                let known = rule(&one.path, execute, one.file);
                Rule { identity: known.identity.or(one.identity), ..known }
            }));
        }
        Self { rules }
    }

    /// Returns the rules for a confiner that leaves the whole machine in sight: nothing is allowed on `/` itself, nor on `/etc`, which
    /// is the machine's there and not one of our own.
    pub(crate) fn without_the_root(&self, plan: &super::Plan) -> Vec<Rule> {
        let any_program = self.rules.iter().any(|rule| rule.path == Path::new("/") && rule.access.execute);
        let entries: Vec<&Entry> = plan.base.iter().chain(&plan.root).collect();
        let binds = entries.iter().filter_map(|entry| match entry {
            Entry::Bind { path, access, file, protected: false, .. } => {
                let execute = access.execute && any_program;
                let access = Access { execute, ..*access };
                Some(Rule { path: path.clone(), access, file: *file, identity: identity_at(&entries, path) })
            }
            Entry::File { path, content } if !content.is_empty() => {
                Some(Rule { path: path.clone(), access: Access::READ, file: true, identity: None })
            }
            _ => None,
        });
        let own = ["/proc", "/dev", "/tmp"].map(|path| Rule {
            path: path.into(),
            access: Access::READ,
            file: false,
            identity: None,
        });
        // Where `/etc` itself is granted, it is among the binds.
        let of_our_root = |rule: &&Rule| ["/", "/etc"].iter().any(|own| rule.path == Path::new(own));
        let rules = self.rules.iter().filter(|rule| !of_our_root(rule)).cloned();
        own.into_iter().chain(binds).chain(rules).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::example;

    #[test]
    fn a_machine_in_sight_is_not_taken_for_a_root_of_our_own() {
        let mut plan = example();
        let only_written = Access { read: false, write: true, execute: false };
        for entry in &mut plan.root {
            if let Entry::Bind { access, .. } = entry
                && access.write
            {
                *access = only_written;
            }
        }
        let all: Vec<&Entry> = plan.base.iter().chain(&plan.root).collect();
        for landlock in [Landlock::new(&all, &[], false), Landlock::new(&all, &[], true)] {
            let wide = ["/", "/etc", "/usr", "/var", "/home"].map(Path::new);
            let rules = landlock.without_the_root(&plan);
            assert!(!rules.iter().any(|rule| wide.contains(&rule.path.as_path())), "{rules:?}");
        }
    }
}
