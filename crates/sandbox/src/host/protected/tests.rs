//! What counts as protected.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn lay(root: &Path, files: &[&str]) {
    for path in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }
}

fn paths(root: &Path, writable: bool) -> Vec<String> {
    let all = survey(root, writable, &[]).unwrap();
    let all = all.iter().filter(|one| one.treatment != Treatment::Watch);
    all.map(|one| one.path.strip_prefix(root).unwrap().to_string_lossy().into_owned()).collect()
}

#[test]
fn links_repositories_and_closed_folders_count() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    lay(
        root,
        &[
            "bare/HEAD",
            "bare/objects/x",
            "bare/refs/x",
            "bare/config",
            "dot/bashrc",
            "src/.git",
            "src/config",
        ],
    );
    std::os::unix::fs::symlink("dot/bashrc", root.join(".bashrc")).unwrap();
    assert_eq!(paths(root, true), [".bashrc", "bare/config", "dot/bashrc", "src/.git"]);
    assert_eq!(paths(root, false), [".bashrc", "dot/bashrc"]);

    // Deeper than a path can be long: what is there cannot be listed, so that the folder counts.
    let deep = root.join("a".repeat(200)).join("b".repeat(200));
    std::fs::create_dir_all(&deep).unwrap();
    assert_eq!(paths(root, true).len(), 4);
}

#[test]
fn finds_what_is_on_the_floor_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for (path, content) in [
        (".git/hooks/pre-commit", "x"),
        (".git/config", "x"),
        (".git/HEAD", "x"),
        ("sub/.git/hooks/post-merge", "x"),
        (".ssh/id_rsa", "x"),
        ("sub/.bashrc", "x"),
        (".vscode/tasks.json", "x"),
        ("src/main.rs", "x"),
    ] {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let found = |writable, named: &[PathBuf]| -> Vec<(String, Treatment)> {
        let all = survey(root, writable, named).unwrap();
        let shown = |one: Sensitive| {
            (one.path.strip_prefix(root).unwrap().to_string_lossy().into_owned(), one.treatment)
        };
        all.into_iter().map(shown).collect()
    };
    use Treatment::{Hide, ReadOnly};
    let read = [(".ssh".to_owned(), Hide), ("sub/.bashrc".to_owned(), Hide)];
    assert_eq!(found(false, &[]), read);
    let write = [
        (".git/config".to_owned(), ReadOnly),
        (".git/hooks".to_owned(), ReadOnly),
        (".ssh".to_owned(), Hide),
        (".vscode".to_owned(), ReadOnly),
        ("sub/.bashrc".to_owned(), Hide),
        ("sub/.git/hooks".to_owned(), ReadOnly),
    ];
    assert_eq!(found(true, &[]), write);
    assert_eq!(
        found(true, &[root.join(".vscode"), root.join(".git/config"), root.join("sub/.bashrc")]).len(),
        3
    );
}

#[test]
fn a_folder_that_only_we_can_enter_counts_as_a_whole() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let theirs = root.join("ada");
    std::fs::create_dir_all(theirs.join(".ssh")).unwrap();
    std::fs::create_dir_all(root.join("bob/.ssh")).unwrap();
    std::os::unix::fs::chown(&theirs, Some(1234), Some(1234)).unwrap();
    let found = |mode: u32| -> Vec<PathBuf> {
        std::fs::set_permissions(&theirs, std::fs::Permissions::from_mode(mode)).unwrap();
        let all = survey(root, false, &[]).unwrap();
        all.into_iter().map(|one| one.path.strip_prefix(root).unwrap().to_path_buf()).collect()
    };
    assert_eq!(found(0o700), [Path::new("ada"), Path::new("bob/.ssh")]);
    assert_eq!(found(0o755), [Path::new("ada/.ssh"), Path::new("bob/.ssh")]);
}
