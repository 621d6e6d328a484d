//! What configurations name.

use super::*;

fn lay(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn named(gather: impl FnOnce(&mut Pointers)) -> Vec<(PathBuf, bool)> {
    let mut pointers = Pointers { everywhere: Vec::new(), ..Pointers::default() };
    gather(&mut pointers);
    pointers.into_targets().into_iter().map(|target| (target.path, target.only_file)).collect()
}

#[test]
fn everything_that_a_configuration_runs_or_obeys_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    lay(
        &root,
        &[
            (
                "w/.git/config",
                "[core]\n\thooksPath = tools/hooks\n\tattributesFile = ~/attributes\n\tfsmonitor = ./watch.sh -v\n\
                 [include]\n\tpath = ../more\n[includeIf \"onbranch:x\"]\n\tpath = /abs/cond\n\
                 [filter \"x\"]\n\tclean = python3 tools/clean.py %f\n[alias]\n\ts = !sh build.sh\n\tlast = log -1 HEAD\n\
                 [credential \"https://x\"]\n\thelper = \"!'my tools/cred'\"\n[gpg \"ssh\"]\n\tprogram = bin/sign\n\
                 [diff \"d\"]\n\ttextconv = bin/text\n[remote \"o\"]\n\turl = ../bundle.x\n",
            ),
            ("w/more", "[core]\n\tsshCommand = bin/ssh\n[include]\n\tpath = deeper\n"),
            ("w/deeper", "[core]\n\teditor = bin/edit\n[include]\n\tpath = more\n"),
        ],
    );
    let found = named(|pointers| {
        pointers.home = Some(root.join("home"));
        pointers.repository(&root.join("w/.git")).unwrap();
    });
    let has = |path: PathBuf, only_file| found.contains(&(path, only_file));
    let w = root.join("w");
    assert!(has(w.join("tools/hooks"), false) && has(root.join("home/attributes"), false));
    for included in [w.join(".git/../more"), "/abs/cond".into(), w.join(".git/../deeper")] {
        assert!(has(included.clone(), false), "{included:?} in {found:#?}");
    }
    for word in [
        "watch.sh",
        "tools/clean.py",
        "build.sh",
        "my tools/cred",
        "bin/sign",
        "bin/text",
        "bin/ssh",
        "bin/edit",
    ] {
        assert!(found.iter().any(|(path, only)| *only && *path == w.join(word)), "{word} in {found:#?}");
    }
    let harmless =
        |path: &Path| path.ends_with("HEAD") || path.ends_with("bundle.x") || path.ends_with("log");
    assert!(!found.iter().any(|(path, _)| harmless(path)), "{found:#?}");
}

#[test]
fn the_repository_around_a_folder_counts() {
    let folder = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    lay(
        &root,
        &[
            ("w/.git/config", "[core]\n\thooksPath = src/hooks\n"),
            ("w/src/x", ""),
            ("v/.git", "gitdir: ../split\n"),
        ],
    );
    lay(
        &root,
        &[
            ("split/HEAD", "x"),
            ("split/commondir", "../common\n"),
            ("common/config", "[core]\n\tpager = v/p.sh\n"),
        ],
    );
    lay(&root, &[("v/src/x", "")]);
    let found = named(|pointers| pointers.around(&root.join("w/src")).unwrap());
    assert!(found.contains(&(root.join("w/src/hooks"), false)), "{found:#?}");
    let found = named(|pointers| pointers.around(&root.join("v/src")).unwrap());
    let split = root.join("v/../split");
    assert!(found.contains(&(split.join("../common/hooks"), false)), "{found:#?}");
    assert!(found.contains(&(root.join("v/v/p.sh"), true)), "{found:#?}");
}

#[test]
fn a_bound_that_is_passed_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    lay(
        root,
        &[("big/config", &"#".repeat(2 << 20)), ("other/config", "[core]\n\thooksPath = ~bob/hooks\n")],
    );
    for name in ["big", "other"] {
        assert!(Pointers::default().repository(&root.join(name)).is_err(), "{name}");
    }
    // What git cannot read either is nothing.
    std::fs::create_dir_all(root.join("odd/config")).unwrap();
    Pointers::default().repository(&root.join("odd")).unwrap();
}

#[test]
fn links_on_the_way_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    lay(&root, &[("real/hooks/x", "")]);
    std::os::unix::fs::symlink("real", root.join("tools")).unwrap();
    let target = Target { path: root.join("tools/hooks"), only_file: false };
    let traced: Vec<_> = trace(&target).into_iter().map(|one| (one.path, one.kind)).collect();
    assert_eq!(traced, [(root.join("tools"), Kind::Link), (root.join("real/hooks"), Kind::Directory)]);
    assert_eq!(trace(&Target { only_file: true, ..target }), []);
    let gone = Target { path: root.join("tools/none/x"), only_file: true };
    assert_eq!(trace(&gone).len(), 1);
}
