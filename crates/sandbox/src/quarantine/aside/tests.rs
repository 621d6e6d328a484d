//! Only what was found is moved.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;
use crate::host::{Kind, Treatment, seen};

fn file(path: &Path) -> Sensitive {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, "x").unwrap();
    seen(path, Kind::File, Treatment::ReadOnly).unwrap()
}

#[test]
fn names_that_are_taken_or_obeyed_or_too_long_are_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    let found = file(&root.join("config"));
    std::fs::write(root.join("config.quarantined-1"), "theirs").unwrap();
    symlink("nowhere", root.join("config.quarantined-2")).unwrap();
    assert_eq!(move_aside(&found).unwrap(), Moved::To(root.join("config.quarantined-3")));
    assert_eq!(std::fs::read(root.join("config.quarantined-1")).unwrap(), b"theirs");
    assert_eq!(move_aside(&found).unwrap(), Moved::Gone);

    let long = file(&root.join("x".repeat(250)));
    assert_eq!(move_aside(&long).unwrap(), Moved::To(root.join("quarantined-2")));
}

#[test]
fn many_taken_names_do_not_stop_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    for number in 1..=NUMBERS {
        std::fs::write(root.join(format!("config.quarantined-{number}")), "").unwrap();
    }
    let found = file(&root.join("config"));
    assert!(matches!(move_aside(&found).unwrap(), Moved::To(path) if path.exists()));
}

#[test]
fn a_folder_that_was_exchanged_for_a_link_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    let found = file(&root.join("a/b/config"));
    let victim = file(&root.join("victim/b/config"));
    std::fs::rename(root.join("a"), root.join("old")).unwrap();
    symlink("victim", root.join("a")).unwrap();
    assert!(move_aside(&found).is_err());
    assert!(victim.path.exists());
    // The same name, and another file.
    std::fs::remove_file(root.join("a")).unwrap();
    file(&root.join("a/b/config"));
    assert!(move_aside(&found).is_err());
    assert!(root.join("a/b/config").exists());
}

#[test]
fn a_folder_that_is_closed_to_us_is_opened_for_the_moment() {
    let folder = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    let found = file(&root.join("a/config"));
    std::fs::set_permissions(root.join("a"), std::fs::Permissions::from_mode(0o555)).unwrap();
    assert!(matches!(move_aside(&found).unwrap(), Moved::To(_)));
    assert_eq!(std::fs::metadata(root.join("a")).unwrap().permissions().mode() & 0o777, 0o555);
}
