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
    let all = survey(root, writable, &NamedPaths::default()).unwrap();
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
        let all = survey(root, writable, &NamedPaths::both(named, None)).unwrap();
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
        let all = survey(root, false, &NamedPaths::default()).unwrap();
        all.into_iter().map(|one| one.path.strip_prefix(root).unwrap().to_path_buf()).collect()
    };
    assert_eq!(found(0o700), [Path::new("ada"), Path::new("bob/.ssh")]);
    assert_eq!(found(0o755), [Path::new("ada/.ssh"), Path::new("bob/.ssh")]);
}

/// The hard links that are kept read-only in these trees, with what they are.
fn shared(trees: &[&Path], fixed: &[&Path]) -> Result<Vec<(PathBuf, Kind, Treatment)>, SandboxError> {
    let mut linked = Vec::new();
    for tree in trees {
        linked.extend(survey_with_names(tree, true, &NamedPaths::default(), &[])?.linked);
    }
    let found = find_shared(&linked, trees, trees, &fixed.iter().copied().collect())?;
    Ok(found.kept.into_iter().map(|one| (one.path, one.kind, one.treatment)).collect())
}

#[test]
fn a_file_with_a_name_elsewhere_is_read_only() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (work, other) = (root.join("work"), root.join("other"));
    lay(
        &root,
        &["out/a", "out/b", "out/c", "work/own", "work/.bashrc", "work/tool", "other/x", "work/alone"],
    );
    let link = |from: &str, to: &str| std::fs::hard_link(root.join(from), root.join(to)).unwrap();
    link("out/a", "work/a");
    std::fs::create_dir_all(work.join("deep/er")).unwrap();
    link("out/b", "work/deep/er/b");
    link("work/own", "work/deep/own");
    link("work/.bashrc", "work/rc");
    link("work/tool", "work/tool-2");
    link("other/x", "work/x");

    let file = |path: &str| (work.join(path), Kind::File, Treatment::ReadOnly);
    // A name that is protected is not one of those that may be written, nor is that of a program.
    let alone = shared(&[&work], &[]).unwrap();
    assert_eq!(alone, [file("a"), file("deep/er/b"), file("rc"), file("x")]);
    assert!(shared(&[&work], &[&work.join("tool")]).unwrap().contains(&file("tool-2")));
    // All its names may be written.
    assert_eq!(shared(&[&work, &other], &[]).unwrap(), [file("a"), file("deep/er/b"), file("rc")]);
    // A tree in a tree shows no second name.
    let twice = shared(&[&work, &work.join("deep")], &[]).unwrap();
    assert_eq!(twice, [file("a"), file("deep/er/b"), file("rc"), file("x")]);
    // What is granted by its own name may be written.
    assert!(!shared(&[&work, &work.join("a")], &[]).unwrap().contains(&file("a")));
}

#[test]
fn a_pipe_with_a_name_elsewhere_is_hidden() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().canonicalize().unwrap().join("work");
    std::fs::create_dir(&work).unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    std::fs::hard_link(&pipe, work.join("pipe")).unwrap();
    assert_eq!(shared(&[&work], &[]).unwrap(), [(work.join("pipe"), Kind::Pipe, Treatment::Hide)]);
}

#[test]
fn many_hard_links_are_kept_by_folders_and_too_many_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (work, out) = (root.join("work"), root.join("out"));
    std::fs::create_dir_all(&out).unwrap();
    let link_into = |below: &str, from: usize, count: usize| {
        std::fs::create_dir_all(work.join(below)).unwrap();
        for number in from..from + count {
            let name = format!("f{number}");
            std::fs::write(out.join(&name), "x").unwrap();
            std::fs::hard_link(out.join(&name), work.join(below).join(name)).unwrap();
        }
    };
    link_into("src", 0, 2);
    link_into("modules/one/lib", 10, 800);
    link_into("modules/two", 1000, 300);
    let kept: Vec<_> =
        shared(&[&work], &[]).unwrap().into_iter().map(|(path, kind, _)| (path, kind)).collect();
    let (folders, files): (Vec<_>, Vec<_>) = kept.into_iter().partition(|(_, kind)| *kind == Kind::Directory);
    // The deepest goes first, and only where there are many.
    assert_eq!(folders, [(work.join("modules/one/lib"), Kind::Directory)]);
    assert_eq!(files.len(), 302);
    // A folder around what was granted by itself stays.
    let granted = work.join("modules/one/lib/f10");
    let linked = survey_with_names(&work, true, &NamedPaths::default(), &[]).unwrap().linked;
    let refused = find_shared(&linked, &[&work], &[&work, &granted], &Default::default());
    assert!(refused.unwrap_err().to_string().contains("copy them"));
    // Right in the tree there is no folder to take.
    link_into("", 2000, 1200);
    assert!(shared(&[&work], &[]).unwrap_err().to_string().contains("copy them"));
}

#[test]
fn a_link_on_the_floor_protects_where_it_leads_and_the_way_there() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (work, other) = (root.join("work"), root.join("other"));
    lay(&root, &["work/x", "other/v1/rc", "out/rc"]);
    std::os::unix::fs::symlink("v1", other.join("now")).unwrap();
    std::os::unix::fs::symlink("../other/now/rc", work.join(".bashrc")).unwrap();
    std::os::unix::fs::symlink("../out/rc", work.join(".zshrc")).unwrap();
    let paths = |reach: &[PathBuf]| -> Vec<PathBuf> {
        let found = survey_within(&work, true, &NamedPaths::default(), reach).unwrap();
        found.into_iter().map(|one| one.path).collect()
    };
    assert_eq!(paths(&[]), [work.join(".bashrc"), work.join(".zshrc")]);
    let expected = [other.join("now"), other.join("v1/rc"), work.join(".bashrc"), work.join(".zshrc")];
    assert_eq!(paths(&[other]), expected);
}

#[test]
fn folders_above_what_is_protected_are_pinned_but_not_where_packages_are_exchanged() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    lay(
        &root,
        &["a/b/.git/config", "a/b/.git/HEAD", "node_modules/p/.vscode/tasks.json", "plain/x", ".envrc"],
    );
    std::os::unix::fs::symlink("x", root.join("plain/.bashrc")).unwrap();
    let sensitive = survey(&root, true, &NamedPaths::default()).unwrap();
    let pins = find_pins(&sensitive, &[&root, &root.join("a/b")]).unwrap();
    let found: Vec<(PathBuf, Kind)> = pins.into_iter().map(|pin| (pin.path, pin.kind)).collect();
    let folder = |path: &str| (root.join(path), Kind::Directory);
    assert_eq!(
        found,
        [
            folder("a"),
            folder("a/b"),
            folder("a/b/.git"),
            folder("plain"),
            (root.join("plain/.bashrc"), Kind::Link)
        ]
    );
}

#[test]
fn what_is_too_deep_for_a_path_counts_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let name = "d".repeat(200);
    // By handles, as a path of that length can be given to no call.
    let mut at = rustix::fs::open(&root, rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty()).unwrap();
    for _ in 0..40 {
        rustix::fs::mkdirat(&at, &name, rustix::fs::Mode::RWXU).unwrap();
        at =
            rustix::fs::openat(&at, &name, rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty()).unwrap();
    }
    rustix::fs::mkdirat(&at, ".ssh", rustix::fs::Mode::RWXU).unwrap();
    lay(&root, &["z/.envrc"]);
    let found = survey(&root, true, &NamedPaths::default()).unwrap();
    let (deep, near) = (&found[0], &found[1]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!((deep.kind, deep.treatment), (Kind::Directory, Treatment::Hide));
    let length = deep.path.as_os_str().len();
    assert!((3_800..4_090).contains(&length), "{length}");
    assert_eq!(near.path, root.join("z/.envrc"));
}

#[test]
fn deeper_than_folders_stay_open_nothing_is_missed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let mut path = root.clone();
    for _ in 0..200 {
        path.push("d");
        std::fs::create_dir_all(path.join("e")).unwrap();
        std::fs::write(path.join("e/.envrc"), "x").unwrap();
    }
    assert_eq!(survey(&root, true, &NamedPaths::default()).unwrap().len(), 200);
}

/// Whatever happens in a tree while it is searched, what comes back is an answer or a refusal.
#[test]
fn a_tree_that_changes_while_it_is_searched_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    lay(&root, &["a/b/c/.envrc", "x/y/.envrc", "keep/.envrc"]);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::sync::atomic::Ordering::Relaxed;
            let rename = |from: &str, to: &str| _ = std::fs::rename(root.join(from), root.join(to));
            while !stop.load(Relaxed) {
                rename("a/b", "b");
                std::fs::write(root.join("a/b"), "x").unwrap();
                rename("x", "a/x");
                std::fs::remove_file(root.join("a/b")).unwrap();
                _ = std::os::unix::fs::symlink("/", root.join("x"));
                _ = std::fs::remove_file(root.join("x"));
                rename("a/x", "x");
                rename("b", "a/b");
            }
        });
        for _ in 0..2_000 {
            match survey(&root, true, &NamedPaths::default()) {
                Ok(found) => assert!(found.iter().any(|one| one.path == root.join("keep/.envrc"))),
                Err(error) => assert!(error.to_string().contains("changed while"), "{error}"),
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

/// A folder of settings is read-only, and the keys in it are hidden all the same.
#[test]
fn keys_in_protected_folders_are_hidden() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    lay(root, &[".codex/config.toml", ".codex/auth.json", ".vscode/keys/id_rsa", ".vscode/settings.json"]);
    let found = survey_with_names(root, true, &NamedPaths::default(), &[]).unwrap().sensitive;
    let treated: Vec<(String, Treatment)> = found
        .iter()
        .map(|one| (one.path.strip_prefix(root).unwrap().display().to_string(), one.treatment))
        .collect();
    for (path, treatment) in [
        (".codex", Treatment::ReadOnly),
        (".codex/auth.json", Treatment::Hide),
        (".vscode", Treatment::ReadOnly),
        (".vscode/keys/id_rsa", Treatment::Hide),
    ] {
        assert!(treated.contains(&(path.to_owned(), treatment)), "{path}: {treated:?}");
    }
    assert_eq!(treated.len(), 4, "{treated:?}");
}
