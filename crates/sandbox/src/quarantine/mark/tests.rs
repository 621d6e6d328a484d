//! Marks are believed when they are whole and ours, and looked at when nobody holds them.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn before(tree: &str) -> Before {
    let known = Known { identity: Identity { device: 1, inode: 2 }, made: Some((3, -4)), is_protected: true };
    Before {
        trees: vec![tree.into()],
        named: vec![OsStr::from_bytes(b"/n\xff").into()],
        home: Some("/home/a".into()),
        pointed: vec![Target { path: "/w/x".into(), only_file: true }],
        links: vec!["/r/.cargo".into()],
        known: [(PathBuf::from("/w/.git/config"), known)].into(),
    }
}

fn folder() -> (tempfile::TempDir, Marks) {
    let folder = tempfile::tempdir().unwrap();
    let marks = Marks::open(&folder.path().join("marks")).unwrap();
    (folder, marks)
}

fn only_file(marks: &Marks) -> PathBuf {
    let mut listed = std::fs::read_dir(&marks.path).unwrap();
    listed.next().unwrap().unwrap().path()
}

#[test]
fn a_mark_is_looked_at_when_its_run_is_gone() {
    let (_folder, marks) = folder();
    let mark = marks.begin(&before("/w")).unwrap();
    assert!(marks.unfinished(|_| true).unwrap().is_empty());
    drop(mark);
    assert!(marks.unfinished(|tree| tree == Path::new("/v")).unwrap().is_empty());
    let mut found = marks.unfinished(|tree| tree == Path::new("/w")).unwrap();
    let one = found.pop().unwrap();
    assert_eq!(one.before, before("/w"));
    // Held by whoever looks.
    assert!(marks.unfinished(|_| true).unwrap().is_empty());
    one.remove().unwrap();
    assert!(marks.unfinished(|_| true).unwrap().is_empty());
    marks.begin(&before("/w")).unwrap().remove().unwrap();
    assert_eq!(std::fs::read_dir(&marks.path).unwrap().count(), 0);
}

#[test]
fn a_mark_that_is_torn_or_forged_is_never_believed() {
    for harm in ["torn", "empty", "changed", "open", "linked", "link", "version"] {
        let (folder, marks) = folder();
        drop(marks.begin(&before("/w")).unwrap());
        let path = only_file(&marks);
        let bytes = std::fs::read(&path).unwrap();
        match harm {
            "torn" => std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap(),
            "empty" => std::fs::write(&path, "").unwrap(),
            "changed" => {
                // Still a mark by its shape: `/w` is now `/v`.
                let text = String::from_utf8(bytes).unwrap().replace("2f77", "2f76");
                std::fs::write(&path, text).unwrap();
            }
            "open" => std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap(),
            "linked" => std::fs::hard_link(&path, folder.path().join("other")).unwrap(),
            "link" => {
                std::fs::rename(&path, folder.path().join("other")).unwrap();
                std::os::unix::fs::symlink(folder.path().join("other"), &path).unwrap();
            }
            _ => {
                let body =
                    br#"{"version":1,"trees":[],"named":[],"home":null,"pointed":[],"links":[],"known":[]}"#;
                std::fs::write(&path, [digest(body).as_bytes(), b"\n", body].concat()).unwrap();
            }
        }
        let (at, _) = marks.unfinished(|_| true).unwrap_err();
        assert_eq!(at, path, "{harm}");
    }
}

#[test]
fn a_folder_that_others_can_use_is_not_used() {
    let (folder, _) = folder();
    let open = folder.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(Marks::open(&open).is_err());
    std::os::unix::fs::symlink("marks", folder.path().join("link")).unwrap();
    assert!(Marks::open(&folder.path().join("link")).is_err());
}

/// A command that gets another folder in the place of the marks could forge them there.
#[test]
fn another_folder_in_the_place_of_the_marks_is_told() {
    let (folder, marks) = folder();
    marks.begin(&before("/w")).unwrap().remove().unwrap();
    let mark = marks.begin(&before("/w")).unwrap();
    assert!(mark.check_place().is_ok());
    std::fs::rename(&marks.path, folder.path().join("away")).unwrap();
    DirBuilder::new().mode(0o700).create(&marks.path).unwrap();
    assert!(mark.check_place().is_err());
    assert!(mark.remove().unwrap_err().to_string().contains("another folder is in its place"));
    // It was removed all the same, where it was made.
    assert_eq!(std::fs::read_dir(folder.path().join("away")).unwrap().count(), 0);
}
