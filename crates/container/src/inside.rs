//! What a container has at the granted paths, compared with what was granted, before anything of the command runs.
//!
//! An engine takes names, and whoever can write next to a granted folder can exchange it for a link while the engine looks. Mounts do not
//! change with names any more, so that the container's own are looked at once they are made.
//!
//! INVARIANT: a command starts only after every granted path, and everything hidden below one, was seen in its container to be what the
//! plan says.

use std::os::fd::OwnedFd;
use std::path::Path;

use hyper::Method;
use ringfence_sandbox::{Entry, Identity, Plan, SandboxError, Step};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, StatxAttributes, StatxFlags, fstat, fstatfs, major,
    minor, open, openat, openat2, statx,
};
use rustix::io::Errno;
use serde::Deserialize;

use crate::error::ContainerError;
use crate::guard::Guard;

/// What the kernel calls a file system in memory.
const MEMORY: i64 = 0x0102_1994;
/// The number of `/dev/null`.
const NULL: (u32, u32) = (1, 3);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Inspected {
    state: State,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct State {
    #[serde(default)]
    pid: i32,
}

/// The granted files, held so that no other file gets the number of one of them meanwhile.
#[derive(Debug)]
pub(crate) struct Held {
    _files: Vec<OwnedFd>,
}

impl Held {
    /// Opens every granted path, and compares it with the file it was when the plan was made.
    pub(crate) fn new(plan: &Plan) -> Result<Self, SandboxError> {
        let mut files = Vec::new();
        for entry in &plan.root {
            if let Entry::Bind { path, identity, .. } = entry {
                let file =
                    openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
                let file = file.map_err(|error| changed(path, error.into()))?;
                is_same(&file, *identity).map_err(|error| changed(path, error))?;
                files.push(file);
            }
        }
        Ok(Self { _files: files })
    }
}

/// Looks into a container that is made and has not begun. Podman mounts everything when it is attached to; an engine that has not done so
/// by then has no process to look at, and is refused.
pub(crate) async fn compare(plan: &Plan, guard: &Guard) -> Result<(), SandboxError> {
    let is_checked = |entry: &&Entry| matches!(entry, Entry::Bind { .. } | Entry::Hidden { .. });
    let mut entries = plan.root.iter().filter(is_checked).peekable();
    if entries.peek().is_none() {
        return Ok(());
    }
    let failed = |error: ContainerError| error.into_sandbox(&plan.program);
    let place = "asking which process the container is";
    let found: Inspected =
        guard.client().ask(guard.question(place, Method::GET, "/json")).await.map_err(failed)?;
    let process = Some(found.state.pid).filter(|process| *process > 0);
    let process = process.ok_or_else(|| {
        failed(ContainerError::Garbled { place, why: "it has none before it is started".into() })
    })?;
    // The engine has read the profile from a path of this process, so that a number means the same process here and there.
    let root = open(
        format!("/proc/{process}/root"),
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    );
    let here =
        |error: Errno| ContainerError::Here { place: "looking into the container", error: error.into() };
    let root = root.map_err(|error| failed(here(error)))?;
    entries.try_for_each(|entry| is_mounted(&root, entry).map_err(|error| changed(entry.path(), error)))
}

fn is_mounted(root: &OwnedFd, entry: &Entry) -> std::io::Result<()> {
    let relative = entry.path().strip_prefix("/").unwrap_or_else(|_| entry.path());
    // A link in the image would lead the engine to another place than the one that is named.
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS;
    let found = match openat2(root, relative, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve) {
        Err(Errno::LOOP) => return Err(std::io::Error::other("the image has a link on the way")),
        found => found?,
    };
    match entry {
        Entry::Bind { identity, .. } => is_same(&found, *identity),
        Entry::Hidden { file, .. } => is_hidden(&found, *file),
        _ => Ok(()),
    }
}

fn is_same(file: &OwnedFd, identity: Identity) -> std::io::Result<()> {
    let found = fstat(file)?;
    if found.st_dev == identity.device && found.st_ino == identity.inode {
        return Ok(());
    }
    Err(std::io::Error::other("it is another file than before"))
}

fn is_hidden(found: &OwnedFd, file: bool) -> std::io::Result<()> {
    let seen = fstat(found)?;
    let kind = FileType::from_raw_mode(seen.st_mode);
    let is_hidden = if file {
        kind == FileType::CharacterDevice && (major(seen.st_rdev), minor(seen.st_rdev)) == NULL
    } else {
        kind == FileType::Directory
            && fstatfs(found)?.f_type == MEMORY
            // Memory that was mounted right there, and not a folder of a granted tree in memory. The engine makes its mode its own.
            && statx(found, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?
                .stx_attributes
                .contains(StatxAttributes::MOUNT_ROOT)
    };
    if is_hidden { Ok(()) } else { Err(std::io::Error::other("the engine has not hidden it")) }
}

fn changed(path: &Path, error: std::io::Error) -> SandboxError {
    SandboxError::Step { step: Step::Changed, path: Some(path.to_path_buf()), error }
}
