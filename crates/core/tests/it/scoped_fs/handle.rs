//! What the table cannot say: contents, messages, pinned roots, moves.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use ringfence::{Existing, FileKind, FsError, HostFiles, ScopedFs};
use ringfence_policy::{Code, FsCeiling, FsGrant, FsReach, Jail, PathReach};

use super::den::{Den, Step, hosts};

#[test]
fn contents_arrive() {
    for (_, host) in hosts() {
        let den = Den::new();
        let files = den.handle(&host);
        files.write("note.txt", "first, long").unwrap();
        files.write("note.txt", "second").unwrap();
        files.append("note.txt", b"+").unwrap();
        assert_eq!(files.read("note.txt").unwrap(), "second+");
        assert_eq!(files.copy("note.txt", "deep/copy").unwrap(), 7);
        assert_eq!(files.read_bytes("deep/copy").unwrap(), b"second+");
        files.rename("deep/copy", "moved", Existing::Keep).unwrap();
        assert!(files.rename("moved", "note.txt", Existing::Keep).unwrap_err().is_already_exists());
        files.rename("moved", "note.txt", Existing::Replace).unwrap();
        assert!(!files.exists("moved").unwrap());
        let metadata = files.metadata("note.txt").unwrap();
        assert_eq!((metadata.kind, metadata.len, metadata.readonly), (FileKind::File, 7, false));
        assert!(metadata.modified.is_some());
    }
}

#[test]
fn lists_are_sorted_and_lossless() {
    for (_, host) in hosts() {
        let den = Den::new();
        for step in [Step::Link("den/a", "nowhere"), Step::Fifo("den/z"), Step::Named(b"m\xff")] {
            den.make(&step);
        }
        let listed: Vec<_> =
            den.handle(&host).list(".").unwrap().into_iter().map(|entry| (entry.name, entry.kind)).collect();
        let wanted: Vec<(OsString, FileKind)> = vec![
            ("a".into(), FileKind::Symlink),
            ("deep".into(), FileKind::Directory),
            (OsString::from_vec(b"m\xff".to_vec()), FileKind::File),
            ("one.txt".into(), FileKind::File),
            ("z".into(), FileKind::Special),
        ];
        assert_eq!(listed, wanted);
    }
}

#[test]
fn errors_are_one_sentence() {
    let den = Den::new();
    den.make(&Step::Hard("den/h", "attic/box.txt"));
    den.make(&Step::Link("den/l", "{}/wild/canary.txt"));
    den.make(&Step::Link("den/loop", "loop"));
    den.make(&Step::Named(b"odd"));
    fs::write(den.path("den/odd"), b"\xff").unwrap();
    let files = den.handle(&HostFiles::new()).read_limit(8);
    fs::write(den.path("den/large"), "123456789").unwrap();
    #[rustfmt::skip]
    let cases = [
        (files.read("/etc/passwd").err(),          "PATH_NOT_REACHABLE: read not permitted for /etc/passwd",                Code::PathNotReachable),
        (files.write("/etc/passwd", "").err(),     "PATH_NOT_REACHABLE: write not permitted for /etc/passwd",               Code::PathNotReachable),
        (files.read("l").err(),                    "PATH_NOT_REACHABLE: read not permitted for {}/den/l",                   Code::PathNotReachable),
        (files.read("no").err(),                   "cannot read `{}/den/no`: entity not found",                             Code::ExecutionFailed),
        (files.write("no/x", "").err(),            "cannot write `{}/den/no/x`: entity not found",                          Code::ExecutionFailed),
        (files.read("deep").err(),                 "`{}/den/deep` is a directory, not a regular file",                      Code::ExecutionFailed),
        (files.list("one.txt").err(),              "`{}/den/one.txt` is a regular file, not a directory",                   Code::ExecutionFailed),
        (files.write("h", "").err(),               "`{}/den/h` has 2 hard links, and writing it could change a file outside the grant", Code::ExecutionFailed),
        (files.read("loop").err(),                 "`{}/den/loop` goes through too many symbolic links",                    Code::ExecutionFailed),
        (files.read("odd").err(),                  "`{}/den/odd` is not UTF-8 text; read its bytes instead",                Code::ExecutionFailed),
        (files.read("large").err(),                "`{}/den/large` is larger than 8 bytes",                                 Code::LimitExceeded),
        (files.copy("one.txt", "one.txt").err(),   "`{}/den/one.txt` is the file it would be copied from",                  Code::ExecutionFailed),
    ];
    for (error, sentence, code) in cases {
        let error = error.unwrap();
        assert_eq!(error.to_string(), den.fill(sentence));
        assert_eq!(error.code(), code, "{sentence}");
    }
    assert_eq!(fs::read_to_string(den.path("den/one.txt")).unwrap(), "one");
}

#[test]
fn a_relative_path_needs_a_working_directory() {
    let den = Den::new();
    let files = ScopedFs::new(&HostFiles::new(), den.grant(&["{}/den"], &[], Jail::None), None);
    let error = files.read("one.txt").unwrap_err().to_string();
    assert_eq!(error, "PATH_NOT_REACHABLE: read not permitted for one.txt");
    assert_eq!(files.read(den.path("den/one.txt")).unwrap(), "one");
}

#[test]
fn a_pinned_root_stays_where_it_was() {
    for (_, host) in hosts() {
        let den = Den::new();
        den.make(&Step::Link("way", "den"));
        let grant = den.grant(&["{}/way"], &["{}/way"], Jail::None);
        host.pin(&grant);
        fs::remove_file(den.path("way")).unwrap();
        symlink(den.path("wild"), den.path("way")).unwrap();
        let files = ScopedFs::new(&host, grant, None);
        assert_eq!(files.read(den.path("").join("way/one.txt")).unwrap(), "one");
        assert!(files.read(den.path("").join("way/canary.txt")).unwrap_err().is_not_found());
        assert!(matches!(files.read(den.path("wild/canary.txt")), Err(FsError::Refused(_))));
        files.write(den.path("").join("way/new"), "").unwrap();
        assert!(den.path("den/new").exists());
        den.assert_wild_untouched("pinned");
    }
}

#[test]
fn a_root_that_comes_later_is_found_but_not_moved_by_a_link() {
    for (_, host) in hosts() {
        let den = Den::new();
        let grant = den.grant(&["{}/later"], &["{}/later"], Jail::None);
        host.pin(&grant);
        let files = ScopedFs::new(&host, grant, None);
        let file = den.path("").join("later/canary.txt");
        assert!(files.read(&file).unwrap_err().is_not_found());
        symlink(den.path("wild"), den.path("later")).unwrap();
        assert!(matches!(files.read(&file), Err(FsError::Refused(_))));
        fs::remove_file(den.path("later")).unwrap();
        fs::create_dir(den.path("later")).unwrap();
        files.write(&file, "mine").unwrap();
        assert_eq!(files.read(&file).unwrap(), "mine");
        den.assert_wild_untouched("later");
    }
}

#[test]
fn a_root_swapped_for_a_link_leads_nowhere() {
    for (_, host) in hosts() {
        let den = Den::new();
        let grant = den.grant(&["{}/den"], &["{}/den"], Jail::None);
        host.pin(&grant);
        fs::rename(den.path("den"), den.path("gone")).unwrap();
        symlink(den.path("wild"), den.path("").join("den")).unwrap();
        let files = ScopedFs::new(&host, grant, None);
        let canary = den.path("").join("den/canary.txt");
        assert!(matches!(files.read(&canary), Err(FsError::Refused(_))));
        assert!(matches!(files.write(&canary, ""), Err(FsError::Refused(_))));
        assert!(matches!(files.remove(&canary), Err(FsError::Refused(_))));
        den.assert_wild_untouched("swapped");
    }
}

#[test]
fn two_names_of_one_root_meet() {
    let den = Den::new();
    den.make(&Step::Link("way", "den"));
    den.make(&Step::Link("path", "den"));
    let reach = FsReach { read: Some(PathReach::Listed(den.set(&["{}/way"]))), ..FsReach::default() };
    let ceiling = FsCeiling { read: den.set(&["{}/path"]), ..FsCeiling::default() };
    let files = ScopedFs::new(&HostFiles::new(), FsGrant::meet(&reach, &ceiling).unwrap(), None);
    for name in ["way/one.txt", "path/one.txt", "den/one.txt"] {
        assert_eq!(files.read(den.path("").join(name)).unwrap(), "one", "{name}");
    }
}

#[test]
fn moving_a_directory_does_not_lift_the_floor_or_the_grant() {
    let den = Den::new();
    for step in [Step::Dir("den/x/hooks"), Step::File("den/x/hooks/pre-commit"), Step::Dir("attic/private")] {
        den.make(&step);
    }
    let files = den.handle(&HostFiles::new());
    assert!(matches!(files.rename("x", ".git", Existing::Keep), Err(FsError::Refused(_))));
    files.rename("x", "y", Existing::Keep).unwrap();
    // Written but not read: nothing of it may be moved to where it is read.
    let grant = den.grant(&["{}/den"], &["{}/den", "{}/attic"], Jail::None);
    let files = ScopedFs::new(&HostFiles::new(), grant, Some(den.path("den")));
    assert!(matches!(files.rename("../attic/box.txt", "box", Existing::Keep), Err(FsError::Refused(_))));
    assert!(matches!(files.rename("../attic/private", "private", Existing::Keep), Err(FsError::Refused(_))));
    files.rename("../attic/box.txt", "../attic/crate.txt", Existing::Keep).unwrap();
}

#[test]
fn a_refused_tree_loses_nothing() {
    let den = Den::new();
    for step in [Step::Dir("den/t/.ssh"), Step::File("den/t/.ssh/id_rsa"), Step::File("den/t/a")] {
        den.make(&step);
    }
    let files = den.handle(&HostFiles::new());
    assert!(matches!(files.remove_all("t"), Err(FsError::Refused(_))));
    assert!(den.path("den/t/a").exists());
    let deep: PathBuf = std::iter::repeat_n("d", 140).collect();
    files.create_dir_all(&deep).unwrap();
    assert_eq!(files.remove_all("d").unwrap_err().code(), Code::LimitExceeded);
}
