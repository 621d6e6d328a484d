//! What a command gets while it is learnt: much to read, little to write, no host that was not named.
//!
//! INVARIANT: it is a sandbox like any other. Nothing on the always-deny floor and nobody else's home is in it, and nothing is
//! written outside of the workspace and the private scratch folder.

use std::path::{Path, PathBuf};

use ringfence::sandbox::{Access, Spec};

/// Folders of the root that are never given: the kernel's own, other machines', and what belongs to the running system.
const LEFT_OUT: &[&str] =
    &["boot", "dev", "lost+found", "media", "mnt", "net", "proc", "run", "sys", "tmp", "usr"];
/// Files of `/etc` that every sandbox has of its own, as `ringfence run` gives them.
const OWN_FILES: &[&str] = &["group", "hosts", "nsswitch.conf", "passwd", "resolv.conf"];

/// Where the command works.
#[derive(Clone, Debug)]
pub(super) struct Ground {
    /// Where it starts, and what `${workspace}` stands for.
    pub(super) workspace: PathBuf,
    /// What `${home}` stands for.
    pub(super) home: Option<PathBuf>,
    /// Where it may write.
    pub(super) written: Vec<PathBuf>,
    /// What else was named for it to read.
    pub(super) read: Vec<PathBuf>,
    /// Where somebody said that it may write: whatever lies there was agreed to.
    pub(super) agreed: Vec<PathBuf>,
}

impl Ground {
    /// Tells whether a path lies where the command may write.
    pub(super) fn may_write(&self, path: &Path) -> bool {
        self.written.iter().any(|root| path.starts_with(root))
    }

    /// Gives a command everything but what is left out.
    pub(super) fn around(&self, spec: Spec) -> Spec {
        let mut spec = spec.any_binary().record().directory(&self.workspace);
        for path in self.readable() {
            spec = spec.tree_if_possible(path, Access::READ);
        }
        for path in &self.read {
            spec = spec.tree(path, Access::READ);
        }
        if !self.may_write(&self.workspace) {
            spec = spec.tree(&self.workspace, Access::READ);
        }
        // What it makes may be started too, as a build does: inside, and with no more reach than itself.
        let all = Access { read: true, write: true, execute: true };
        self.written.iter().fold(spec, |spec, path| spec.tree(path, all))
    }

    fn readable(&self) -> Vec<PathBuf> {
        let mut all = Vec::new();
        for (name, path) in listed(Path::new("/")) {
            match name.as_str() {
                "etc" => {
                    let own = |name: &String| OWN_FILES.contains(&name.as_str());
                    all.extend(
                        listed(&path).into_iter().filter(|(name, _)| !own(name)).map(|(_, path)| path),
                    );
                }
                // Only one's own, whoever else's can be read.
                "home" | "root" => {}
                name if LEFT_OUT.contains(&name) => {}
                _ => all.push(path),
            }
        }
        all.extend(self.home.iter().filter(|home| home.parent().is_some()).cloned());
        all
    }
}

/// Returns what a folder holds, without links: what they lead to is given where it is.
fn listed(folder: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut all: Vec<(String, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter(|entry| folder != Path::new("/") || entry.file_type().is_ok_and(|kind| !kind.is_symlink()))
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_other_homes_nor_the_kernels_folders_are_given() {
        let ground = |home: Option<&str>| Ground {
            workspace: "/srv/w".into(),
            home: home.map(PathBuf::from),
            written: vec!["/srv/w".into()],
            read: Vec::new(),
            agreed: Vec::new(),
        };
        for home in [None, Some("/home/me"), Some("/root")] {
            let given = ground(home).readable();
            for never in ["/proc", "/sys", "/run", "/tmp", "/home", "/etc/passwd", "/etc", "/home/other", "/"]
            {
                assert!(!given.iter().any(|path| path == Path::new(never)), "{never}");
            }
            assert_eq!(given.iter().any(|path| path == Path::new("/root")), home == Some("/root"));
            assert!(given.iter().any(|path| path.starts_with("/etc")));
        }
        assert!(
            ground(None).may_write(Path::new("/srv/w/x")) && !ground(None).may_write(Path::new("/srv/wide"))
        );
    }
}
