//! The plan: everything a launch will do, decided before anything is done.
//!
//! [`Plan::new`] is pure: it joins a [`Spec`] with what was [seen](crate::host) of the machine. The native launcher, the
//! renderers for bwrap, firejail and Seatbelt, and `--print-plan` all read the same plan; none of them decides anything.
//!
//! INVARIANT: a path that is not in [`Plan::root`] does not exist inside.

mod build;
mod check;
mod landlock;
mod layout;
mod seen;

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ringfence_policy::{Assurance, HostShape, Limits, NetworkGrant};
use serde::{Deserialize, Serialize, Serializer};

#[cfg(test)]
pub(crate) use build::tests::example;
#[cfg(target_os = "linux")]
pub(crate) use build::{DEVICES, base};
pub use landlock::{Landlock, Rule};
pub use seen::Seen;
pub(crate) use seen::writable_roots;

use crate::git::Target;
use crate::host::{Identity, Kind, Pin, Sensitive};
use crate::limit::LimitName;
use crate::report::{Quarantined, Unmounted};
use crate::seccomp::Profile;
use crate::spec::Access;

/// What a launch will do.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The program, as it is executed inside.
    pub program: PathBuf,
    /// Its arguments, the first being its name.
    #[serde(serialize_with = "texts")]
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    #[serde(serialize_with = "variables")]
    pub environment: Vec<(OsString, OsString)>,
    /// Its working directory.
    pub directory: PathBuf,
    /// What exists inside beside the base, parents before children.
    pub root: Vec<Entry>,
    /// What every sandbox of this machine holds, parents before children.
    pub base: Vec<Entry>,
    /// The Landlock rules.
    pub landlock: Landlock,
    /// What the seccomp program lets through beyond its base.
    pub seccomp: Profile,
    /// Limits of each process, as `setrlimit` takes them.
    pub process_limits: Vec<ProcessLimit>,
    /// The limits, with defaults filled in.
    pub limits: Limits,
    /// What the network namespace holds.
    pub network: Network,
    /// Whether it gets a terminal of its own.
    pub terminal: bool,
    /// Whether the report says which paths and addresses it named.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recorded: bool,
    /// The image whose programs it runs, by digest; this machine's programs where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// How sure it must be that it is enforced.
    pub assurance: Assurance,
    /// Trees in which new files on the floor are looked for afterwards.
    pub guarded: Vec<PathBuf>,
    /// The trees that were to be granted only where possible, and are not.
    #[serde(skip)]
    pub left_out: Vec<PathBuf>,
    /// Files of writable trees that are read-only because they have names elsewhere.
    #[serde(skip_serializing_if = "SharedFiles::is_empty")]
    pub shared_files: SharedFiles,
    /// What can be neither renamed nor removed though the folder around it is writable.
    #[serde(skip)]
    pub(crate) pins: Vec<Pin>,
    /// Trees in which what is protected may be gone when it is mounted.
    #[serde(skip)]
    pub(crate) passing: Vec<PathBuf>,
    /// What runs that were killed had left in these trees, and was moved aside before this plan was made.
    #[serde(skip)]
    pub recovered: Vec<Quarantined>,
    /// Folders of killed runs that could not be looked at, because they are not mounted.
    #[serde(skip)]
    pub unmounted: Vec<Unmounted>,
    /// The limits that were asked for, without defaults.
    #[serde(skip)]
    pub(crate) asked: Limits,
    #[serde(skip)]
    pub(crate) sensitive: Vec<Sensitive>,
    /// What is kept from change because it has names outside the writable trees.
    #[serde(skip)]
    pub(crate) shared: Vec<Sensitive>,
    /// What git configurations name, which is protected where a command could write it.
    #[serde(skip)]
    pub(crate) pointed: Vec<Target>,
    #[serde(skip)]
    pub(crate) home: Option<PathBuf>,
    /// Paths that were named for writing, so that they are not protected.
    #[serde(skip)]
    pub(crate) named: Vec<PathBuf>,
}

/// Files of writable trees that have names outside them.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct SharedFiles {
    /// How many there are.
    pub count: usize,
    /// The first of them.
    pub first: Vec<PathBuf>,
}

impl SharedFiles {
    /// Tells whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// Something that exists inside.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Entry {
    /// A folder of the root.
    Directory {
        /// Where.
        path: PathBuf,
    },
    /// A file of the root.
    File {
        /// Where.
        path: PathBuf,
        /// What it says.
        content: String,
    },
    /// A symbolic link of the root.
    Link {
        /// Where.
        path: PathBuf,
        /// What it says.
        to: PathBuf,
    },
    /// A path of the machine.
    Bind {
        /// Where, inside as outside.
        path: PathBuf,
        /// What may be done with it; without `execute` it is mounted `noexec`.
        access: Access,
        /// Whether it is a single file.
        file: bool,
        /// Which file it must be.
        #[serde(skip)]
        identity: Identity,
        /// Whether it is there to keep something from change inside a writable folder.
        protected: bool,
    },
    /// A device of the machine.
    Device {
        /// Where, inside as outside.
        path: PathBuf,
    },
    /// A fresh `/proc`, read-only.
    Proc,
    /// Private memory of bounded size, gone afterwards.
    Scratch {
        /// Where.
        path: PathBuf,
        /// How much it holds.
        bytes: u64,
    },
    /// A file of ours on top of one of the machine's.
    Cover {
        /// Where.
        path: PathBuf,
        /// What it says.
        content: String,
    },
    /// Something that is there and can be neither read nor written.
    Hidden {
        /// Where.
        path: PathBuf,
        /// Whether it is a single file.
        file: bool,
    },
}

impl Entry {
    /// Returns where it is, inside.
    pub fn path(&self) -> &Path {
        match self {
            Self::Bind { path, .. }
            | Self::Cover { path, .. }
            | Self::Device { path }
            | Self::Directory { path }
            | Self::File { path, .. }
            | Self::Hidden { path, .. }
            | Self::Link { path, .. }
            | Self::Scratch { path, .. } => path,
            Self::Proc => Path::new("/proc"),
        }
    }
}

/// What the network namespace holds.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Sockets that lead to whoever started the command, and no other way out.
    Gated(Openings),
    /// A loopback interface, and no way out.
    #[default]
    Loopback,
}

/// What a gate has to be asked through.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Openings {
    /// The ports on which connections are taken.
    pub ports: Vec<u16>,
    /// The addresses that are taken for the gate's, beside the range that stands for names.
    pub addresses: Vec<Prefix>,
}

/// A range of addresses.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct Prefix {
    /// Its first address.
    pub address: IpAddr,
    /// How many leading bits are the same.
    pub length: u8,
}

impl Openings {
    /// Returns what a gate for this grant needs.
    pub(crate) fn of(grant: &NetworkGrant) -> Self {
        let mut addresses: Vec<Prefix> =
            grant.hosts().iter().flat_map(|pattern| prefixes(pattern.shape())).collect();
        addresses.sort_unstable();
        addresses.dedup();
        Self { ports: grant.ports().into_iter().collect(), addresses }
    }
}

/// The literal addresses that a pattern may admit. A gate judges each again.
fn prefixes(shape: &HostShape) -> Vec<Prefix> {
    let every = |address: IpAddr| Prefix { address, length: 0 };
    match shape {
        HostShape::Address(address) => {
            let length = if address.is_ipv4() { 32 } else { 128 };
            vec![Prefix { address: *address, length }]
        }
        HostShape::Everything | HostShape::Public => {
            vec![every(Ipv4Addr::UNSPECIFIED.into()), every(Ipv6Addr::UNSPECIFIED.into())]
        }
        HostShape::Range(range) => vec![Prefix { address: range.network(), length: range.prefix_len() }],
        HostShape::Name(_) | HostShape::Subdomains(_) => Vec::new(),
    }
}

/// A limit of one process.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize)]
pub struct ProcessLimit {
    /// What is limited.
    pub resource: Resource,
    /// How much.
    pub value: u64,
}

/// What `setrlimit` can limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Core files, always none: one byte is less than any, and also keeps a program of the machine from being started
    /// for a crash.
    Core,
    /// Seconds of processor time.
    Cpu,
    /// Bytes of data.
    Data,
    /// Bytes of one file.
    FileSize,
    /// Bytes of message queues.
    MessageQueue,
    /// Open files.
    OpenFiles,
    /// Processes of this user in this namespace.
    Processes,
}

impl Plan {
    /// Tells whether something protected may be gone when it is mounted: where a tree was granted only if possible, files come
    /// and go. Anywhere else it could come back unprotected.
    pub(crate) fn may_be_gone(&self, path: &Path) -> bool {
        self.passing.iter().any(|tree| path.starts_with(tree))
    }

    /// Returns the stores that it protects, by the name that a store has where nobody names it.
    pub fn stores(&self) -> impl Iterator<Item = &Path> {
        let files = self.sensitive.iter().filter(|one| one.kind == Kind::File).map(|one| one.path.as_path());
        files.filter(|path| path.file_name().is_some_and(|name| name == "ringfence.db"))
    }

    /// Returns the time after which everything is killed.
    pub fn deadline(&self) -> Option<Duration> {
        self.limits.wall.map(ringfence_policy::Span::duration)
    }

    /// Returns what may be done inside with a path of the machine; nothing where it is not there.
    pub fn access(&self, path: &Path) -> Option<Access> {
        let held = self.base.iter().chain(&self.root).filter(|entry| path.starts_with(entry.path()));
        // The last of the deepest covers what lies above and before it.
        match held.max_by_key(|entry| entry.path().components().count())? {
            Entry::Bind { access, .. } => Some(*access),
            Entry::Proc => Some(Access::READ),
            Entry::Cover { path: own, .. }
            | Entry::Directory { path: own }
            | Entry::File { path: own, .. }
            | Entry::Link { path: own, .. } => (own == path).then_some(Access::READ),
            Entry::Device { path: own } => (own == path).then_some(Access::WRITE),
            Entry::Hidden { .. } | Entry::Scratch { .. } => None,
        }
    }

    /// Says whether a path of the machine is hidden inside a tree that is granted.
    pub fn hides(&self, path: &Path) -> bool {
        let hidden = self.root.iter().filter(|entry| matches!(entry, Entry::Hidden { .. }));
        hidden.into_iter().any(|entry| path.starts_with(entry.path()))
    }

    /// Says whether a program of the machine may be started inside.
    pub fn may_start(&self, program: &Path) -> bool {
        let real = program.canonicalize().unwrap_or_else(|_| program.to_path_buf());
        self.landlock.rules.iter().any(|rule| rule.access.execute && real.starts_with(&rule.path))
    }

    /// Says whether something is limited.
    pub fn is_limited(&self, name: LimitName) -> bool {
        match name {
            LimitName::Cpu => self.limits.cpu.is_some(),
            LimitName::FileSize => self.limits.file_size.is_some(),
            LimitName::Memory => self.limits.memory.is_some(),
            LimitName::OpenFiles => self.limits.open_files.is_some(),
            LimitName::Output => self.limits.output.is_some(),
            LimitName::Processes => self.limits.processes.is_some(),
            LimitName::Scratch => self.limits.scratch.is_some(),
            LimitName::Wall => self.limits.wall.is_some(),
        }
    }

    /// Returns how much output is kept of each stream.
    pub fn output_limit(&self) -> usize {
        self.limits.output.map_or(usize::MAX, |size| usize::try_from(size.bytes()).unwrap_or(usize::MAX))
    }
}

fn texts<S: Serializer>(texts: &[OsString], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(texts.iter().map(|text| text.to_string_lossy()))
}

fn variables<S: Serializer>(variables: &[(OsString, OsString)], serializer: S) -> Result<S::Ok, S::Error> {
    // Values may be secrets; a plan is printed and kept.
    serializer.collect_seq(variables.iter().map(|(name, _)| name.to_string_lossy()))
}
