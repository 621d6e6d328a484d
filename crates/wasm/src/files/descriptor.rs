//! The functions of `wasi:filesystem/types` and `wasi:filesystem/preopens`, one by one.

use ringfence::{Create, Existing, LastLink, OpenMode as ScopedMode, Opening};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode, Filesize, Host,
    HostDescriptor, HostDirectoryEntryStream, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult, ReaddirIterator};
use wasmtime_wasi::{FsPerms, OpenMode};

use super::path::Asked;
use super::table::View;

type Held = Resource<Descriptor>;

/// Returns the same descriptor once more; whoever gave it stays its owner.
fn same(held: &Held) -> Held {
    Resource::new_borrow(held.rep())
}

fn last(flags: PathFlags) -> LastLink {
    if flags.contains(PathFlags::SYMLINK_FOLLOW) { LastLink::Follow } else { LastLink::Itself }
}

impl View<'_> {
    /// Opens a name to look at it, for as long as one question takes.
    async fn look(&mut self, asked: Asked, last: LastLink) -> FsResult<Held> {
        // A path that is spelled as a directory means what a link leads to.
        let last = if asked.is_dir { LastLink::Follow } else { last };
        let file = self.scoped(asked.path, move |files, path| files.open_name(path, last)).await?;
        self.keep(file, FsPerms::ReadOnly, OpenMode::READ)
    }

    /// Returns a descriptor that can be asked what it is: for a directory, its name opened anew.
    async fn looked(&mut self, held: &Held) -> FsResult<(Held, bool)> {
        match self.directory(held).map(|path| Asked { path: path.to_path_buf(), is_dir: true }) {
            Some(asked) => Ok((self.look(asked, LastLink::Follow).await?, true)),
            None => Ok((same(held), false)),
        }
    }

    async fn open_dir(&mut self, asked: Asked, oflags: OpenFlags) -> FsResult<Held> {
        if oflags.intersects(OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE) {
            return Err(ErrorCode::Invalid.into());
        }
        let path = asked.path.clone();
        // Opened to find out that it is one and may be read; the guest holds its path.
        self.scoped(asked.path, |files, path| files.open_dir(path).map(drop)).await?;
        self.hold(path)
    }

    async fn open_file(&mut self, asked: Asked, oflags: OpenFlags, flags: DescriptorFlags) -> FsResult<Held> {
        let (mode, open) =
            match (flags.contains(DescriptorFlags::READ), flags.contains(DescriptorFlags::WRITE)) {
                (true, true) => (ScopedMode::ReadWrite, OpenMode::READ | OpenMode::WRITE),
                (false, true) => (ScopedMode::Write, OpenMode::WRITE),
                (_, false) => (ScopedMode::Read, OpenMode::READ),
            };
        let create = match (oflags.contains(OpenFlags::CREATE), oflags.contains(OpenFlags::EXCLUSIVE)) {
            (true, true) => Create::New,
            (true, false) => Create::Missing,
            (false, _) => Create::Never,
        };
        let opening = Opening { mode, create, truncate: oflags.contains(OpenFlags::TRUNCATE) };
        self.room()?;
        let file = self.scoped(asked.path, move |files, path| files.open(path, opening)).await?;
        let perms = if mode == ScopedMode::Read { FsPerms::ReadOnly } else { FsPerms::ReadWrite };
        self.keep(file, perms, open)
    }
}

impl preopens::Host for View<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Held, String)>> {
        self.preopens().map_err(wasmtime::Error::from)
    }
}

impl Host for View<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        self.inner().filesystem_error_code(error)
    }
}

impl HostDescriptor for View<'_> {
    async fn open_at(
        &mut self,
        held: Held,
        path_flags: PathFlags,
        path: String,
        oflags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Held> {
        let asked = self.asked(&held, &path)?;
        let synchronised = DescriptorFlags::FILE_INTEGRITY_SYNC
            | DescriptorFlags::DATA_INTEGRITY_SYNC
            | DescriptorFlags::REQUESTED_WRITE_SYNC;
        if flags.intersects(synchronised) {
            return Err(ErrorCode::Unsupported.into());
        }
        if last(path_flags) == LastLink::Itself && !asked.is_dir {
            let looked = self.look(asked.clone(), LastLink::Itself).await;
            if let Ok(looked) = looked {
                let kind = self.inner().get_type(same(&looked)).await;
                self.forget(looked).map_err(FsError::trap)?;
                if kind? == DescriptorType::SymbolicLink {
                    return Err(ErrorCode::Loop.into());
                }
            }
        }
        if oflags.contains(OpenFlags::DIRECTORY) || asked.is_dir {
            return self.open_dir(asked, oflags).await;
        }
        let writes = flags.contains(DescriptorFlags::WRITE) || oflags != OpenFlags::empty();
        match self.open_file(asked.clone(), oflags, flags).await {
            Err(error) if !writes && matches!(error.downcast_ref(), Some(ErrorCode::IsDirectory)) => {
                self.open_dir(asked, oflags).await
            }
            opened => opened,
        }
    }

    async fn stat_at(&mut self, held: Held, flags: PathFlags, path: String) -> FsResult<DescriptorStat> {
        let asked = self.asked(&held, &path)?;
        let looked = self.look(asked, last(flags)).await?;
        let stat = self.inner().stat(same(&looked)).await;
        self.forget(looked).map_err(FsError::trap)?;
        stat
    }

    async fn metadata_hash_at(
        &mut self,
        held: Held,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let asked = self.asked(&held, &path)?;
        let looked = self.look(asked, last(flags)).await?;
        let hash = self.inner().metadata_hash(same(&looked)).await;
        self.forget(looked).map_err(FsError::trap)?;
        hash
    }

    async fn create_directory_at(&mut self, held: Held, path: String) -> FsResult<()> {
        let asked = self.asked(&held, &path)?;
        self.scoped(asked.path, |files, path| files.create_dir(path)).await
    }

    async fn remove_directory_at(&mut self, held: Held, path: String) -> FsResult<()> {
        let asked = self.asked(&held, &path)?;
        self.scoped(asked.path, |files, path| files.remove_dir(path)).await
    }

    async fn unlink_file_at(&mut self, held: Held, path: String) -> FsResult<()> {
        let asked = self.asked(&held, &path)?;
        if asked.is_dir {
            return Err(ErrorCode::NotDirectory.into());
        }
        self.scoped(asked.path, |files, path| files.remove_file(path)).await
    }

    async fn rename_at(&mut self, held: Held, old: String, other: Held, new: String) -> FsResult<()> {
        let from = self.asked(&held, &old)?;
        let to = self.asked(&other, &new)?;
        self.scoped_both((from.path, to.path), |files, from, to| files.rename(from, to, Existing::Replace))
            .await
    }

    async fn readlink_at(&mut self, held: Held, path: String) -> FsResult<String> {
        let asked = self.asked(&held, &path)?;
        let target = self.scoped(asked.path, |files, path| files.read_link(path)).await?;
        match target.into_string() {
            // As WASI demands, nobody is told of absolute paths.
            Ok(target) if target.starts_with('/') => Err(ErrorCode::NotPermitted.into()),
            Ok(target) => Ok(target),
            Err(_) => Err(ErrorCode::IllegalByteSequence.into()),
        }
    }

    async fn set_times_at(
        &mut self,
        held: Held,
        flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let flags = flags | PathFlags::SYMLINK_FOLLOW;
        let file = self.open_at(same(&held), flags, path, OpenFlags::empty(), DescriptorFlags::WRITE).await?;
        let set = self.inner().set_times(same(&file), accessed, modified).await;
        self.forget(file).map_err(FsError::trap)?;
        set
    }

    async fn link_at(&mut self, _: Held, _: PathFlags, _: String, _: Held, _: String) -> FsResult<()> {
        Err(ErrorCode::NotPermitted.into())
    }

    async fn symlink_at(&mut self, _: Held, _: String, _: String) -> FsResult<()> {
        Err(ErrorCode::NotPermitted.into())
    }

    async fn read_directory(&mut self, held: Held) -> FsResult<Resource<ReaddirIterator>> {
        let asked = self.asked(&held, ".")?;
        self.room()?;
        let folder = asked.path.clone();
        let file = self.scoped(asked.path, |files, path| files.open_dir(path)).await?;
        // The real directory, for as long as it is read; its entries are listed at once.
        let dir = wasmtime_wasi::filesystem::Dir::new(file, FsPerms::ReadOnly, OpenMode::READ, false);
        let real = self.table.push(Descriptor::Dir(dir))?;
        let entries = self.inner().read_directory(same(&real)).await;
        self.table.delete(real)?;
        let entries = entries?;
        self.files.listings.insert(entries.rep(), folder);
        Ok(entries)
    }

    async fn stat(&mut self, held: Held) -> FsResult<DescriptorStat> {
        let (looked, own) = self.looked(&held).await?;
        let stat = self.inner().stat(same(&looked)).await;
        if own {
            self.forget(looked).map_err(FsError::trap)?;
        }
        stat
    }

    async fn metadata_hash(&mut self, held: Held) -> FsResult<MetadataHashValue> {
        let (looked, own) = self.looked(&held).await?;
        let hash = self.inner().metadata_hash(same(&looked)).await;
        if own {
            self.forget(looked).map_err(FsError::trap)?;
        }
        hash
    }

    async fn is_same_object(&mut self, one: Held, other: Held) -> wasmtime::Result<bool> {
        match (self.directory(&one), self.directory(&other)) {
            (Some(one), Some(other)) => Ok(one == other),
            (None, None) => self.inner().is_same_object(one, other).await,
            (Some(_), None) | (None, Some(_)) => Ok(false),
        }
    }

    async fn get_flags(&mut self, held: Held) -> FsResult<DescriptorFlags> {
        if self.directory(&held).is_some() {
            return Ok(DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY);
        }
        self.inner().get_flags(held).await
    }

    async fn get_type(&mut self, held: Held) -> FsResult<DescriptorType> {
        self.inner().get_type(held).await
    }

    async fn set_times(
        &mut self,
        held: Held,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        if self.directory(&held).is_some() {
            return Err(ErrorCode::NotPermitted.into());
        }
        self.inner().set_times(held, accessed, modified).await
    }

    async fn sync(&mut self, held: Held) -> FsResult<()> {
        if self.directory(&held).is_some() {
            return Ok(());
        }
        self.inner().sync(held).await
    }

    async fn sync_data(&mut self, held: Held) -> FsResult<()> {
        if self.directory(&held).is_some() {
            return Ok(());
        }
        self.inner().sync_data(held).await
    }

    async fn advise(
        &mut self,
        held: Held,
        offset: Filesize,
        length: Filesize,
        advice: Advice,
    ) -> FsResult<()> {
        self.inner().advise(held, offset, length, advice).await
    }

    async fn set_size(&mut self, held: Held, size: Filesize) -> FsResult<()> {
        self.inner().set_size(held, size).await
    }

    async fn read(&mut self, held: Held, length: Filesize, offset: Filesize) -> FsResult<(Vec<u8>, bool)> {
        self.inner().read(held, length, offset).await
    }

    async fn write(&mut self, held: Held, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        self.inner().write(held, bytes, offset).await
    }

    fn read_via_stream(&mut self, held: Held, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        self.inner().read_via_stream(held, offset)
    }

    fn write_via_stream(&mut self, held: Held, offset: Filesize) -> FsResult<Resource<DynOutputStream>> {
        self.inner().write_via_stream(held, offset)
    }

    fn append_via_stream(&mut self, held: Held) -> FsResult<Resource<DynOutputStream>> {
        self.inner().append_via_stream(held)
    }

    fn drop(&mut self, held: Held) -> wasmtime::Result<()> {
        self.forget(held)
    }
}

impl HostDirectoryEntryStream for View<'_> {
    async fn read_directory_entry(
        &mut self,
        entries: Resource<ReaddirIterator>,
    ) -> FsResult<Option<DirectoryEntry>> {
        let number = entries.rep();
        loop {
            let stream = Resource::new_borrow(number);
            let Some(entry) = self.inner().read_directory_entry(stream).await? else { return Ok(None) };
            // The C library of a guest looks at everything that is listed, and gives up where that is refused: what may not be
            // read is left out.
            let path = self.files.listings.get(&number).map(|folder| folder.join(&entry.name));
            if path.is_some_and(|path| self.may_read(&path)) {
                return Ok(Some(entry));
            }
        }
    }

    fn drop(&mut self, entries: Resource<ReaddirIterator>) -> wasmtime::Result<()> {
        self.files.listings.remove(&entries.rep());
        HostDirectoryEntryStream::drop(&mut self.inner(), entries)
    }
}
