//! Which directories and files a guest holds.
//!
//! INVARIANT: a descriptor that is in `directories` is a path, and its handle is the end of a pipe; every other
//! descriptor is a file that `ScopedFs` opened. No more files are open than the limit says, streams counted.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use ringfence::{Context, FsError, ScopedFs};
use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::filesystem::{
    Descriptor, Dir, File as WasiFile, WasiFilesystemCtx, WasiFilesystemCtxView,
};
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{FsError as WasiError, FsResult};
use wasmtime_wasi::{FsPerms, OpenMode};

use super::error::code;
use super::path::{Asked, join};
use super::preopen::roots;
use crate::state::{Refusals, State};

/// The files of one instance.
pub(crate) struct Files {
    context: Option<Context>,
    limit: u32,
    pub(super) refused: Refusals,
    /// Made when it is first needed.
    scoped: Option<Arc<ScopedFs>>,
    directories: HashMap<u32, PathBuf>,
    /// The directories whose entries are being read, by the number of the stream.
    pub(super) listings: HashMap<u32, PathBuf>,
    open: Vec<Weak<File>>,
    end: Option<Dir>,
    /// What wasmtime's own implementation keeps: nothing, for it opens nothing.
    wasi: WasiFilesystemCtx,
}

/// Names [`View`] to the linker.
pub(crate) struct HasFiles;

impl HasData for HasFiles {
    type Data<'a> = View<'a>;
}

/// The files of an instance, with its resources.
pub(crate) struct View<'a> {
    pub(super) files: &'a mut Files,
    pub(super) table: &'a mut ResourceTable,
}

impl Files {
    pub(crate) fn new(context: Option<Context>, limit: u32, refused: Refusals) -> Self {
        Self {
            context,
            limit,
            refused,
            scoped: None,
            directories: HashMap::new(),
            listings: HashMap::new(),
            open: Vec::new(),
            end: None,
            wasi: WasiFilesystemCtx::default(),
        }
    }

    /// Returns the handle of the call.
    fn scoped(&mut self) -> Result<Arc<ScopedFs>, ErrorCode> {
        if let Some(scoped) = &self.scoped {
            return Ok(Arc::clone(scoped));
        }
        let context = self.context.as_ref().ok_or(ErrorCode::NotPermitted)?;
        let scoped = context.fs().map(Arc::new).map_err(|refusal| {
            self.refused.note(&refusal);
            ErrorCode::NotPermitted
        })?;
        Ok(Arc::clone(self.scoped.insert(scoped)))
    }

    /// Returns a path as `ScopedFs` takes it: below a jail, relative to it.
    fn named(&self, path: PathBuf) -> PathBuf {
        let grant = self.context.as_ref().and_then(|context| context.grant().fs.as_ref());
        let Some(jail) = grant.and_then(|grant| grant.jail()) else { return path };
        match path.strip_prefix(jail) {
            Ok(rest) if rest.as_os_str().is_empty() => PathBuf::from("."),
            Ok(rest) => rest.to_path_buf(),
            Err(_) => path,
        }
    }

    /// Returns a handle on which no file operation succeeds.
    fn end(&mut self) -> FsResult<Dir> {
        if let Some(end) = &self.end {
            return Ok(end.clone());
        }
        let (end, _) = std::io::pipe()?;
        let end = Dir::new(File::from(OwnedFd::from(end)), FsPerms::ReadOnly, OpenMode::READ, false);
        Ok(self.end.insert(end).clone())
    }
}

impl State {
    /// Returns the files of the instance.
    pub(crate) fn files(&mut self) -> View<'_> {
        View { files: &mut self.files, table: &mut self.table }
    }
}

impl View<'_> {
    /// Returns wasmtime's own implementation, for operations on what is open.
    pub(super) fn inner(&mut self) -> WasiFilesystemCtxView<'_> {
        WasiFilesystemCtxView { ctx: &mut self.files.wasi, table: self.table }
    }

    /// Returns the directories that a guest holds from the start.
    pub(super) fn preopens(&mut self) -> FsResult<Vec<(Resource<Descriptor>, String)>> {
        let granted = self.files.context.as_ref().and_then(|context| context.grant().fs.as_ref());
        let roots = granted.map(roots).unwrap_or_default();
        let mut held = Vec::with_capacity(roots.len());
        for root in roots {
            let name = root.to_string_lossy().into_owned();
            held.push((self.hold(root)?, name));
        }
        Ok(held)
    }

    /// Gives a directory to the guest.
    pub(super) fn hold(&mut self, path: PathBuf) -> FsResult<Resource<Descriptor>> {
        let held = self.table.push(Descriptor::Dir(self.files.end()?))?;
        self.files.directories.insert(held.rep(), path);
        Ok(held)
    }

    /// Gives a file to the guest, where it may have another one.
    pub(super) fn keep(
        &mut self,
        file: File,
        perms: FsPerms,
        mode: OpenMode,
    ) -> FsResult<Resource<Descriptor>> {
        let file = WasiFile::new(file, perms, mode, false);
        self.files.open.retain(|open| open.strong_count() > 0);
        self.files.open.push(Arc::downgrade(&file.file));
        Ok(self.table.push(Descriptor::File(file))?)
    }

    /// Refuses to open another file where the limit is reached.
    pub(super) fn room(&mut self) -> Result<(), ErrorCode> {
        self.files.open.retain(|open| open.strong_count() > 0);
        let open = u32::try_from(self.files.open.len()).unwrap_or(u32::MAX);
        if open < self.files.limit { Ok(()) } else { Err(ErrorCode::InsufficientMemory) }
    }

    /// Returns the path of a directory that the guest holds; nothing where it is a file.
    pub(super) fn directory(&self, held: &Resource<Descriptor>) -> Option<&Path> {
        self.files.directories.get(&held.rep()).map(PathBuf::as_path)
    }

    /// Forgets a descriptor.
    pub(super) fn forget(&mut self, held: Resource<Descriptor>) -> wasmtime::Result<()> {
        self.files.directories.remove(&held.rep());
        self.table.delete(held)?;
        Ok(())
    }

    /// Returns the whole path that is meant by one that is relative to a directory of the guest.
    pub(super) fn asked(&self, held: &Resource<Descriptor>, path: &str) -> FsResult<Asked> {
        // A descriptor that the guest does not have is its end, not an answer.
        self.table.get(held)?;
        let base = self.directory(held).ok_or(ErrorCode::NotDirectory)?;
        Ok(join(base, path)?)
    }

    /// Says whether a whole path is granted for reading, by its name alone.
    pub(super) fn may_read(&self, path: &Path) -> bool {
        let grant = self.files.context.as_ref().and_then(|context| context.grant().fs.as_ref());
        grant.is_some_and(|grant| grant.judge(path, ringfence::policy::Direction::Read).is_ok())
    }

    /// Has `ScopedFs` do something with a whole path, on a thread that may wait.
    pub(super) async fn scoped<T: Send + 'static>(
        &mut self,
        path: PathBuf,
        act: impl FnOnce(&ScopedFs, &Path) -> Result<T, FsError> + Send + 'static,
    ) -> FsResult<T> {
        let scoped = self.files.scoped()?;
        let path = self.files.named(path);
        let done = tokio::task::spawn_blocking(move || act(&scoped, &path)).await;
        match done {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(code(&error, &self.files.refused).into()),
            Err(_) => Err(WasiError::from(ErrorCode::Io)),
        }
    }

    /// The same for two paths.
    pub(super) async fn scoped_both<T: Send + 'static>(
        &mut self,
        (one, other): (PathBuf, PathBuf),
        act: impl FnOnce(&ScopedFs, &Path, &Path) -> Result<T, FsError> + Send + 'static,
    ) -> FsResult<T> {
        let other = self.files.named(other);
        self.scoped(one, move |files, one| act(files, one, &other)).await
    }
}
