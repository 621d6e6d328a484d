//! Handles that a caller reads and writes in its own steps, and the removals that say what they remove.

use std::fs;
use std::io::{Read, Write};

use ringfence::{Create, FsError, HostFiles, LastLink, OpenMode, Opening, ScopedFs};
use ringfence_policy::Jail;

use super::den::{CANARY, Den, Step, hosts};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Op {
    Dir,
    Link,
    NameFollow,
    NameItself,
    New,
    Open,
    OpenBoth,
    OpenWrite,
    RemoveDir,
    RemoveFile,
    Truncate,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    Done,
    Fails,
    Refused,
}

const STEPS: &[Step] = &[
    Step::Dir("den/empty"),
    Step::Fifo("den/fifo"),
    Step::Hard("den/hard", "attic/box.txt"),
    Step::Link("den/in", "one.txt"),
    Step::Link("den/in-dir", "deep"),
    Step::Link("den/out", "{}/wild/canary.txt"),
    Step::Link("den/out-dir", "../wild"),
    Step::Link("den/dangling", "{}/wild/none"),
    Step::Dir("den/.ssh"),
    Step::File("den/.ssh/id_rsa"),
];

#[rustfmt::skip]
const CASES: &[(Op, &str, End)] = &[
    (Op::Open,       "one.txt",              End::Done),
    (Op::Open,       "in",                   End::Done),
    (Op::Open,       "in-dir/two.txt",       End::Done),
    (Op::Open,       "none",                 End::Fails),
    (Op::Open,       "deep",                 End::Fails),
    (Op::Open,       "fifo",                 End::Fails),
    (Op::Open,       "out",                  End::Refused),
    (Op::Open,       "out-dir/canary.txt",   End::Refused),
    (Op::Open,       "../wild/canary.txt",   End::Refused),
    (Op::Open,       "{}/dens",              End::Refused),
    (Op::Open,       ".ssh/id_rsa",          End::Refused),
    (Op::Open,       "/proc/self/environ",   End::Refused),
    (Op::OpenWrite,  "one.txt",              End::Done),
    (Op::OpenWrite,  "in",                   End::Done),
    (Op::OpenWrite,  "none",                 End::Fails),
    (Op::OpenWrite,  "hard",                 End::Fails),
    (Op::OpenWrite,  "fifo",                 End::Fails),
    (Op::OpenWrite,  "deep",                 End::Fails),
    (Op::OpenWrite,  "out",                  End::Refused),
    (Op::OpenBoth,   "one.txt",              End::Done),
    (Op::OpenBoth,   "out",                  End::Refused),
    (Op::New,        "new",                  End::Done),
    (Op::New,        "deep/new",             End::Done),
    (Op::New,        "one.txt",              End::Fails),
    (Op::New,        "none/new",             End::Fails),
    (Op::New,        "dangling",             End::Refused),
    (Op::New,        "out-dir/new",          End::Refused),
    (Op::New,        "../wild/new",          End::Refused),
    (Op::New,        ".git/hooks/pre-commit", End::Refused),
    (Op::Truncate,   "one.txt",              End::Done),
    (Op::Truncate,   "hard",                 End::Fails),
    (Op::Truncate,   "out",                  End::Refused),
    (Op::Dir,        "deep",                 End::Done),
    (Op::Dir,        "in-dir",               End::Done),
    (Op::Dir,        ".",                    End::Done),
    (Op::Dir,        "one.txt",              End::Fails),
    (Op::Dir,        "none",                 End::Fails),
    (Op::Dir,        "out-dir",              End::Refused),
    (Op::Dir,        "..",                   End::Refused),
    (Op::NameFollow, "in",                   End::Done),
    (Op::NameFollow, "fifo",                 End::Done),
    (Op::NameFollow, ".",                    End::Done),
    (Op::NameFollow, "none",                 End::Fails),
    (Op::NameFollow, "out",                  End::Refused),
    (Op::NameItself, "in",                   End::Done),
    (Op::NameItself, "out",                  End::Done),
    (Op::NameItself, ".",                    End::Done),
    (Op::NameItself, "none",                 End::Fails),
    (Op::NameItself, "out-dir/canary.txt",   End::Refused),
    (Op::Link,       "in",                   End::Done),
    (Op::Link,       "one.txt",              End::Fails),
    (Op::Link,       "none",                 End::Fails),
    (Op::Link,       "out-dir/canary.txt",   End::Refused),
    (Op::Link,       "/proc/self/exe",       End::Refused),
    (Op::RemoveDir,  "empty",                End::Done),
    (Op::RemoveDir,  "deep",                 End::Fails),
    (Op::RemoveDir,  "one.txt",              End::Fails),
    (Op::RemoveDir,  "in-dir",               End::Fails),
    (Op::RemoveDir,  "{}/den",               End::Refused),
    (Op::RemoveDir,  "../wild",              End::Refused),
    (Op::RemoveFile, "one.txt",              End::Done),
    (Op::RemoveFile, "out",                  End::Done),
    (Op::RemoveFile, "fifo",                 End::Done),
    (Op::RemoveFile, "empty",                End::Fails),
    (Op::RemoveFile, "none",                 End::Fails),
    (Op::RemoveFile, "out-dir/canary.txt",   End::Refused),
    (Op::RemoveFile, ".ssh/id_rsa",          End::Refused),
];

fn run(files: &ScopedFs, op: Op, path: &str) -> Result<(), FsError> {
    let opening = |mode, create, truncate| Opening { mode, create, truncate };
    match op {
        Op::Dir => files.open_dir(path).map(drop),
        Op::Link => files.read_link(path).map(drop),
        Op::NameFollow => files.open_name(path, LastLink::Follow).map(drop),
        Op::NameItself => files.open_name(path, LastLink::Itself).map(drop),
        Op::New => files.open(path, opening(OpenMode::Write, Create::New, false)).map(drop),
        Op::Open => files.open(path, Opening::default()).map(|mut file| {
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_ne!(text, CANARY, "{path}");
            assert!(file.write_all(b"x").is_err(), "{path}: a handle that reads must not write");
        }),
        Op::OpenBoth => files.open(path, opening(OpenMode::ReadWrite, Create::Never, false)).map(drop),
        Op::OpenWrite => files.open(path, opening(OpenMode::Write, Create::Never, false)).map(|mut file| {
            assert!(file.read(&mut [0]).is_err(), "{path}: a handle that writes must not read");
        }),
        Op::RemoveDir => files.remove_dir(path),
        Op::RemoveFile => files.remove_file(path),
        Op::Truncate => files.open(path, opening(OpenMode::Write, Create::Never, true)).map(drop),
    }
}

#[test]
fn handles_are_for_what_was_judged() {
    for (opener, host) in hosts() {
        for (op, path, expected) in CASES {
            let den = Den::new();
            STEPS.iter().for_each(|step| den.make(step));
            let case = format!("{opener} {op:?} {path}");
            let came = match run(&den.handle(&host), *op, &den.fill(path)) {
                Ok(()) => End::Done,
                Err(FsError::Refused(_)) => End::Refused,
                Err(_) => End::Fails,
            };
            assert_eq!(came, *expected, "{case}");
            den.assert_wild_untouched(&case);
            assert_eq!(fs::read_to_string(den.path("attic/box.txt")).unwrap(), "box", "{case}");
            if *op != Op::Truncate && *op != Op::RemoveFile {
                assert_eq!(fs::read_to_string(den.path("den/one.txt")).unwrap(), "one", "{case}");
            }
        }
    }
}

#[test]
fn a_handle_that_does_both_is_granted_for_both() {
    for (opener, host) in hosts() {
        let den = Den::new();
        let grant = den.grant(&["{}/attic"], &["{}/den"], Jail::None);
        let files = ScopedFs::new(&host, grant, None);
        let open = |path: &str, mode| files.open(den.path(path), Opening { mode, ..Opening::default() });
        assert!(open("den/one.txt", OpenMode::Write).is_ok(), "{opener}");
        assert!(open("attic/box.txt", OpenMode::Read).is_ok(), "{opener}");
        for (path, mode) in [
            ("den/one.txt", OpenMode::Read),
            ("den/one.txt", OpenMode::ReadWrite),
            ("attic/box.txt", OpenMode::Write),
            ("attic/box.txt", OpenMode::ReadWrite),
        ] {
            assert!(matches!(open(path, mode), Err(FsError::Refused(_))), "{opener} {path} {mode:?}");
        }
    }
}

#[test]
fn what_is_only_read_is_neither_made_nor_emptied() {
    let den = Den::new();
    let files = den.handle(&HostFiles::new());
    for opening in [
        Opening { create: Create::Missing, ..Opening::default() },
        Opening { create: Create::New, ..Opening::default() },
        Opening { truncate: true, ..Opening::default() },
    ] {
        assert!(files.open("new", opening).is_err(), "{opening:?}");
        assert!(files.open("one.txt", opening).is_err(), "{opening:?}");
    }
    assert!(!den.path("den").join("new").exists());
    assert_eq!(fs::read_to_string(den.path("den/one.txt")).unwrap(), "one");
}

#[test]
fn a_name_neither_reads_nor_writes() {
    for (opener, host) in hosts() {
        let den = Den::new();
        den.make(&Step::Link("den/out", "{}/wild/canary.txt"));
        let files = den.handle(&host);
        let mut named = files.open_name("one.txt", LastLink::Follow).unwrap();
        assert_eq!(named.metadata().unwrap().len(), 3, "{opener}");
        assert!(named.read(&mut [0]).is_err() && named.write(b"x").is_err(), "{opener}");
        let link = files.open_name("out", LastLink::Itself).unwrap();
        assert!(link.metadata().unwrap().file_type().is_symlink(), "{opener}");
        assert_eq!(files.read_link("out").unwrap(), den.path("wild/canary.txt").as_os_str(), "{opener}");
    }
}
