//! The paths of a plan as an engine takes them.
//!
//! INVARIANT: whatever can be written to, and is not granted for programs, is mounted `noexec` where the engine can do that.

use std::collections::BTreeMap;
use std::path::Path;

use ringfence_sandbox::{Access, Entry, Plan};

use crate::error::ContainerError;
use crate::nature::Make;

/// What is mounted.
#[derive(Debug, Default, Eq, PartialEq)]
pub(crate) struct Mounts {
    /// Paths of the machine: `source:target:options`.
    pub(crate) binds: Vec<String>,
    /// Private memory: its options by path.
    pub(crate) memory: BTreeMap<String, String>,
    /// Whether names are asked for at the gate.
    pub(crate) asks_gate: bool,
}

/// Where every resolver looks for its servers.
const RESOLVER: &str = "/etc/resolv.conf";
/// What the memory between processes holds of the scratch space.
const SHARED: u64 = 1 << 20;
/// Places that Podman makes writable by itself, or that tell of the machine.
const CLOSED: &[&str] = &["/run", "/sys", "/var/tmp"];
const NOTHING: &str = "ro,size=4k,mode=0555,noexec,nosuid,nodev";

impl Mounts {
    /// Reads what a plan grants.
    pub(crate) fn of(plan: &Plan, make: Make) -> Result<Self, ContainerError> {
        let mut mounts = Self::default();
        for entry in &plan.root {
            mounts.add(entry, make)?;
        }
        if make == Make::Podman {
            // Podman would copy what lies below into the memory that is to hide it.
            mounts.memory.values_mut().for_each(|options| options.push_str(",notmpcopyup"));
            for path in CLOSED.iter().filter(|path| !granted(plan, path)) {
                mounts.memory.insert((*path).to_owned(), format!("{NOTHING},notmpcopyup"));
            }
        }
        Ok(mounts)
    }

    fn add(&mut self, entry: &Entry, make: Make) -> Result<(), ContainerError> {
        match entry {
            Entry::Bind { path, access, .. } => {
                let path = text(path)?;
                self.binds.push(format!("{path}:{path}:{}", options(*access, make)));
            }
            Entry::Hidden { path, file: true } => {
                // A device that cannot be opened, since the mount takes no devices.
                let options = if make == Make::Podman { "ro,bind,noexec,nosuid,nodev" } else { "ro" };
                self.binds.push(format!("/dev/null:{}:{options}", text(path)?));
            }
            Entry::Hidden { path, file: false } => {
                self.memory
                    .insert(text(path)?.to_owned(), "ro,size=4k,mode=0000,noexec,nosuid,nodev".to_owned());
            }
            Entry::Scratch { path, bytes } => self.scratch(text(path)?, *bytes),
            // An engine makes what a mount needs to be mounted on, and has a `/proc` of its own.
            Entry::Directory { .. } | Entry::Proc => {}
            Entry::File { content, .. } if content.is_empty() => {}
            Entry::File { path, .. } if path == Path::new(RESOLVER) => self.asks_gate = true,
            Entry::Link { path, to } => {
                let what = format!(
                    "the link `{}` on the way to a granted path: grant `{}`, where it leads to",
                    path.display(),
                    to.display()
                );
                return Err(ContainerError::Untold { what });
            }
            Entry::Cover { path, .. } | Entry::File { path, .. } | Entry::Device { path } => {
                return Err(ContainerError::Untold { what: format!("what `{}` is to hold", path.display()) });
            }
        }
        Ok(())
    }

    /// Divides the scratch space into files and memory between processes, which together are no more than it.
    fn scratch(&mut self, path: &str, bytes: u64) {
        let shared = if bytes >= 4 * SHARED { SHARED } else { 0 };
        if bytes == u64::MAX {
            let all = "rw,mode=1777,noexec,nosuid,nodev";
            self.memory.extend([path, "/dev/shm"].map(|path| (path.to_owned(), all.to_owned())));
            return;
        }
        let sized = |bytes: u64| match bytes {
            // A size of nothing would be no limit.
            0 => NOTHING.to_owned(),
            bytes => format!("rw,size={bytes},mode=1777,noexec,nosuid,nodev"),
        };
        self.memory.insert(path.to_owned(), sized(bytes - shared));
        self.memory.insert("/dev/shm".to_owned(), sized(shared));
    }
}

/// Not recursive: a mount below a granted folder has options of its own, which would hold inside too.
fn options(access: Access, make: Make) -> String {
    let mut options = vec![if access.write { "rw" } else { "ro" }];
    if make == Make::Podman {
        options.extend(["bind", "nosuid", "nodev"]);
        options.push(if access.execute { "exec" } else { "noexec" });
    }
    options.join(",")
}

fn granted(plan: &Plan, path: &str) -> bool {
    plan.root.iter().any(|entry| {
        matches!(entry, Entry::Bind { .. } | Entry::Hidden { .. } | Entry::Scratch { .. })
            && entry.path() == Path::new(path)
    })
}

/// A path as an engine can be told it.
fn text(path: &Path) -> Result<&str, ContainerError> {
    match path.to_str() {
        Some(text) if !text.contains([':', '\n', '\r']) => Ok(text),
        _ => Err(ContainerError::Untold {
            what: format!("the path `{}`: it has a colon, a line break or no text in it", path.display()),
        }),
    }
}
