//! New files that are on the floor by name and can do nothing: samples of hooks, and a git configuration as git itself
//! writes it for a new repository.

use std::path::Path;

/// The most a configuration of a new repository takes.
const MAX_CONFIG: u64 = 64 << 10;

/// Tells whether a new file or folder on the floor may stay.
pub(crate) fn is_inert(path: &Path) -> bool {
    let named = |wanted: &str| path.file_name().is_some_and(|name| name == wanted);
    let Ok(found) = std::fs::symlink_metadata(path) else { return false };
    match () {
        () if named("hooks") && found.is_dir() => holds_only_samples(path),
        () if named("config") && found.is_file() && found.len() <= MAX_CONFIG => {
            std::fs::read_to_string(path).is_ok_and(|text| is_plain_config(&text))
        }
        () => false,
    }
}

/// Git never runs a hook whose name ends in `.sample`.
fn holds_only_samples(folder: &Path) -> bool {
    let is_sample = |entry: std::fs::DirEntry| {
        entry.path().extension().is_some_and(|extension| extension == "sample")
            && entry.file_type().is_ok_and(|kind| kind.is_file())
    };
    std::fs::read_dir(folder).is_ok_and(|listed| listed.flatten().all(is_sample))
}

/// What git writes into the configuration of a repository that it makes or clones. Anything else may run a program.
fn is_plain_config(text: &str) -> bool {
    let mut section = String::new();
    text.lines().map(str::trim).filter(|line| !line.is_empty()).all(|line| {
        if let Some(header) = line.strip_prefix('[') {
            let Some(header) = header.strip_suffix(']') else { return false };
            section = header.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
            return matches!(section.as_str(), "branch" | "core" | "remote" | "user");
        }
        // A line that goes on in the next one is nothing git writes here.
        let Some((key, value)) = line.split_once('=').filter(|_| !line.ends_with('\\')) else { return false };
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
        match (section.as_str(), key.as_str()) {
            (
                "core",
                "bare" | "filemode" | "ignorecase" | "logallrefupdates" | "precomposeunicode" | "symlinks",
            ) => {
                matches!(value, "true" | "false")
            }
            ("core", "repositoryformatversion") => value == "0",
            ("branch", "merge" | "remote") | ("remote", "fetch") | ("user", "email" | "name") => true,
            ("remote", "url") => is_plain_address(value),
            _ => false,
        }
    })
}

/// A path or an address of a kind that starts nothing but git's own programs.
fn is_plain_address(address: &str) -> bool {
    let known = ["/", "./", "../", "https://", "http://", "file:///"];
    known.iter().any(|start| address.starts_with(start)) && !address.contains("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_writes_is_plain_and_nothing_else_is() {
        let plain = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
                     [remote \"origin\"]\n\turl = /srv/repo\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                     [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";
        assert!(is_plain_config(plain));
        assert!(is_plain_config(""));
        for hostile in [
            "[core]\n\tfsmonitor = /tmp/x\n",
            "[core]\n\thooksPath = /tmp\n",
            "[CORE]\n\tsshCommand = sh\n",
            "[core]\n\tbare = false\\\n\n",
            "[core]\n\trepositoryformatversion = 1\n",
            "[alias]\n\tst = !sh\n",
            "[include]\n\tpath = evil\n",
            "[remote \"o\"]\n\turl = ext::sh -c x\n",
            "[remote \"o\"]\n\turl = -oProxyCommand=x\n",
            "[remote \"o\"]\n\tuploadpack = sh\n",
            "[core] fsmonitor = x\n",
            "evil",
            "[core\n",
        ] {
            assert!(!is_plain_config(hostile), "{hostile}");
        }
    }
}
