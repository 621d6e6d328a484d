//! What a caller asks a sandbox for: a command, what it may reach, what it may spend.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ringfence_policy::{Assurance, Direction, Floor, FloorEntry, Grant, Limits, NamePattern, NetworkGrant};

use crate::error::SandboxError;
use crate::plan::{Network, Openings};

/// A command and everything it may reach. Starts with nothing granted.
#[derive(Clone, Debug)]
#[must_use = "a specification does nothing until a sandbox runs it"]
pub struct Spec {
    pub(crate) program: PathBuf,
    pub(crate) name: Option<OsString>,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) wished: Option<PathBuf>,
    pub(crate) environment: BTreeMap<OsString, OsString>,
    pub(crate) trees: Vec<Tree>,
    pub(crate) possible: Vec<Tree>,
    pub(crate) binaries: Vec<PathBuf>,
    pub(crate) any_binary: bool,
    pub(crate) limits: Limits,
    pub(crate) unix_sockets: bool,
    pub(crate) observe: bool,
    pub(crate) record: bool,
    pub(crate) terminal: bool,
    pub(crate) named: NamedPaths,
    pub(crate) skip_missing: bool,
    pub(crate) network: Network,
    pub(crate) service: bool,
    /// Where the command looks for programs first.
    pub(crate) first_folders: Vec<PathBuf>,
    pub(crate) image: Option<String>,
    pub(crate) assurance: Assurance,
    pub(crate) home: Option<PathBuf>,
}

/// A path inside the sandbox with everything below it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tree {
    /// Where it is, inside as outside.
    pub path: PathBuf,
    /// What may be done there.
    pub access: Access,
}

/// What may be done with a tree.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
pub struct Access {
    /// Its files may be read and its folders listed.
    pub read: bool,
    /// Its files may be made, changed and removed.
    pub write: bool,
    /// Its programs may be started and its libraries loaded.
    pub execute: bool,
}

/// A home as the lines of the floor write it.
const USUAL_HOME: &str = "/home/user";

/// Paths that a grant names one by one, which lifts the always-deny floor there: each in the direction it is named for.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedPaths {
    pub(crate) read: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
    /// The user's home: what is protected in `/home/*` is protected here too.
    pub(crate) home: Option<PathBuf>,
}

impl NamedPaths {
    /// Names paths in both directions.
    pub(crate) fn both(paths: &[PathBuf], home: Option<&Path>) -> Self {
        Self { read: paths.to_vec(), write: paths.to_vec(), home: home.map(Path::to_path_buf) }
    }

    fn add(&mut self, path: &Path, access: Access) {
        if access.read || access.execute {
            self.read.push(path.to_path_buf());
        }
        if access.write {
            self.write.push(path.to_path_buf());
        }
    }

    /// Returns the line of the floor that denies a path in this direction.
    pub(crate) fn denies<'a>(
        &self,
        path: &'a Path,
        direction: Direction,
    ) -> Option<(&'static FloorEntry, &'a Path)> {
        let named = match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        };
        let denied = Floor::denies_unless_named(path, direction, &named.iter().map(PathBuf::as_path));
        let Some((home, below)) =
            self.home.as_deref().and_then(|home| Some((home, path.strip_prefix(home).ok()?)))
        else {
            return denied;
        };
        denied.or_else(|| {
            let in_usual_home = |below: &Path| Path::new(USUAL_HOME).join(below);
            let named: Vec<PathBuf> =
                named.iter().filter_map(|named| named.strip_prefix(home).ok()).map(in_usual_home).collect();
            let alias = in_usual_home(below);
            Floor::denies_unless_named(&alias, direction, &named.iter().map(PathBuf::as_path))
                .map(|(line, _)| (line, path))
        })
    }
}

impl Access {
    /// Read.
    pub const READ: Self = Self { read: true, write: false, execute: false };
    /// Read and write.
    pub const WRITE: Self = Self { read: true, write: true, execute: false };
    /// Read and start programs.
    pub const EXECUTE: Self = Self { read: true, write: false, execute: true };

    pub(crate) const fn join(self, other: Self) -> Self {
        Self {
            read: self.read || other.read,
            write: self.write || other.write,
            execute: self.execute || other.execute,
        }
    }
}

impl Spec {
    /// Starts with a program, as an absolute path, and nothing granted: no paths, no environment, no network.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            name: None,
            arguments: Vec::new(),
            directory: None,
            wished: None,
            environment: BTreeMap::new(),
            trees: Vec::new(),
            possible: Vec::new(),
            binaries: Vec::new(),
            any_binary: false,
            limits: Limits::default(),
            unix_sockets: false,
            observe: false,
            record: false,
            terminal: false,
            named: NamedPaths::default(),
            skip_missing: false,
            network: Network::Loopback,
            service: false,
            first_folders: Vec::new(),
            image: None,
            assurance: Assurance::Claimed,
            home: None,
        }
    }

    /// Says which folder is the home of whoever asks: it is never taken for the installation of a program that lies in it.
    pub fn home(mut self, home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        self.named.home = Some(home.clone());
        self.home = Some(home);
        self
    }

    /// Lets it run for as long as it is asked things: time, processor time and output have no default limits.
    pub const fn service(mut self) -> Self {
        self.service = true;
        self
    }

    /// Runs it in an image: the program and everything it starts are those of the image, and only granted paths are this machine's.
    /// The program is a name that is looked up inside. Only a backend for images runs it.
    pub fn in_image(mut self, image: impl Into<String>) -> Self {
        self.image = Some(image.into());
        self
    }

    /// Refuses what is less sure than this to enforce it.
    pub fn assurance(mut self, least: Assurance) -> Self {
        self.assurance = least;
        self
    }

    /// Puts folders first on the search path of the command, in their order. They grant nothing.
    pub fn look_first_in(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.first_folders.extend(folders);
        self
    }

    /// Sets the name it is called by, which is its first argument; its path where none is set.
    pub fn called(mut self, name: impl Into<OsString>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Adds arguments.
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the environment, which is otherwise empty but for `PATH` and `HOME`.
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// Sets the working directory; `/tmp`, the private scratch space, where none is set.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Sets the working directory where none is set otherwise, and where it exists inside for a granted path: it lies in one, or
    /// one lies below it. In the second case it is an empty folder but for what is granted, so that relative paths lead where
    /// they lead outside. In an image, whose folders are its own, only the first counts.
    pub fn directory_if_possible(mut self, directory: impl Into<PathBuf>) -> Self {
        self.wished = Some(directory.into());
        self
    }

    /// Grants a path with everything below it. Naming a path of the always-deny floor itself lifts the floor there, for what it is
    /// named for: a file that is named for reading stays protected from writing.
    pub fn tree(mut self, path: impl Into<PathBuf>, access: Access) -> Self {
        let path = path.into();
        self.named.add(&path, access);
        self.trees.push(Tree { path, access });
        self
    }

    /// Grants a path with everything below it where that can be enforced, and otherwise nothing: the plan says which were left
    /// out. The floor holds there, even at that very path.
    pub fn tree_if_possible(mut self, path: impl Into<PathBuf>, access: Access) -> Self {
        self.possible.push(Tree { path: path.into(), access });
        self
    }

    /// Lets granted paths that do not exist grant nothing, instead of refusing to start.
    pub const fn missing_paths_are_nothing(mut self) -> Self {
        self.skip_missing = true;
        self
    }

    /// Grants a further program, as an absolute path.
    pub fn binary(mut self, program: impl Into<PathBuf>) -> Self {
        self.binaries.push(program.into());
        self
    }

    /// Grants every program that can be reached, and mounts the system's program folders.
    pub fn any_binary(mut self) -> Self {
        self.any_binary = true;
        self
    }

    /// Sets what it may spend. What is absent takes the default of [`default_limits`].
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Lets it open Unix sockets, which reach only what a granted path holds.
    pub const fn unix_sockets(mut self) -> Self {
        self.unix_sockets = true;
        self
    }

    /// Has the report say which system calls were refused. Each refusal then takes longer.
    pub const fn observe(mut self) -> Self {
        self.observe = true;
        self
    }

    /// Has the report say which paths, programs and addresses were named, given or not. Each call that names one takes longer.
    pub const fn record(mut self) -> Self {
        self.record = true;
        self
    }

    /// Gives it a terminal of its own instead of pipes.
    pub const fn terminal(mut self) -> Self {
        self.terminal = true;
        self
    }

    /// Makes the sockets through which a gate is asked for these hosts; whoever runs it is handed them. Replaces what
    /// was set before. A grant of nothing is no network.
    pub fn network(mut self, grant: &NetworkGrant) -> Self {
        self.network = if grant.is_empty() { Network::Loopback } else { Network::Gated(Openings::of(grant)) };
        self
    }

    /// Makes the sockets of a gate even for a grant of nothing, so that what it asks for in vain is seen.
    pub fn gated(mut self, grant: &NetworkGrant) -> Self {
        self.network = Network::Gated(Openings::of(grant));
        self
    }

    /// Adds what a grant admits: hosts, paths and binaries. Binaries are looked up by `find`.
    ///
    /// # Errors
    ///
    /// The grant holds something that no mount can express, or a surface that a process cannot be given here.
    pub fn grant(
        mut self,
        grant: &Grant,
        find: impl Fn(&str) -> Option<PathBuf>,
    ) -> Result<Self, SandboxError> {
        if let Some(network) = &grant.network {
            self = self.network(network);
        }
        if let Some(fs) = &grant.fs {
            for direction in [Direction::Read, Direction::Write] {
                let (roots, wild) = fs.trees(direction);
                if let Some(pattern) = wild.first() {
                    return Err(SandboxError::Inexpressible {
                        what: format!(
                            "the {direction} pattern `{pattern}`: a mount holds whole folders and files"
                        ),
                    });
                }
                let access = match direction {
                    Direction::Read => Access::READ,
                    Direction::Write => Access { read: false, write: true, execute: false },
                };
                for path in fs.named(direction) {
                    self.named.add(path, access);
                }
                self.trees.extend(roots.into_iter().map(|path| Tree { path, access }));
            }
        }
        for pattern in grant.process.iter().flat_map(|binaries| binaries.iter()) {
            match pattern {
                NamePattern::Any => self.any_binary = true,
                NamePattern::Exact(name) => self.binaries.extend(find(name)),
                NamePattern::Below(_) => {}
            }
        }
        Ok(self)
    }

    /// Returns the program.
    pub fn program(&self) -> &Path {
        &self.program
    }
}

/// What a process may spend where nothing else was said.
pub fn default_limits() -> Limits {
    use ringfence_policy::{Size, Span};
    use std::time::Duration;
    const MEBI: u64 = 1 << 20;
    Limits {
        wall: Some(Span::new(Duration::from_secs(30))),
        cpu: Some(Span::new(Duration::from_secs(30))),
        memory: Some(Size::new(1024 * MEBI)),
        processes: Some(256),
        open_files: Some(1024),
        file_size: Some(Size::new(256 * MEBI)),
        output: Some(Size::new(MEBI)),
        scratch: Some(Size::new(64 * MEBI)),
        ..Limits::default()
    }
}
