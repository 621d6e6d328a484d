//! The table: every kind of path a tool may ask for, and what becomes of it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use ringfence::{Access, Existing, FsError, ScopedFs};
use ringfence_policy::{Code, Jail};

use super::den::{CANARY, Den, Step, hosts};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Op {
    Append,
    CopyFrom,
    CopyTo,
    Exists,
    List,
    MakeDir,
    MakeDirs,
    Metadata,
    Read,
    Remove,
    RemoveAll,
    RenameFrom,
    RenameTo,
    Write,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    /// Done.
    Done,
    /// An error that is no refusal.
    Fails,
    /// `PATH_NOT_REACHABLE`.
    Refused,
}

use End::{Done, Fails, Refused};
use Op::*;
use Step::{Dir, Fifo, File, Hard, Link, Named, Socket};

struct Case {
    op: Op,
    path: &'static [u8],
    end: End,
    read: &'static [&'static str],
    write: &'static [&'static str],
    jail: bool,
    steps: &'static [Step],
}

const DEN: &[&str] = &["{}/den"];
const NOTHING: &[&str] = &[];

/// A case on the den, reading and writing granted.
const fn den(op: Op, path: &'static str, end: End, steps: &'static [Step]) -> Case {
    Case { op, path: path.as_bytes(), end, read: DEN, write: DEN, jail: false, steps }
}

const fn raw(op: Op, path: &'static [u8], end: End, steps: &'static [Step]) -> Case {
    Case { op, path, end, read: DEN, write: DEN, jail: false, steps }
}

const fn jail(op: Op, path: &'static str, end: End, steps: &'static [Step]) -> Case {
    Case { op, path: path.as_bytes(), end, read: DEN, write: DEN, jail: true, steps }
}

const fn on(
    read: &'static [&'static str],
    write: &'static [&'static str],
    op: Op,
    path: &'static str,
    end: End,
    steps: &'static [Step],
) -> Case {
    Case { op, path: path.as_bytes(), end, read, write, jail: false, steps }
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    // Plain.
    den(Read,       "{}/den/one.txt",               Done,    &[]),
    den(Read,       "{}/den/deep/two.txt",          Done,    &[]),
    den(Read,       "one.txt",                      Done,    &[]),
    den(Read,       "./deep//two.txt",              Done,    &[]),
    den(Read,       "{}/den/none.txt",              Fails,   &[]),
    den(Read,       "{}/den/one.txt/x",             Fails,   &[]),
    den(List,       "{}/den",                       Done,    &[]),
    den(List,       "{}/den/deep/",                 Done,    &[]),
    den(List,       "{}/den/one.txt",               Fails,   &[]),
    den(List,       "{}/den/none",                  Fails,   &[]),
    den(Exists,     "{}/den/none",                  Done,    &[]),
    den(Exists,     "{}/den/one.txt",               Done,    &[]),
    den(Metadata,   "{}/den",                       Done,    &[]),
    den(Write,      "{}/den/new.txt",               Done,    &[]),
    den(Write,      "{}/den/one.txt",               Done,    &[]),
    den(Write,      "{}/den/none/new.txt",          Fails,   &[]),
    den(Append,     "{}/den/one.txt",               Done,    &[]),
    den(Append,     "{}/den/new.txt",               Done,    &[]),
    den(MakeDir,    "{}/den/new",                   Done,    &[]),
    den(MakeDir,    "{}/den/deep",                  Fails,   &[]),
    den(MakeDir,    "{}/den/a/b",                   Fails,   &[]),
    den(MakeDirs,   "{}/den/a/b/c",                 Done,    &[]),
    den(MakeDirs,   "{}/den/deep",                  Done,    &[]),
    den(MakeDirs,   "{}/den/one.txt",               Fails,   &[]),
    den(MakeDirs,   "{}/den/one.txt/x",             Fails,   &[]),
    den(Remove,     "{}/den/one.txt",               Done,    &[]),
    den(Remove,     "{}/den/deep",                  Fails,   &[]),
    den(Remove,     "{}/den/empty",                 Done,    &[Dir("den/empty")]),
    den(Remove,     "{}/den",                       Refused, &[]),
    den(RemoveAll,  "{}/den/deep",                  Done,    &[]),
    den(RemoveAll,  "{}/den/one.txt",               Fails,   &[]),
    den(RemoveAll,  "{}/den",                       Refused, &[]),
    den(RenameFrom, "{}/den/one.txt",               Done,    &[]),
    den(RenameFrom, "{}/den",                       Refused, &[]),
    den(RenameTo,   "{}/den/deep/moved",            Done,    &[]),
    den(CopyFrom,   "{}/den/one.txt",               Done,    &[]),
    den(CopyTo,     "{}/den/deep/copy",             Done,    &[]),
    // String prefixes are no parents.
    den(Read,       "{}/den-next/canary.txt",       Refused, &[]),
    den(Read,       "{}/dens",                      Refused, &[]),
    den(Write,      "{}/den-next/new",              Refused, &[]),
    den(List,       "{}",                           Refused, &[]),
    on(&["{}/den/"], NOTHING, Read,  "{}/den/one.txt",      Done,    &[]),
    on(NOTHING, DEN,          Read,  "{}/den/one.txt",      Refused, &[]),
    on(NOTHING, DEN,          CopyFrom, "{}/den/one.txt",   Refused, &[]),
    on(DEN, NOTHING,          Write, "{}/den/one.txt",      Refused, &[]),
    on(DEN, NOTHING,          Remove, "{}/den/one.txt",     Refused, &[]),
    on(NOTHING, NOTHING,      Exists, "{}/den/one.txt",     Refused, &[]),
    on(&["{}/den/one.txt"], NOTHING, Read, "{}/den/one.txt", Done,   &[]),
    on(&["{}/den/one.txt"], NOTHING, Read, "{}/den/deep/two.txt", Refused, &[]),
    on(NOTHING, &["{}/den/new.txt"], Write, "{}/den/new.txt", Done,  &[]),
    // Dots.
    den(Read,       "{}/den/deep/../one.txt",       Done,    &[]),
    den(Read,       "{}/den/../wild/canary.txt",    Refused, &[]),
    den(Read,       "../wild/canary.txt",           Refused, &[]),
    den(Read,       "{}/den/one.txt/../../wild/canary.txt", Refused, &[]),
    den(List,       "{}/den/..",                    Refused, &[]),
    den(Read,       "{}/den/...",                   Fails,   &[]),
    den(Read,       "{}/den/%2e%2e/wild/canary.txt", Fails,  &[]),
    den(Write,      "{}/den/deep/../../wild/new",   Refused, &[]),
    den(Read,       "/../../../../../../etc/passwd", Refused, &[]),
    // Absolute and elsewhere.
    den(Read,       "/etc/passwd",                  Refused, &[]),
    den(Read,       "/proc/self/environ",           Refused, &[]),
    den(Read,       "/proc/self/cwd/Cargo.toml",    Refused, &[]),
    den(Read,       "/dev/stdin",                   Refused, &[]),
    den(Read,       "file:///etc/passwd",           Fails,   &[]),
    den(Read,       "~/one.txt",                    Fails,   &[]),
    den(Read,       "${home}/x",                    Fails,   &[]),
    den(Read,       r"C:\Windows\win.ini",          Fails,   &[]),
    // A jail.
    jail(Read,      "one.txt",                      Done,    &[]),
    jail(Read,      "deep/./two.txt",               Done,    &[]),
    jail(List,      ".",                            Done,    &[]),
    jail(Write,     "new.txt",                      Done,    &[]),
    jail(Read,      "/one.txt",                     Refused, &[]),
    jail(Read,      "{}/den/one.txt",               Refused, &[]),
    jail(Read,      "deep/../one.txt",              Refused, &[]),
    jail(Read,      "..",                           Refused, &[]),
    jail(Write,     "../wild/new",                  Refused, &[]),
    jail(Read,      "l",                            Refused, &[Link("den/l", "{}/wild/canary.txt")]),
    jail(Read,      "l",                            Done,    &[Link("den/l", "{}/den/one.txt")]),
    // Links.
    den(Read,       "{}/den/l",                     Done,    &[Link("den/l", "one.txt")]),
    den(Read,       "{}/den/l",                     Done,    &[Link("den/l", "{}/den/deep/two.txt")]),
    den(Read,       "{}/den/d/two.txt",             Done,    &[Link("den/d", "deep")]),
    den(Read,       "{}/den/d/two.txt",             Done,    &[Link("den/d", "{}/den/deep")]),
    den(Read,       "{}/den/deep/l",                Done,    &[Link("den/deep/l", "../one.txt")]),
    den(Read,       "{}/den/1",                     Done,    &[Link("den/1", "2"), Link("den/2", "deep/3"), Link("den/deep/3", "{}/den/one.txt")]),
    den(Read,       "{}/den/l",                     Refused, &[Link("den/l", "{}/wild/canary.txt")]),
    den(Read,       "{}/den/l",                     Refused, &[Link("den/l", "../wild/canary.txt")]),
    den(Read,       "{}/den/l",                     Refused, &[Link("den/l", "{}/wild/missing")]),
    den(Read,       "{}/den/l",                     Refused, &[Link("den/l", "{}/den-next/canary.txt")]),
    den(Read,       "{}/den/1",                     Refused, &[Link("den/1", "2"), Link("den/2", "{}/wild/canary.txt")]),
    den(Read,       "{}/den/d/canary.txt",          Refused, &[Link("den/d", "{}/wild")]),
    den(Read,       "{}/den/deep/up/wild/canary.txt", Refused, &[Link("den/deep/up", "../..")]),
    den(Read,       "{}/den/deep/up/den/one.txt",   Done,    &[Link("den/deep/up", "../..")]),
    den(Read,       "{}/den/l",                     Refused, &[Link("den/l", "/proc/self/environ")]),
    den(Read,       "{}/den/1",                     Fails,   &[Link("den/1", "2"), Link("den/2", "1")]),
    den(Read,       "{}/den/l",                     Fails,   &[Link("den/l", "missing")]),
    den(Exists,     "{}/den/l",                     Done,    &[Link("den/l", "missing")]),
    den(Exists,     "{}/den/l",                     Refused, &[Link("den/l", "{}/wild/canary.txt")]),
    den(Exists,     "{}/den/l",                     Refused, &[Link("den/l", "{}/wild/missing")]),
    den(List,       "{}/den/l",                     Refused, &[Link("den/l", "{}/wild")]),
    den(List,       "{}/den/l",                     Done,    &[Link("den/l", "deep")]),
    den(Metadata,   "{}/den/l",                     Refused, &[Link("den/l", "{}/wild/canary.txt")]),
    den(Write,      "{}/den/l",                     Refused, &[Link("den/l", "{}/wild/canary.txt")]),
    den(Write,      "{}/den/l",                     Refused, &[Link("den/l", "{}/wild/new")]),
    den(Write,      "{}/den/d/new",                 Refused, &[Link("den/d", "{}/wild")]),
    den(Write,      "{}/den/l",                     Done,    &[Link("den/l", "deep/new")]),
    den(Append,     "{}/den/l",                     Refused, &[Link("den/l", "{}/wild/canary.txt")]),
    den(MakeDir,    "{}/den/d/new",                 Refused, &[Link("den/d", "{}/wild")]),
    den(MakeDirs,   "{}/den/d/new/er",              Refused, &[Link("den/d", "{}/wild")]),
    den(Remove,     "{}/den/l",                     Done,    &[Link("den/l", "{}/wild/canary.txt")]),
    den(Remove,     "{}/den/d/canary.txt",          Refused, &[Link("den/d", "{}/wild")]),
    den(RemoveAll,  "{}/den/l",                     Fails,   &[Link("den/l", "{}/wild")]),
    den(RemoveAll,  "{}/den/deep",                  Done,    &[Link("den/deep/l", "{}/wild")]),
    den(RemoveAll,  "{}/den/d/wild",                Refused, &[Link("den/d", "..")]),
    den(RenameFrom, "{}/den/l",                     Done,    &[Link("den/l", "{}/wild/canary.txt")]),
    den(RenameTo,   "{}/den/d/new",                 Refused, &[Link("den/d", "{}/wild")]),
    den(CopyFrom,   "{}/den/l",                     Refused, &[Link("den/l", "{}/wild/canary.txt")]),
    den(CopyTo,     "{}/den/l",                     Refused, &[Link("den/l", "{}/wild/canary.txt")]),
    on(&["{}/den", "{}/attic"], NOTHING, Read, "{}/den/l",  Done,    &[Link("den/l", "{}/attic/box.txt")]),
    on(&["{}/den", "{}/attic"], DEN, Write, "{}/den/l",     Refused, &[Link("den/l", "{}/attic/box.txt")]),
    // Roots that are links.
    on(&["{}/way"], NOTHING, Read, "{}/way/one.txt",        Done,    &[Link("way", "den")]),
    on(&["{}/way"], NOTHING, Read, "{}/den/one.txt",        Done,    &[Link("way", "{}/den")]),
    on(&["{}/way"], NOTHING, Read, "{}/way/deep/two.txt",   Done,    &[Link("way", "den")]),
    on(&["{}/way"], NOTHING, Read, "{}/way/../wild/canary.txt", Refused, &[Link("way", "den")]),
    on(&["{}/way"], NOTHING, Read, "{}/way/l",              Refused, &[Link("way", "den"), Link("den/l", "{}/wild/canary.txt")]),
    on(&["{}/way/*.txt"], NOTHING, Read, "{}/way/one.txt",  Done,    &[Link("way", "den")]),
    on(&["{}/way/*.txt"], NOTHING, Read, "{}/way/deep/two.txt", Refused, &[Link("way", "den")]),
    on(NOTHING, &["{}/way"], Write, "{}/way/new",           Done,    &[Link("way", "den")]),
    on(NOTHING, &["{}/way"], RemoveAll, "{}/way",           Refused, &[Link("way", "den")]),
    // Hard links.
    den(Write,      "{}/den/h",                     Fails,   &[Hard("den/h", "wild/canary.txt")]),
    den(Append,     "{}/den/h",                     Fails,   &[Hard("den/h", "wild/canary.txt")]),
    den(CopyTo,     "{}/den/h",                     Fails,   &[Hard("den/h", "wild/canary.txt")]),
    den(Remove,     "{}/den/h",                     Done,    &[Hard("den/h", "wild/canary.txt")]),
    // What is no regular file.
    den(Read,       "{}/den/pipe",                  Fails,   &[Fifo("den/pipe")]),
    den(Write,      "{}/den/pipe",                  Fails,   &[Fifo("den/pipe")]),
    den(Append,     "{}/den/pipe",                  Fails,   &[Fifo("den/pipe")]),
    den(CopyFrom,   "{}/den/pipe",                  Fails,   &[Fifo("den/pipe")]),
    den(List,       "{}/den/pipe",                  Fails,   &[Fifo("den/pipe")]),
    den(Read,       "{}/den/l",                     Fails,   &[Fifo("den/pipe"), Link("den/l", "pipe")]),
    den(Remove,     "{}/den/pipe",                  Done,    &[Fifo("den/pipe")]),
    den(Read,       "{}/den/socket",                Fails,   &[Socket("den/socket")]),
    den(Write,      "{}/den/socket",                Fails,   &[Socket("den/socket")]),
    on(&["/dev"], &["/dev"], Read, "/dev/zero",             Fails,   &[]),
    on(&["/dev"], &["/dev"], Write, "/dev/null",            Fails,   &[]),
    den(Read,       "{}/den/deep",                  Fails,   &[]),
    den(Write,      "{}/den/deep",                  Fails,   &[]),
    den(Write,      "{}/den",                       Fails,   &[]),
    // Names.
    raw(Read,       b"{}/den/one.txt\0",            Refused, &[]),
    raw(Read,       b"",                            Refused, &[]),
    raw(Write,      b"{}/den/\xff\xfe",             Done,    &[]),
    raw(Read,       b"{}/den/\xff\xfe",             Done,    &[Named(b"\xff\xfe")]),
    raw(Read,       b"{}/den/cafe\xcc\x81",         Done,    &[Named(b"cafe\xcc\x81")]),
    raw(Read,       b"{}/den/caf\xc3\xa9",          Fails,   &[Named(b"cafe\xcc\x81")]),
    den(Read,       "{}/DEN/one.txt",               Refused, &[]),
    den(Read,       "{}/den/ONE.txt",               Fails,   &[]),
    den(Read,       "{}/den/one.txt ",              Fails,   &[]),
    den(Read,       "{}/den/one.txt.",              Fails,   &[]),
    den(Write,      "{}/den/new\nline",             Done,    &[]),
    // What archives hold.
    den(Write,      "../ringfence-x",               Refused, &[]),
    den(Write,      "/ringfence-abs/x",             Refused, &[]),
    den(Write,      r"..\wild\x",                   Done,    &[]),
    den(Write,      "d/x",                          Refused, &[Link("den/d", "../wild")]),
    den(MakeDir,    "d",                            Fails,   &[Link("den/d", "../wild")]),
    // Globs.
    on(&["{}/den/*.txt"], NOTHING, Read, "{}/den/one.txt",         Done,    &[]),
    on(&["{}/den/*.txt"], NOTHING, Read, "{}/den/deep/two.txt",    Refused, &[]),
    on(&["{}/den/*.txt"], NOTHING, List, "{}/den",                 Refused, &[]),
    on(&["{}/den/**/*.txt"], NOTHING, Read, "{}/den/deep/two.txt", Done,    &[]),
    on(&["{}/den/**/*.txt"], NOTHING, Read, "{}/den/l.txt",        Refused, &[File("den/hidden.key"), Link("den/l.txt", "hidden.key")]),
    on(&["{}/den/**"], NOTHING, List, "{}/den",                    Done,    &[]),
    on(NOTHING, &["{}/den/out-*"], Write, "{}/den/out-1",          Done,    &[]),
    on(NOTHING, &["{}/den/out-*"], Write, "{}/den/in-1",           Refused, &[]),
    on(NOTHING, &["{}/den/out-*"], RemoveAll, "{}/den/out-d",      Refused, &[Dir("den/out-d"), File("den/out-d/keep")]),
    // The floor.
    den(Read,       "{}/den/.ssh/config",           Refused, &[Dir("den/.ssh"), File("den/.ssh/config")]),
    den(Exists,     "{}/den/.ssh/config",           Refused, &[]),
    den(Read,       "{}/den/.SSH/config",           Refused, &[]),
    den(Read,       "{}/den/l",                     Refused, &[Dir("den/.aws"), File("den/.aws/credentials"), Link("den/l", ".aws/credentials")]),
    den(Read,       "{}/den/d/credentials",         Refused, &[Dir("den/.aws"), File("den/.aws/credentials"), Link("den/d", ".aws")]),
    den(Write,      "{}/den/.git/hooks/pre-commit", Refused, &[Dir("den/.git/hooks")]),
    den(Write,      "{}/den/.git/config",           Refused, &[Dir("den/.git")]),
    den(Write,      "{}/den/.git/HEAD",             Done,    &[Dir("den/.git")]),
    den(Write,      "{}/den/.bashrc",               Refused, &[]),
    den(RemoveAll,  "{}/den/repo",                  Refused, &[Dir("den/repo/.git/hooks")]),
    den(RenameFrom, "{}/den/.config",               Refused, &[Dir("den/.config/gcloud")]),
    den(RenameTo,   "{}/den/.bashrc",               Refused, &[]),
    on(&["{}/den", "{}/den/.ssh"], NOTHING, Read, "{}/den/.ssh/config", Done, &[Dir("den/.ssh"), File("den/.ssh/config")]),
];

#[test]
fn every_kind_of_path() {
    assert!(CASES.len() >= 80);
    for (opener, host) in hosts() {
        for case in CASES {
            let den = Den::new();
            for step in case.steps {
                den.make(step);
            }
            let jail = if case.jail { Jail::SoleRoot } else { Jail::None };
            let grant = den.grant(case.read, case.write, jail);
            let files = ScopedFs::new(&host, grant, Some(den.path("den")));
            let path = fill(&den, case.path);
            let path = OsStr::from_bytes(&path);
            let name = format!("{opener}: {:?} {} with {:?}", case.op, path.display(), case.steps);
            let access = match case.op {
                Exists => Some(Access::Exists),
                List => Some(Access::List),
                Read => Some(Access::Read),
                Write => Some(Access::Write),
                _ => None,
            };
            if let Some(access) = access {
                let checked = files.check(access, path);
                assert_eq!(end_of(&checked), case.end, "check, {name}: {checked:?}");
            }
            let done = perform(&files, case.op, path, &den);
            assert_eq!(end_of(&done), case.end, "{name}: {done:?}");
            if let Ok(Some(content)) = &done {
                assert!(!content.contains(CANARY), "{name}");
            }
            den.assert_wild_untouched(&name);
        }
    }
}

fn fill(den: &Den, path: &[u8]) -> Vec<u8> {
    match path.strip_prefix(b"{}") {
        Some(rest) => [den.path("").as_os_str().as_bytes(), rest].concat(),
        None => path.to_vec(),
    }
}

fn end_of<T>(result: &Result<T, FsError>) -> End {
    match result {
        Ok(_) => Done,
        Err(error) if error.code() == Code::PathNotReachable => Refused,
        Err(_) => Fails,
    }
}

fn perform(files: &ScopedFs, op: Op, path: &OsStr, den: &Den) -> Result<Option<String>, FsError> {
    match op {
        Append => files.append(path, "+")?,
        CopyFrom => {
            files.copy(path, den.path("den/copied"))?;
            return Ok(Some(std::fs::read_to_string(den.path("den/copied")).unwrap()));
        }
        CopyTo => drop(files.copy(den.path("den/one.txt"), path)?),
        Exists => drop(files.exists(path)?),
        List => drop(files.list(path)?),
        MakeDir => files.create_dir(path)?,
        MakeDirs => files.create_dir_all(path)?,
        Metadata => drop(files.metadata(path)?),
        Read => return files.read(path).map(Some),
        Remove => files.remove(path)?,
        RemoveAll => files.remove_all(path)?,
        RenameFrom => files.rename(path, den.path("den/renamed"), Existing::Keep)?,
        RenameTo => files.rename(den.path("den/one.txt"), path, Existing::Keep)?,
        Write => files.write(path, "written")?,
    }
    Ok(None)
}
