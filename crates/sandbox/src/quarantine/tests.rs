//! What is moved aside after a run, and what is not.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;
use crate::host::Platform;
use crate::plan::Seen;
use crate::spec::{Access, Spec};

/// A folder that is granted for writing, and what a run does in it.
struct Scene {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Scene {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap().join("w");
        std::fs::create_dir(&root).unwrap();
        let scene = Self { _folder: folder, root };
        scene.lay(files);
        scene
    }

    fn lay(&self, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = self.root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    fn plan(&self) -> Plan {
        let spec = Spec::new("/bin/sh").tree(&self.root, Access::WRITE);
        Plan::new(&spec, &Seen::look(&spec, Platform::of_this_machine()).unwrap()).unwrap()
    }

    /// Does something between the look before and the look after, and returns what was moved.
    fn run(&self, work: impl FnOnce(&Self)) -> Vec<String> {
        let (moved, left) = self.run_and_leave(work);
        assert_eq!(left, [""; 0]);
        moved
    }

    /// The same, and returns what was left too.
    fn run_and_leave(&self, work: impl FnOnce(&Self)) -> (Vec<String>, Vec<String>) {
        let plan = self.plan();
        work(self);
        let aftermath = quarantine(&plan);
        let shown = |path: PathBuf| path.strip_prefix(&self.root).unwrap().to_string_lossy().into_owned();
        let mut moved: Vec<_> = aftermath.moved.into_iter().map(|one| shown(one.found)).collect();
        moved.sort();
        (moved, aftermath.left.into_iter().map(|(path, _)| shown(path)).collect())
    }

    /// What a plan protects.
    fn protected(&self) -> Vec<String> {
        let plan = self.plan();
        let entries =
            plan.root.iter().filter(|entry| matches!(entry, crate::Entry::Bind { protected: true, .. }));
        let mut paths: Vec<_> = entries
            .map(|entry| entry.path().strip_prefix(&self.root).unwrap().to_string_lossy().into_owned())
            .collect();
        paths.sort();
        paths
    }

    fn has(&self, path: &str) -> bool {
        self.root.join(path).symlink_metadata().is_ok()
    }
}

const EVIL: &str = "[core]\n\tfsmonitor = touch /tmp/x;:\n";
const REPOSITORY: &[(&str, &str)] = &[
    (".git/HEAD", "ref: refs/heads/main\n"),
    (".git/objects/x", ""),
    (".git/refs/x", ""),
    (".git/config", ""),
];

#[test]
fn a_repository_in_two_halves_is_seen() {
    let scene = Scene::new(&[]);
    let moved = scene.run(|scene| {
        scene.lay(&[("p/HEAD", "ref: refs/heads/x\n"), ("p/commondir", "../q\n"), ("q/config", EVIL)]);
        scene.lay(&[("q/objects/x", ""), ("q/refs/x", ""), ("q/hooks/pre-commit", "x")]);
    });
    assert_eq!(moved, ["p/HEAD", "q/config", "q/hooks"]);
    // One that was there is protected in both halves.
    let scene =
        Scene::new(&[("p/HEAD", "x"), ("p/commondir", "../q\n"), ("q/config", ""), ("q/hooks/x", "")]);
    scene.lay(&[("q/objects/x", ""), ("q/refs/x", "")]);
    assert_eq!(scene.protected(), ["p/commondir", "q/config", "q/hooks"]);
}

#[test]
fn a_bare_repository_is_seen_and_what_was_there_before_stays() {
    let scene = Scene::new(&[("app/config/routes", "mine"), ("app/hooks/x", "mine")]);
    let moved = scene.run(|scene| {
        scene.lay(&[("app/HEAD", "ref: refs/heads/x"), ("app/objects/x", ""), ("app/refs/x", "")]);
    });
    assert_eq!(moved, ["app/HEAD"]);
    assert!(scene.has("app/config/routes") && scene.has("app/hooks/x"));
    let scene = Scene::new(&[]);
    let moved = scene.run(|scene| {
        scene.lay(&[
            ("b.git/HEAD", "ref: refs/heads/x"),
            ("b.git/objects/x", ""),
            ("b.git/refs/x", ""),
            ("b.git/config", EVIL),
        ]);
    });
    assert_eq!(moved, ["b.git/HEAD"]);
}

#[test]
fn pointers_of_worktrees_and_submodules_are_protected() {
    let scene = Scene::new(REPOSITORY);
    scene.lay(&[
        (".git/worktrees/t/HEAD", "x"),
        (".git/worktrees/t/commondir", "../..\n"),
        (".git/worktrees/t/gitdir", "/x/.git\n"),
    ]);
    scene.lay(&[
        (".git/modules/a/b/c/d/e/config", ""),
        (".git/modules/a/b/c/d/e/hooks/x", ""),
        (".git/rebase-merge/git-rebase-todo", "exec x\n"),
    ]);
    scene.lay(&[
        ("bare/HEAD", ""),
        ("bare/objects/x", ""),
        ("bare/refs/x", ""),
        ("bare/info/attributes", ""),
        ("bare/sequencer/todo", "exec x\n"),
    ]);
    let protected = scene.protected();
    for path in [
        ".git/config",
        ".git/worktrees/t/commondir",
        ".git/worktrees/t/gitdir",
        ".git/modules/a/b/c/d/e/config",
        ".git/modules/a/b/c/d/e/hooks",
        ".git/rebase-merge",
        "bare/info/attributes",
        "bare/sequencer",
    ] {
        assert!(protected.iter().any(|one| one == path), "{path} in {protected:?}");
    }
    let moved = scene.run(|scene| {
        scene.lay(&[(".git/worktrees/n/HEAD", "x"), (".git/worktrees/n/commondir", "../../../evil\n")]);
        scene.lay(&[
            (".git/modules/n/config", EVIL),
            (".git/sequencer/todo", "exec x\n"),
            (".git/config.worktree", EVIL),
        ]);
    });
    assert_eq!(
        moved,
        [".git/config.worktree", ".git/modules/n/config", ".git/sequencer", ".git/worktrees/n/commondir"]
    );
}

#[test]
fn a_rebase_goes_on_as_long_as_it_starts_nothing() {
    let scene = Scene::new(REPOSITORY);
    scene.lay(&[(".git/rebase-merge/git-rebase-todo", "pick 12 x\n")]);
    assert!(!scene.protected().iter().any(|path| path.contains("rebase")));
    assert_eq!(
        scene.run(|scene| scene.lay(&[(".git/rebase-merge/git-rebase-todo", "pick 13 y\n")])),
        [""; 0]
    );
    let moved = scene.run(|scene| scene.lay(&[(".git/rebase-merge/git-rebase-todo", "exec x\n")]));
    assert_eq!(moved, [".git/rebase-merge"]);
}

#[test]
fn what_a_configuration_names_is_protected_and_taken_away_when_it_is_new() {
    let config = "[core]\n\thooksPath = tools/hooks\n\tattributesFile = later/attributes\n\tfsmonitor = later/watch.sh\n\
                  [include]\n\tpath = ../more.inc\n[filter \"f\"]\n\tclean = python3 tools/clean.py\n";
    let scene = Scene::new(REPOSITORY);
    scene.lay(&[
        (".git/config", config),
        ("tools/hooks/pre-commit", ""),
        ("tools/clean.py", ""),
        ("more.inc", ""),
    ]);
    assert_eq!(scene.protected(), [".git/config", "more.inc", "tools/clean.py", "tools/hooks"]);
    let moved =
        scene.run(|scene| scene.lay(&[("later/attributes", "* filter=f\n"), ("later/watch.sh", "x")]));
    assert_eq!(moved, ["later/attributes", "later/watch.sh"]);
    // The folder around it exchanged for another, or for a link.
    let moved = scene.run(|scene| {
        std::fs::rename(scene.root.join("tools"), scene.root.join("old")).unwrap();
        scene.lay(&[("tools/hooks/pre-commit", "evil"), ("tools/other", "")]);
    });
    assert_eq!(moved, ["tools/hooks"]);
    let scene = Scene::new(REPOSITORY);
    scene.lay(&[(".git/config", config), ("tools/hooks/pre-commit", ""), ("evil/hooks/pre-commit", "x")]);
    let moved = scene.run(|scene| {
        std::fs::rename(scene.root.join("tools"), scene.root.join("old")).unwrap();
        symlink("evil", scene.root.join("tools")).unwrap();
    });
    assert_eq!(moved, ["tools"]);
}

#[test]
fn a_new_link_is_moved_and_not_what_it_leads_to() {
    let scene = Scene::new(&[("src/main.rs", "mine")]);
    let moved = scene.run(|scene| symlink("src/main.rs", scene.root.join(".bashrc")).unwrap());
    assert_eq!(moved, [".bashrc"]);
    assert!(scene.has("src/main.rs"));
}

#[test]
fn decoys_do_not_end_the_look() {
    let scene = Scene::new(REPOSITORY);
    let moved = scene.run(|scene| {
        for number in 0..4_500 {
            scene.lay(&[(&format!("d{number}/.envrc"), "x")]);
        }
        scene.lay(&[(".git/hooks/pre-commit", "x")]);
    });
    assert_eq!(moved.len(), 4_501);
    assert!(!scene.has(".git/hooks/pre-commit"));
    assert_eq!(scene.run(|_| ()), [""; 0]);
}

#[test]
fn a_closed_folder_is_searched_and_not_moved_with_what_was_there() {
    let scene = Scene::new(&[("sub/.git/config", ""), ("sub/mine", "")]);
    let moved = scene.run(|scene| {
        scene.lay(&[("sub/.envrc", "x")]);
        std::fs::set_permissions(scene.root.join("sub"), std::fs::Permissions::from_mode(0o000)).unwrap();
    });
    assert_eq!(moved, ["sub/.envrc"]);
    assert!(scene.has("sub/mine"));
}

#[test]
fn the_configuration_cannot_be_the_whole_grant() {
    let scene = Scene::new(REPOSITORY);
    scene.lay(&[(".git/config", "[core]\n\thooksPath = .\n")]);
    let spec = Spec::new("/bin/sh").tree(&scene.root, Access::WRITE);
    assert!(Seen::look(&spec, Platform::of_this_machine()).is_err());
}

/// A relative path in a configuration that was there leads into each new working tree.
#[test]
fn what_configurations_name_in_new_working_trees_is_judged() {
    let repository = [
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/objects/x", ""),
        (".git/refs/x", ""),
        (".git/config", "[core]\nhooksPath = tools/hooks\nfsmonitor = tools/watch.sh\n"),
    ];
    let scene = Scene::new(&repository);
    let moved = scene.run(|scene| {
        scene.lay(&[
            ("sub/.git", "gitdir: ../.git\n"),
            ("sub/tools/hooks/pre-commit", "evil"),
            ("sub/tools/watch.sh", "evil"),
            ("sub/tools/other.sh", "honest"),
        ]);
    });
    assert_eq!(moved, ["sub/tools/hooks", "sub/tools/watch.sh"]);
}

/// A link that leads the working tree of a new repository out of the trees goes.
#[test]
fn a_new_working_tree_does_not_lie_elsewhere() {
    let scene = Scene::new(&[("keep", "")]);
    let moved = scene.run(|scene| {
        let (outside, link) = (scene.root.parent().unwrap(), scene.root.join("lib"));
        symlink(outside, &link).unwrap();
        scene.lay(&[
            ("new/.git/HEAD", "ref: refs/heads/main\n"),
            ("new/.git/objects/x", ""),
            ("new/.git/refs/x", ""),
            ("new/.git/config", "[core]\nworktree = ../../lib/elsewhere\n"),
        ]);
    });
    assert_eq!(moved, ["lib"]);
}

/// Another name of a script that a configuration names cannot be written either.
#[test]
fn another_name_of_what_a_configuration_names_is_read_only() {
    let scene = Scene::new(&[
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/objects/x", ""),
        (".git/refs/x", ""),
        (".git/config", "[core]\nfsmonitor = tools/watch.sh\n"),
        ("tools/watch.sh", "honest"),
        ("target/other", ""),
    ]);
    std::fs::hard_link(scene.root.join("tools/watch.sh"), scene.root.join("target/same")).unwrap();
    let protected = scene.protected();
    for path in ["tools/watch.sh", "target/same"] {
        assert!(protected.contains(&path.to_owned()), "{path}: {protected:?}");
    }
}

/// Another file that got the inode of the one that was there is another file.
#[test]
fn a_file_is_known_by_when_it_was_made_too() {
    let scene = Scene::new(&[(".envrc", "honest")]);
    let mut before = Before::of(&scene.plan());
    let found = seen(&scene.root.join(".envrc"), Kind::File, Treatment::ReadOnly).unwrap();
    assert!(before.knows(&found));
    let known = before.known.get_mut(&found.path).unwrap();
    let (seconds, _) = known.made.as_mut().expect("the file system keeps birth times");
    *seconds -= 1;
    assert!(!before.knows(&found));
}

#[test]
fn what_somebody_outside_uses_of_a_store_stays() {
    let scene = Scene::new(&[("ringfence.db", "store"), ("ringfence.db.lock", "")]);
    let lock = std::fs::File::open(scene.root.join("ringfence.db.lock")).unwrap();
    lock.try_lock_shared().unwrap();
    let lay = |scene: &Scene| scene.lay(&[("ringfence.db-wal", "log"), ("ringfence.db-shm", "index")]);
    assert_eq!(scene.run(lay), [""; 0]);
    assert!(scene.has("ringfence.db-wal") && scene.has("ringfence.db-shm"));
    // Nobody has it open: the log may hold what was acknowledged, so that it is told and stays.
    for name in ["ringfence.db-wal", "ringfence.db-shm"] {
        std::fs::remove_file(scene.root.join(name)).unwrap();
    }
    drop(lock);
    assert_eq!(scene.run_and_leave(lay), (vec![], vec!["ringfence.db-wal".to_owned()]));
    assert!(scene.has("ringfence.db-wal") && scene.has("ringfence.db-shm"));
    // Whoever has the store open next empties the log when it is closed.
    std::fs::remove_file(scene.root.join("ringfence.db-wal")).unwrap();
    assert_eq!(scene.run(|scene| scene.lay(&[("ringfence.db-wal", "")])), [""; 0]);
    // Of another store in its place nothing is known.
    std::fs::remove_file(scene.root.join("ringfence.db-wal")).unwrap();
    let moved = scene.run(|scene| {
        std::fs::remove_file(scene.root.join("ringfence.db")).unwrap();
        scene.lay(&[("taken", ""), ("ringfence.db", "other"), ("ringfence.db-wal", "log")]);
    });
    assert_eq!(moved, ["ringfence.db", "ringfence.db-wal"]);
    // Nor is a store left alone that was not there before.
    let scene = Scene::new(&[("sub/x", "")]);
    let moved = scene.run(|scene| {
        scene.lay(&[("ringfence.db", "store"), ("ringfence.db-wal", "log")]);
    });
    assert_eq!(moved, ["ringfence.db", "ringfence.db-wal"]);
}

#[test]
fn a_log_that_sqlite_removes_is_not_taken_for_an_attack() {
    let scene =
        Scene::new(&[("ringfence.db", "store"), ("ringfence.db-shm", "x"), ("ringfence.db.mark", "x")]);
    scene.lay(&[("sub/ringfence.db-shm", "x")]);
    let plan = scene.plan();
    let passes = |name: &str| plan.may_be_gone(&scene.root.join(name));
    assert!(passes("ringfence.db-shm"));
    assert!(!passes("ringfence.db") && !passes("ringfence.db.mark") && !passes("sub/ringfence.db-shm"));
}

#[test]
fn a_file_of_ours_that_decides_leaves_a_note_and_a_journal_of_a_store_is_told() {
    let scene = Scene::new(&[("a", "")]);
    let names = ["ringfence.db", "ringfence.lock.json", "ringfence.pins.json"];
    let moved = scene.run(|scene| scene.lay(&names.map(|name| (name, "planted"))));
    assert_eq!(moved, names);
    for name in names {
        let note = std::fs::read_to_string(scene.root.join(name)).unwrap();
        assert!(note.starts_with("ringfence moved what was here to `"), "{note}");
        assert_eq!(
            std::fs::read_to_string(scene.root.join(format!("{name}.quarantined-1"))).unwrap(),
            "planted"
        );
    }
    // The note is nothing new to the next run.
    assert!(scene.run(|_| {}).is_empty());

    // Somebody has the store open: what they make stays, but nobody makes a journal.
    let lock = std::fs::File::create(scene.root.join("ringfence.db.lock")).unwrap();
    let ended = scene.run_and_leave(|scene| {
        lock.lock_shared().unwrap();
        scene.lay(&[("ringfence.db-wal", "x"), ("ringfence.db-journal", "x"), ("ringfence.db.live/x", "")]);
    });
    assert_eq!(ended, (vec![], vec!["ringfence.db-journal".to_owned()]));
}

#[test]
fn a_folder_for_stores_leaves_a_note_in_its_place() {
    // Whoever makes the folder anew would begin a store that knows of nothing.
    for folder in [".ringfence", ".Ringfence", "sub/.ringfence", ".aws"] {
        let scene = Scene::new(&[("sub/x", "")]);
        let store = format!("{folder}/ringfence.db");
        let moved = scene.run(|scene| scene.lay(&[(&store, "store")]));
        assert_eq!(moved.first().unwrap(), folder);
        let note = std::fs::read_to_string(scene.root.join(folder)).unwrap();
        assert!(note.contains("remove this file and move it back"), "{folder}: {note}");
        assert!(scene.has(&format!("{folder}.quarantined-1")));
        std::fs::create_dir_all(scene.root.join(folder)).unwrap_err();
        assert!(scene.run(|_| {}).is_empty(), "{folder}: the note is nothing new");
    }
    let scene = Scene::new(&[]);
    assert_eq!(scene.run(|scene| scene.lay(&[(".aws/x", "key")])), [".aws"]);
    assert!(!scene.has(".aws"), "nothing in it decides");
}
