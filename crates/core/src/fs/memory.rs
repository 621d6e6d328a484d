//! Files in memory, for tests of tools.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::list::DirEntry;
use super::metadata::{FileKind, Metadata};
use super::rename::Existing;
use super::storage::FileStorage;

/// Files in memory. `/` is there from the start.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use ringfence::{Backends, Call, MemoryFiles, Registry, Run, tool};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let files = Arc::new(MemoryFiles::new().with_file("/srv/notes/a.txt", "one\ntwo"));
/// let registry = Registry::builder()
///     .personality(serde_json::from_str(r#"{"fs_reach": {"read": ["/srv/notes"]}}"#)?)
///     .backends(Backends::none().file_storage(files))
///     .build();
/// registry.register(
///     tool("lines")
///         .read(["/srv/notes"])
///         .input::<String>()
///         .output::<usize>()
///         .run(|path, context| async move { Ok(context.fs()?.read(&path)?.lines().count()) })?,
/// )?;
/// let report = registry.call(&Run::new("r", "s"), Call::new("lines", json!("/srv/notes/a.txt"))).await;
/// assert_eq!(report.outcome.value(), Some("2"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryFiles(Mutex<BTreeMap<PathBuf, Node>>);

#[derive(Clone, Debug)]
enum Node {
    Directory,
    File(Vec<u8>),
}

impl Node {
    const fn kind(&self) -> FileKind {
        match self {
            Self::Directory => FileKind::Directory,
            Self::File(_) => FileKind::File,
        }
    }
}

impl MemoryFiles {
    /// Starts with `/` alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file, and the directories above it.
    #[must_use]
    pub fn with_file(self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>) -> Self {
        let path = path.as_ref();
        let this = match path.parent() {
            Some(parent) => self.with_dir(parent),
            None => self,
        };
        this.nodes().insert(path.to_path_buf(), Node::File(content.into()));
        this
    }

    /// Adds a directory, and those above it.
    #[must_use]
    pub fn with_dir(self, path: impl AsRef<Path>) -> Self {
        for above in path.as_ref().ancestors().filter(|above| above.parent().is_some()) {
            self.nodes().insert(above.to_path_buf(), Node::Directory);
        }
        self
    }

    /// Returns the content of a file, for a test to look at.
    pub fn content(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        match self.nodes().get(path.as_ref())? {
            Node::Directory => None,
            Node::File(content) => Some(content.clone()),
        }
    }

    fn nodes(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Node>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn node<'n>(nodes: &'n BTreeMap<PathBuf, Node>, path: &Path) -> io::Result<&'n Node> {
    if path.parent().is_none() {
        return Ok(&Node::Directory);
    }
    nodes.get(path).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Checks that the directory a path is in is there.
fn check_parent(nodes: &BTreeMap<PathBuf, Node>, path: &Path) -> io::Result<()> {
    let parent = path.parent().ok_or(io::ErrorKind::AlreadyExists)?;
    match node(nodes, parent)? {
        Node::Directory => Ok(()),
        Node::File(_) => Err(io::ErrorKind::NotADirectory.into()),
    }
}

/// Returns the paths below a directory, at any depth.
fn below(nodes: &BTreeMap<PathBuf, Node>, path: &Path) -> Vec<PathBuf> {
    nodes.keys().filter(|other| other.as_path() != path && other.starts_with(path)).cloned().collect()
}

impl FileStorage for MemoryFiles {
    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let nodes = self.nodes();
        let found = node(&nodes, path)?;
        let len = match found {
            Node::Directory => 0,
            Node::File(content) => content.len() as u64,
        };
        Ok(Metadata::new(found.kind(), len))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match node(&self.nodes(), path)? {
            Node::Directory => Err(io::ErrorKind::IsADirectory.into()),
            Node::File(content) => Ok(content.clone()),
        }
    }

    fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut nodes = self.nodes();
        check_parent(&nodes, path)?;
        if matches!(nodes.get(path), Some(Node::Directory)) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        nodes.insert(path.to_path_buf(), Node::File(content.to_vec()));
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let nodes = self.nodes();
        if let Node::File(_) = node(&nodes, path)? {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let inside = nodes.iter().filter(|(other, _)| other.parent() == Some(path));
        Ok(inside.filter_map(|(other, node)| Some(DirEntry::new(other.file_name()?, node.kind()))).collect())
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut nodes = self.nodes();
        check_parent(&nodes, path)?;
        if nodes.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        nodes.insert(path.to_path_buf(), Node::Directory);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut nodes = self.nodes();
        node(&nodes, path)?;
        if !below(&nodes, path).is_empty() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        nodes.remove(path);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path, existing: Existing) -> io::Result<()> {
        let mut nodes = self.nodes();
        let kind = node(&nodes, from)?.kind();
        check_parent(&nodes, to)?;
        if to.starts_with(from) {
            return if to == from { Ok(()) } else { Err(io::ErrorKind::InvalidInput.into()) };
        }
        match (nodes.get(to).map(Node::kind), existing) {
            (None, _) => {}
            (Some(_), Existing::Keep) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(FileKind::Directory), Existing::Replace) if kind != FileKind::Directory => {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            (Some(taken), Existing::Replace) => {
                if taken != kind {
                    return Err(io::ErrorKind::NotADirectory.into());
                }
                if !below(&nodes, to).is_empty() {
                    return Err(io::ErrorKind::DirectoryNotEmpty.into());
                }
            }
        }
        for old in below(&nodes, from).into_iter().chain([from.to_path_buf()]) {
            if let (Some(moved), Ok(rest)) = (nodes.remove(&old), old.strip_prefix(from)) {
                // Joining an empty rest would add a slash.
                let new = if rest.as_os_str().is_empty() { to.to_path_buf() } else { to.join(rest) };
                nodes.insert(new, moved);
            }
        }
        Ok(())
    }
}
