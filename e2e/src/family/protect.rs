//! Names that make someone else run code later: hooks, start-up files, editor and agent configuration.
//!
//! Whether one got through is judged on the host after the run: a name that did not exist may be written inside, when
//! it is taken away before anyone else sees it.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::probe::{Outcome, PAYLOAD, Probe, Proof, Stop, setup};
use crate::scene::Scene;
use crate::sys::c;

macro_rules! rows {
    ($($kind:ident $name:literal $path:literal,)*) => {
        &[$(Probe::$kind(concat!("protect::", $name), $path, concat!("{work}/", $path)),)*]
    };
}

/// Names that are there, or not, and simply written.
pub(crate) const NAMES: &[Probe] = rows![
    edit "edit_git_config" ".git/config",
    edit "edit_git_hook" ".git/hooks/post-commit",
    edit "edit_nested_git_config" "sub/repo/.git/config",
    edit "edit_nested_git_hook" "sub/repo/.git/hooks/post-commit",
    edit "edit_submodule_config" ".git/modules/dep/config",
    edit "edit_deep_submodule_config" ".git/modules/a/b/c/d/e/config",
    edit "edit_worktree_commondir" ".git/worktrees/t/commondir",
    edit "edit_worktree_gitdir" ".git/worktrees/t/gitdir",
    edit "edit_rebase_list" ".git/rebase-merge/git-rebase-todo",
    edit "edit_hook_named_by_config" "named/tools/hooks/pre-commit",
    edit "edit_included_config" "named/more.inc",
    edit "edit_attributes_named_by_config" "named/attributes",
    edit "edit_filter_named_by_config" "named/tools/clean.py",
    edit "edit_monitor_named_by_config" "named/bin/watch",
    edit "edit_bashrc" ".bashrc",
    edit "edit_bash_profile" ".bash_profile",
    edit "edit_profile" ".profile",
    edit "edit_zshrc" ".zshrc",
    edit "edit_envrc" ".envrc",
    edit "edit_gitconfig" ".gitconfig",
    edit "edit_vscode_tasks" ".vscode/tasks.json",
    edit "edit_idea" ".idea/workspace.xml",
    edit "edit_claude_settings" ".claude/settings.json",
    edit "edit_cursor_mcp" ".cursor/mcp.json",
    edit "edit_mcp" ".mcp.json",
    plant "plant_git_hook" ".git/hooks/pre-commit",
    plant "plant_git_worktree_config" ".git/config.worktree",
    plant "plant_nested_git_hook" "deep/er/.git/hooks/post-checkout",
    plant "plant_nested_git_config" "deep/.git/config",
    plant "plant_rebase_list" ".git/rebase-merge/git-rebase-todo",
    plant "plant_sequence" ".git/sequencer/todo",
    plant "plant_submodule_config" ".git/modules/a/b/c/d/e/f/config",
    plant "plant_program_named_by_config" "named/later/edit.sh",
    plant "plant_zshenv" ".zshenv",
    plant "plant_zprofile" ".zprofile",
    plant "plant_bash_login" ".bash_login",
    plant "plant_ripgreprc" ".ripgreprc",
    plant "plant_gitmodules" ".gitmodules",
    plant "plant_envrc" "sub/.envrc",
    plant "plant_vscode_settings" ".vscode/settings.json",
    plant "plant_vscode_new" "sub/.vscode/tasks.json",
    plant "plant_claude_local" ".claude/settings.local.json",
    plant "plant_claude_command" ".claude/commands/x.md",
    plant "plant_claude_new" "sub/.claude/settings.json",
    plant "plant_cursor_new" "sub/.cursor/mcp.json",
    plant "plant_mcp" "sub/.mcp.json",
];

/// Ways around a name that cannot simply be written.
pub(crate) const WAYS: &[Probe] = &[
    Probe::new("protect::git_config_by_rename", git_config_by_rename).proof(CONFIG),
    Probe::new("protect::git_config_by_unlink", git_config_by_unlink).proof(CONFIG),
    Probe::new("protect::git_config_by_hardlink", git_config_by_hardlink).proof(CONFIG),
    Probe::new("protect::git_config_by_symlink", git_config_by_symlink).proof(CONFIG),
    Probe::new("protect::git_folder_moved", git_folder_moved).proof(HOOK),
    Probe::new("protect::git_folder_exchanged", git_folder_exchanged).proof(HOOK),
    Probe::new("protect::git_hooks_moved", git_hooks_moved).proof(HOOK),
    Probe::new("protect::git_hooks_linked", git_hooks_linked).proof(HOOK),
    Probe::new("protect::parent_of_nested_moved", parent_of_nested_moved)
        .proof(Proof::Holds("{work}/sub/repo/.git/hooks/pre-commit")),
    Probe::new("protect::git_folder_renamed", |scene| renamed(scene, ".git")).word(),
    Probe::new("protect::folder_above_renamed", |scene| renamed(scene, "sub")).word(),
    Probe::new("protect::link_replaced", link_replaced).word(),
    Probe::new("protect::link_into_another_grant", |scene| {
        fs::write(scene.expand("{other}/dot/rc"), PAYLOAD)?;
        Ok("written".to_owned())
    })
    .flags(&["--write", "{other}"])
    .proof(Proof::Holds("{other}/dot/rc")),
    Probe::new("protect::link_into_another_grant_moved", |scene| {
        fs::rename(scene.expand("{other}/dot"), scene.expand("{other}/old"))?;
        setup(fs::create_dir(scene.expand("{other}/dot")))?;
        fs::write(scene.expand("{other}/dot/rc"), PAYLOAD)?;
        Ok("another file in its place".to_owned())
    })
    .flags(&["--write", "{other}"])
    .proof(Proof::Holds("{other}/dot/rc")),
    Probe::new("protect::link_in_hooks", |scene| {
        fs::write(scene.work("scripts/post-merge")?, PAYLOAD)?;
        Ok("written".to_owned())
    })
    .proof(Proof::Holds("{work}/scripts/post-merge")),
    Probe::new("protect::shared_with_its_own_name", |scene| {
        fs::write(scene.work("same-as-profile")?, PAYLOAD)?;
        Ok("written by another name".to_owned())
    })
    .proof(Proof::Holds("{work}/.profile")),
    Probe::new("protect::gitfile_planted", gitfile_planted).proof(Proof::Holds("{work}/tree/.git")),
    Probe::new("protect::bare_repository", bare_repository).proof(Proof::Holds("{work}/bare/HEAD")),
    Probe::new("protect::split_repository", split_repository).proof(Proof::Holds("{work}/half/HEAD")),
    Probe::new("protect::worktree_planted", worktree_planted)
        .proof(Proof::Holds("{work}/.git/worktrees/new/commondir")),
    Probe::new("protect::named_hooks_moved", named_hooks_moved).proof(NAMED_HOOK),
    Probe::new("protect::named_hooks_linked", named_hooks_linked).proof(NAMED_HOOK),
    Probe::new("protect::behind_decoys", behind_decoys)
        .proof(Proof::Holds("{work}/zz/.git/hooks/pre-commit")),
    Probe::new("protect::bashrc_by_symlink", bashrc_by_symlink).proof(Proof::Holds("{work}/.zlogin")),
];

const CONFIG: Proof = Proof::Holds("{work}/.git/config");
const NAMED_HOOK: Proof = Proof::Holds("{work}/named/tools/hooks/pre-commit");
const HOOK: Proof = Proof::Holds("{work}/.git/hooks/pre-commit");

/// Changes what is there, without a new name.
pub(crate) fn edit(scene: &Scene, path: &str) -> Outcome {
    let path = scene.work(path)?;
    if !path.exists() {
        return Err(Stop::Broken(format!("`{}` is not there", path.display())));
    }
    OpenOptions::new().append(true).open(&path)?.write_all(hostile(&path).as_bytes())?;
    Ok("changed".to_owned())
}

/// Makes it and the folders above it.
pub(crate) fn plant(scene: &Scene, path: &str) -> Outcome {
    let path = scene.work(path)?;
    if path.exists() {
        return Err(Stop::Broken(format!("`{}` is already there", path.display())));
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(&path, hostile(&path))?;
    fs::set_permissions(&path, Permissions::from_mode(0o755))?;
    Ok("planted".to_owned())
}

/// What would do harm in a file of that name.
fn hostile(path: &Path) -> String {
    let name = path.to_string_lossy();
    if name.contains("/hooks/") {
        format!("#!/bin/sh\n{PAYLOAD}\n")
    } else if name.contains("config") {
        format!("[core]\n\tfsmonitor = {PAYLOAD}\n")
    } else {
        PAYLOAD.to_owned()
    }
}

fn git_config_by_rename(scene: &Scene) -> Outcome {
    let own = scene.work("own")?;
    setup(fs::write(&own, PAYLOAD))?;
    fs::rename(own, scene.work(".git/config")?)?;
    Ok("replaced".to_owned())
}

fn git_config_by_unlink(scene: &Scene) -> Outcome {
    let config = scene.work(".git/config")?;
    fs::remove_file(&config)?;
    fs::write(config, PAYLOAD)?;
    Ok("made anew".to_owned())
}

fn git_config_by_hardlink(scene: &Scene) -> Outcome {
    let alias = scene.work("alias")?;
    fs::hard_link(scene.work(".git/config")?, &alias)?;
    fs::write(alias, PAYLOAD)?;
    Ok("changed by its other name".to_owned())
}

fn git_config_by_symlink(scene: &Scene) -> Outcome {
    let link = scene.work("link")?;
    setup(symlink(".git", &link))?;
    fs::write(link.join("config"), PAYLOAD)?;
    Ok("changed through a link".to_owned())
}

fn planted_repository(scene: &Scene, name: &str) -> Result<(), Stop> {
    let hooks = scene.work(name)?.join("hooks");
    setup(fs::create_dir_all(&hooks))?;
    setup(fs::write(hooks.join("pre-commit"), PAYLOAD))
}

fn git_folder_moved(scene: &Scene) -> Outcome {
    planted_repository(scene, "other")?;
    fs::rename(scene.work(".git")?, scene.work("old")?)?;
    fs::rename(scene.work("other")?, scene.work(".git")?)?;
    Ok("another repository in its place".to_owned())
}

fn git_folder_exchanged(scene: &Scene) -> Outcome {
    planted_repository(scene, "other")?;
    let (git, other) = (c(scene.work(".git")?), c(scene.work("other")?));
    let here = libc::AT_FDCWD;
    sys!(libc::SYS_renameat2, here, git.as_ptr(), here, other.as_ptr(), libc::RENAME_EXCHANGE)?;
    Ok("exchanged".to_owned())
}

fn git_hooks_moved(scene: &Scene) -> Outcome {
    planted_repository(scene, "other")?;
    fs::rename(scene.work(".git/hooks")?, scene.work("old")?)?;
    fs::rename(scene.work("other/hooks")?, scene.work(".git/hooks")?)?;
    Ok("other hooks in their place".to_owned())
}

fn git_hooks_linked(scene: &Scene) -> Outcome {
    planted_repository(scene, "other")?;
    fs::rename(scene.work(".git/hooks")?, scene.work("old")?)?;
    symlink("../other/hooks", scene.work(".git/hooks")?)?;
    Ok("hooks are a link".to_owned())
}

fn parent_of_nested_moved(scene: &Scene) -> Outcome {
    planted_repository(scene, "other/repo/.git")?;
    fs::rename(scene.work("sub")?, scene.work("old")?)?;
    fs::rename(scene.work("other")?, scene.work("sub")?)?;
    Ok("another folder in its place".to_owned())
}

/// While the command runs nobody looks: who uses the folder meanwhile would take what is put there.
fn renamed(scene: &Scene, name: &str) -> Outcome {
    fs::rename(scene.work(name)?, scene.work("elsewhere")?)?;
    Ok("moved away".to_owned())
}

/// What a start-up file leads to is as good as the file.
fn link_replaced(scene: &Scene) -> Outcome {
    let link = scene.work(".bashrc")?;
    setup(fs::write(scene.work("own")?, PAYLOAD))?;
    fs::remove_file(&link)?;
    symlink("own", link)?;
    Ok("it leads elsewhere".to_owned())
}

/// A `.git` that is a file names the folder git takes its hooks from.
fn gitfile_planted(scene: &Scene) -> Outcome {
    let tree = scene.work("tree")?;
    setup(fs::create_dir(&tree))?;
    fs::write(tree.join(".git"), format!("gitdir: ../{PAYLOAD}\n"))?;
    Ok("planted".to_owned())
}

/// Files below the writable grant; where one is refused, the rest is not made.
fn laid(scene: &Scene, files: &[(&str, &str)]) -> Outcome {
    for (path, text) in files {
        let path = scene.work(path)?;
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    Ok("planted".to_owned())
}

const EVIL_CONFIG: &str = "[core]\n\tfsmonitor = rf-payload\n";
const EVIL_HEAD: &str = "ref: refs/heads/rf-payload\n";

fn bare_repository(scene: &Scene) -> Outcome {
    laid(
        scene,
        &[
            ("bare/HEAD", EVIL_HEAD),
            ("bare/objects/x", ""),
            ("bare/refs/x", ""),
            ("bare/config", EVIL_CONFIG),
        ],
    )
}

/// A repository whose configuration lies in another folder, which is no repository itself.
fn split_repository(scene: &Scene) -> Outcome {
    laid(
        scene,
        &[
            ("half/HEAD", EVIL_HEAD),
            ("half/commondir", "../other\n"),
            ("other/objects/x", ""),
            ("other/refs/x", ""),
            ("other/config", EVIL_CONFIG),
        ],
    )
}

fn worktree_planted(scene: &Scene) -> Outcome {
    laid(
        scene,
        &[(".git/worktrees/new/HEAD", EVIL_HEAD), (".git/worktrees/new/commondir", "../../../rf-payload\n")],
    )
}

fn named_hooks_moved(scene: &Scene) -> Outcome {
    fs::rename(scene.work("named/tools")?, scene.work("named/old")?)?;
    laid(scene, &[("named/tools/hooks/pre-commit", PAYLOAD)])
}

fn named_hooks_linked(scene: &Scene) -> Outcome {
    laid(scene, &[("named/evil/hooks/pre-commit", PAYLOAD)])?;
    fs::rename(scene.work("named/tools")?, scene.work("named/old")?)?;
    symlink("evil", scene.work("named/tools")?)?;
    Ok("linked".to_owned())
}

/// More protected names than were ever counted, and one that matters.
fn behind_decoys(scene: &Scene) -> Outcome {
    for number in 0..5_000 {
        let folder = scene.work(&format!("d{number}"))?;
        setup(fs::create_dir(&folder))?;
        fs::write(folder.join(".envrc"), "x")?;
    }
    laid(scene, &[("zz/.git/hooks/pre-commit", PAYLOAD)])
}

fn bashrc_by_symlink(scene: &Scene) -> Outcome {
    let own = scene.work("own")?;
    setup(fs::write(&own, PAYLOAD))?;
    symlink("own", scene.work(".zlogin")?)?;
    Ok("planted as a link".to_owned())
}
