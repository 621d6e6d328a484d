//! What may stay.

use std::process::{Command, Stdio};

use super::*;

fn git(folder: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args([
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "protocol.file.allow=always",
    ]);
    git.args(["-c", "commit.gpgsign=false"]).args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    assert!(git.status().unwrap().success(), "{arguments:?}");
}

/// Everything on the floor below a folder, and whether it may stay.
fn judged(root: &Path) -> Vec<(String, bool)> {
    let all = crate::host::survey(root, true, &NamedPaths::default()).unwrap();
    let shown = |path: &Path| path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
    let judged = all.into_iter().filter(|one| one.treatment != crate::host::Treatment::Watch);
    judged.map(|one| (shown(&one.path), is_inert(&one.path, &[root.to_path_buf()]))).collect()
}

#[test]
fn what_git_makes_stays() {
    let folder = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    git(&root, &["init", "-q", "main"]);
    let main = root.join("main");
    git(&main, &["commit", "-q", "--allow-empty", "-m", "x"]);
    git(&root, &["clone", "-q", "main", "copy"]);
    git(&root, &["clone", "-q", "--bare", "main", "bare.git"]);
    git(&root, &["init", "-q", "--separate-git-dir=apart", "work"]);
    git(&main, &["worktree", "add", "-q", "../tree"]);
    git(&root, &["init", "-q", "super"]);
    git(&root.join("super"), &["submodule", "--quiet", "add", "../main", "dep"]);
    git(&root, &["init", "-q", "--object-format=sha256", "long"]);
    let refused: Vec<_> =
        judged(&root).into_iter().filter(|(_, stays)| !stays).map(|(path, _)| path).collect();
    assert_eq!(refused, [""; 0]);
}

#[test]
fn pointers_stay_only_where_everything_they_lead_to_is_searched() {
    let folder = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    let outside = tempfile::tempdir().unwrap();
    git(&root, &["init", "-q", "main"]);
    git(outside.path(), &["init", "-q", "other"]);
    let main = root.join("main");
    git(&main, &["commit", "-q", "--allow-empty", "-m", "x"]);
    git(&main, &["worktree", "add", "-q", "../tree"]);
    let file = root.join("tree/.git");
    let inert = |path: &Path| is_inert(path, std::slice::from_ref(&root));
    assert!(inert(&file));
    let other = outside.path().join("other/.git").to_string_lossy().into_owned();
    std::os::unix::fs::symlink(main.join(".git"), root.join("link")).unwrap();
    for target in [other.as_str(), "../gone", "../link", "..", "../main"] {
        std::fs::write(&file, format!("gitdir: {target}\n")).unwrap();
        assert!(!inert(&file), "{target}");
    }
    let (common, back) =
        (main.join(".git/worktrees/tree/commondir"), main.join(".git/worktrees/tree/gitdir"));
    assert!(inert(&common) && inert(&back));
    std::fs::write(&back, "/home/x/.git\n").unwrap();
    assert!(!inert(&back));
    std::fs::write(&common, "../../../../evil\n").unwrap();
    assert!(!inert(&common));
    // A folder beside a repository that claims to be a worktree.
    std::fs::create_dir_all(root.join("p/worktrees/x")).unwrap();
    std::fs::write(root.join("p/worktrees/x/commondir"), "../..\n").unwrap();
    assert!(!inert(&root.join("p/worktrees/x/commondir")));
}

#[test]
fn a_hook_is_never_a_sample() {
    let folder = tempfile::tempdir().unwrap();
    let hooks = folder.path().join("hooks");
    std::fs::create_dir(&hooks).unwrap();
    assert!(!is_inert(&hooks, &[]), "no repository is around it");
    make_repository(folder.path());
    std::fs::write(hooks.join("pre-commit.sample"), "x").unwrap();
    assert!(is_inert(&hooks, &[]));
    std::fs::create_dir(hooks.join("x.sample")).unwrap();
    assert!(!is_inert(&hooks, &[]));
    std::fs::remove_dir(hooks.join("x.sample")).unwrap();
    std::fs::write(hooks.join("pre-commit"), "x").unwrap();
    assert!(!is_inert(&hooks, &[]));
}

fn make_repository(folder: &Path) {
    for name in ["HEAD", "objects/x", "refs/x"] {
        std::fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
        std::fs::write(folder.join(name), "").unwrap();
    }
}

/// To git it is one harmless value, to cargo a program that it starts.
#[test]
fn a_file_that_two_programs_read_differently_does_not_stay() {
    let both = "[user]\nname = '\"' # \\\n[build] # \\\nrustc-wrapper = './evil.sh' # \"\n";
    let plain = "[user]\n\tname = a\n";
    for (path, text, stays) in [
        (".cargo/config", both, false),
        (".cargo/config", plain, false),
        (".pijul/config", plain, false),
        ("config", both, false),
        ("config", plain, true),
        ("sub/config", plain, false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        make_repository(folder.path());
        let file = folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        if path.starts_with('.') {
            make_repository(file.parent().unwrap());
        }
        std::fs::write(&file, text).unwrap();
        assert_eq!(is_inert(&file, &[folder.path().to_path_buf()]), stays, "{path}: {text}");
    }
}
