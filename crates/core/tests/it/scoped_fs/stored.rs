//! `ScopedFs` over files that are kept in memory: the same judgements, and no file of this machine.

use std::io;
use std::path::Path;
use std::sync::Arc;

use ringfence::policy::{Capabilities, Personality, resolve_capabilities};
use ringfence::{
    Access, Backends, DirEntry, Existing, FileKind, FileStorage, FsError, HostFiles, LastLink, MemoryFiles,
    Metadata, Opening, Registry, ScopedFs, tool,
};
use serde_json::{Value, json};

use crate::it::stage::{Stage, code, personality};

fn files() -> Arc<MemoryFiles> {
    let files = MemoryFiles::new()
        .with_file("/srv/in/a.txt", "one")
        .with_file("/srv/in/sub/b.txt", "two")
        .with_file("/srv/secret", "hunter2")
        .with_dir("/srv/out");
    Arc::new(files)
}

fn scoped(storage: Arc<dyn FileStorage>) -> ScopedFs {
    let own: Capabilities =
        serde_json::from_value(json!({"fs_reach": {"read": ["/srv/in", "/srv/out"], "write": ["/srv/out"]}}))
            .unwrap();
    let ceiling: Personality =
        serde_json::from_value(json!({"fs_reach": {"read": ["/srv"], "write": ["/srv/out"]}})).unwrap();
    let grant = resolve_capabilities(&own, &ceiling).unwrap();
    ScopedFs::new(&HostFiles::in_storage(storage), grant.fs.unwrap(), Some("/srv/out".into()))
}

fn is_refused<T>(done: Result<T, FsError>) -> bool {
    done.is_err_and(|error| matches!(error, FsError::Refused(_)))
}

#[test]
fn every_operation_works_on_the_storage() {
    let files = files();
    let fs = scoped(Arc::clone(&files) as _);
    assert_eq!(fs.read("/srv/in/a.txt").unwrap(), "one");
    assert_eq!(
        fs.list("/srv/in").unwrap(),
        [DirEntry::new("a.txt", FileKind::File), DirEntry::new("sub", FileKind::Directory)]
    );
    assert_eq!(fs.metadata("/srv/in/a.txt").unwrap().len, 3);
    assert!(fs.exists("/srv/in/sub/b.txt").unwrap() && !fs.exists("/srv/in/none").unwrap());
    fs.write("new.txt", "relative").unwrap();
    fs.append("/srv/out/new.txt", " and more").unwrap();
    assert_eq!(files.content("/srv/out/new.txt").unwrap(), b"relative and more");
    assert_eq!(fs.copy("/srv/in/a.txt", "copy").unwrap(), 3);
    fs.create_dir_all("/srv/out/x/y").unwrap();
    fs.rename("copy", "x/y/copy", Existing::Keep).unwrap();
    assert_eq!(files.content("/srv/out/x/y/copy").unwrap(), b"one");
    assert!(fs.remove("x").is_err() && fs.remove_file("x").is_err());
    fs.remove_all("x").unwrap();
    fs.remove("new.txt").unwrap();
    assert_eq!(fs.list("/srv/out").unwrap(), []);
    for (access, path) in
        [(Access::Read, "/srv/in/a.txt"), (Access::Write, "fresh"), (Access::List, "/srv/in")]
    {
        fs.check(access, path).unwrap();
    }
    assert!(fs.check(Access::Write, "none/fresh").is_err());
}

#[test]
fn what_is_not_granted_is_refused_and_changes_nothing() {
    let files = files();
    let fs = scoped(Arc::clone(&files) as _);
    for path in ["/srv/secret", "/srv/in/../secret", "../secret", "/etc/passwd", "/srv"] {
        assert!(is_refused(fs.read(path)), "{path}");
        assert!(
            is_refused(fs.list(path)) && is_refused(fs.exists(path)) && is_refused(fs.metadata(path)),
            "{path}"
        );
        assert!(is_refused(fs.check(Access::Read, path)), "{path}");
    }
    for path in ["/srv/in/a.txt", "/srv/secret", "/srv/new"] {
        assert!(is_refused(fs.write(path, "x")) && is_refused(fs.append(path, "x")), "{path}");
        assert!(is_refused(fs.remove(path)) && is_refused(fs.create_dir(path)), "{path}");
        assert!(is_refused(fs.copy("/srv/in/a.txt", path)), "{path}");
        assert!(is_refused(fs.rename(path, "/srv/out/y", Existing::Replace)), "{path}");
    }
    assert!(is_refused(fs.copy("/srv/secret", "/srv/out/y")));
    assert!(is_refused(fs.remove_all("/srv/in")) && is_refused(fs.remove_all("/srv/out")), "a root stays");
    assert_eq!(files.content("/srv/in/a.txt").unwrap(), b"one");
    assert_eq!(files.content("/srv/secret").unwrap(), b"hunter2");
}

#[test]
fn a_handle_of_the_machine_is_not_given() {
    let fs = scoped(files());
    for done in [
        fs.open("/srv/in/a.txt", Opening::default()).err(),
        fs.open_dir("/srv/in").err(),
        fs.open_name("/srv/in/a.txt", LastLink::Follow).err(),
        fs.read_link("/srv/in/a.txt").err(),
    ] {
        assert!(
            matches!(&done, Some(FsError::Io { source, .. }) if source.kind() == io::ErrorKind::Unsupported),
            "{done:?}"
        );
    }
    assert!(is_refused(fs.open("/srv/secret", Opening::default())));
}

#[test]
fn limits_and_kinds_hold() {
    let fs = scoped(files()).read_limit(2);
    assert!(matches!(fs.read("/srv/in/a.txt"), Err(FsError::TooLarge { .. })));
    assert!(matches!(fs.read("/srv/in/sub"), Err(FsError::WrongKind { .. })));
    assert!(matches!(fs.write("/srv/out", "x"), Err(FsError::WrongKind { .. })));
    assert!(matches!(fs.list("/srv/in/a.txt"), Err(FsError::WrongKind { .. })));
}

/// A storage whose disk is full, which no machine of a test can be made to be.
#[derive(Debug)]
struct Full(Arc<MemoryFiles>);

impl FileStorage for Full {
    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.0.metadata(path)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.0.read(path)
    }

    fn write(&self, _: &Path, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.0.list(path)
    }

    fn create_dir(&self, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path, existing: Existing) -> io::Result<()> {
        self.0.rename(from, to, existing)
    }
}

#[tokio::test]
async fn a_test_fakes_what_a_machine_does_not_do() {
    let ceiling = personality(json!({"fs_reach": {"write": ["/srv/out"]}}));
    let stage = Stage::of(
        Registry::builder()
            .personality(ceiling)
            .backends(Backends::none().file_storage(Arc::new(Full(files())))),
    )
    .with(
        tool("save")
            .write(["/srv/out"])
            .input_schema(json!({"type": "string"}))
            .output_schema(json!({"type": "string"}))
            .run(|path: Value, context| async move {
                context.fs()?.write(path.as_str().unwrap(), "x")?;
                Ok(json!("saved"))
            })
            .unwrap(),
    );
    let report = stage.call("save", json!("/srv/out/a")).await;
    assert!(report.outcome.error().unwrap().contains("no storage space"), "{report:?}");
    assert_eq!(code(&stage.call("save", json!("/srv/in/a")).await), "PATH_NOT_REACHABLE");
    let record = serde_json::to_string(&stage.last()).unwrap();
    assert!(record.contains("/srv/in/a"), "{record}");
}
