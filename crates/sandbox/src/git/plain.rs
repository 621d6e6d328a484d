//! Configurations that start nothing: as git writes them for repositories that it makes.

use std::path::{Component, Path, PathBuf};

use super::config::Config;

/// Tells whether a configuration holds only what git writes for a new repository, a clone, a submodule or a worktree. Anything
/// else may run a program. `repository` is where it lies, `trees` where a working tree may be.
pub(crate) fn is_plain(config: &Config, repository: &Path, trees: &[PathBuf]) -> bool {
    config.is_regular
        && config.settings.iter().all(|setting| {
            let value = match &setting.value {
                // A key alone means true.
                None => "true",
                Some(value) => match std::str::from_utf8(value) {
                    Ok(value) if !value.contains(char::is_control) => value,
                    Ok(_) | Err(_) => return false,
                },
            };
            let part = setting.part().is_some();
            match (setting.section(), part, setting.key()) {
                (
                    b"core",
                    false,
                    b"bare"
                    | b"filemode"
                    | b"ignorecase"
                    | b"logallrefupdates"
                    | b"precomposeunicode"
                    | b"sparsecheckout"
                    | b"sparsecheckoutcone"
                    | b"symlinks",
                )
                | (b"extensions", false, b"preciousobjects" | b"relativeworktrees" | b"worktreeconfig")
                | (b"index", false, b"sparse")
                | (b"pull", false, b"rebase")
                | (b"remote", true, b"mirror" | b"promisor" | b"prune")
                | (b"submodule", true, b"active")
                | (b"branch", true, b"rebase") => is_boolean(value),
                (b"core", false, b"autocrlf") => is_boolean(value) || value == "input",
                (b"core", false, b"repositoryformatversion")
                | (b"lfs", false, b"repositoryformatversion") => {
                    matches!(value, "0" | "1")
                }
                (b"core", false, b"worktree") => is_inside(&repository.join(value), trees),
                (b"extensions", false, b"objectformat") => matches!(value, "sha1" | "sha256"),
                (b"extensions", false, b"refstorage") => matches!(value, "files" | "reftable"),
                (b"branch", true, b"remote") => !value.starts_with('-') && !value.contains("::"),
                (b"branch", true, b"merge")
                | (b"extensions", false, b"partialclone")
                | (b"init", false, b"defaultbranch")
                | (b"remote", true, b"fetch" | b"partialclonefilter" | b"tagopt")
                | (b"submodule", false, b"active")
                | (b"user", false, b"email" | b"name") => {
                    !value.starts_with('-') || value.starts_with("--no-tags")
                }
                (b"remote", true, b"url") | (b"submodule", true, b"url") => is_plain_address(value),
                _ => false,
            }
        })
}

/// Tells whether a `.gitmodules` names only where submodules come from and where they are put, as `git submodule add` writes it.
pub(crate) fn is_plain_modules(config: &Config) -> bool {
    config.is_regular
        && config.settings.iter().all(|setting| {
            let value = setting.value.as_deref().and_then(|value| std::str::from_utf8(value).ok());
            let Some(value) = value.filter(|value| !value.contains(char::is_control)) else { return false };
            let is_below = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
            match (setting.section(), setting.part().is_some(), setting.key()) {
                (b"submodule", true, b"path") => !value.starts_with('-') && is_below(Path::new(value)),
                (b"submodule", true, b"url") => is_plain_address(value),
                (b"submodule", true, b"branch") => !value.starts_with('-'),
                (b"submodule", true, b"shallow") => is_boolean(value),
                _ => false,
            }
        })
}

fn is_boolean(value: &str) -> bool {
    ["true", "false", "yes", "no", "on", "off", "1", "0", ""]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word))
}

/// Tells whether a path lies in one of the trees, however it is written, and no link in them leads it elsewhere.
pub(crate) fn is_inside(path: &Path, trees: &[PathBuf]) -> bool {
    let is_link = |path: &Path| {
        trees.iter().any(|tree| path.starts_with(tree) && path != tree)
            && path.symlink_metadata().is_ok_and(|found| found.is_symlink())
    };
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
        if is_link(&plain) {
            return false;
        }
    }
    trees.iter().any(|tree| plain.starts_with(tree))
}

/// A path or an address of a kind that starts nothing but git's own programs and `ssh`.
fn is_plain_address(address: &str) -> bool {
    let known = ["/", "./", "../", "https://", "http://", "git://", "file:///"];
    let is_known = known.iter().any(|start| address.starts_with(start));
    (is_known || is_secure_shell(address)) && !address.contains("::")
}

/// `ssh://name@host/path` or `name@host:path`, in letters that no shell and no option begins with.
fn is_secure_shell(address: &str) -> bool {
    let rest = address.strip_prefix("ssh://").unwrap_or(address);
    let Some((place, _)) = rest.split_once(if rest.len() < address.len() { '/' } else { ':' }) else {
        return false;
    };
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphanumeric())
            && name.chars().all(|one| one.is_ascii_alphanumeric() || "-._".contains(one))
    };
    match place.split_once('@') {
        Some((user, host)) => is_name(user) && is_name(host.split(':').next().unwrap_or_default()),
        None => rest.len() < address.len() && is_name(place.split(':').next().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::parse;
    use super::*;

    #[test]
    fn modules_are_plain_when_they_only_say_where() {
        let is_plain = |text: &str| is_plain_modules(&parse(text.as_bytes()));
        assert!(is_plain("[submodule \"dep\"]\n\tpath = lib/dep\n\turl = ../dep\n\tbranch = main\n"));
        for hostile in [
            "[submodule \"x\"]\n\tupdate = !sh\n",
            "[submodule \"x\"]\n\tpath = ../x\n",
            "[submodule \"x\"]\n\tpath = -x\n",
            "[submodule \"x\"]\n\turl = ext::sh\n",
            "[core]\n\tbare = true\n",
            "evil",
        ] {
            assert!(!is_plain(hostile), "{hostile}");
        }
    }

    #[test]
    fn what_git_writes_is_plain_and_nothing_else_is() {
        let is_plain = |text: &str| {
            is_plain(&parse(text.as_bytes()), Path::new("/w/.git/modules/dep"), &[PathBuf::from("/w")])
        };
        for plain in [
            "",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
             [remote \"origin\"]\n\turl = /srv/repo\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
             [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
            "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n\tworktreeConfig = true\n\
             [remote \"origin\"]\n\tpromisor = true\n\tpartialclonefilter = blob:none\n\turl = git@host.example:a/b.git\n",
            "[core]\n\tworktree = ../../../dep\n[submodule]\n\tactive = .\n[submodule \"dep\"]\n\turl = https://x/y\n",
            "[core]\n\tbare = false # a note\n",
        ] {
            assert!(is_plain(plain), "{plain}");
        }
        for hostile in [
            "[core]\n\tfsmonitor = /tmp/x\n",
            "[core]\n\thooksPath = /tmp\n",
            "[CORE]\n\tsshCommand = sh\n",
            "[core]\n\tworktree = /home\n",
            "[core]\n\tworktree = ../../../../home\n",
            "[core]\n\trepositoryformatversion = 2\n",
            "[alias]\n\tst = !sh\n",
            "[include]\n\tpath = evil\n",
            "[includeIf \"gitdir:/\"]\n\tpath = evil\n",
            "[remote \"o\"]\n\turl = ext::sh -c x\n",
            "[remote \"o\"]\n\turl = -oProxyCommand=x\n",
            "[remote \"o\"]\n\turl = ssh://-oProxyCommand=x/y\n",
            "[remote \"o\"]\n\turl = a@-x:y\n",
            "[remote \"o\"]\n\tuploadpack = sh\n",
            "[submodule \"o\"]\n\tupdate = !sh\n",
            "[core] fsmonitor = x\n",
            "[core] bare = false\\\n\nfsmonitor = x\n",
            "[branch \"x\"] [core] fsmonitor = \"touch x;\" #]\n",
            "[branch \"a\\\"]\n",
            "[user]\n\tname = a\" b\n",
            "[core]\n\tbare = false\0\n",
            "evil",
            "[core\n",
        ] {
            assert!(!is_plain(hostile), "{hostile}");
        }
    }
}
