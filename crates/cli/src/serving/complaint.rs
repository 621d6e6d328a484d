//! What programs say when a file or a program is not there for them, in the words of the usual runtimes.

use std::path::PathBuf;

/// Words of a line that complains of a path.
const OF_A_PATH: &[&str] = &[
    "EACCES",
    "EPERM",
    "ENOENT",
    "EROFS",
    "denied",
    "not permitted",
    "No such file",
    "Read-only",
    "Cannot find",
];
/// The longest name of a program.
const LONGEST: usize = 64;

/// Returns the absolute paths that stand in quotes in a line that complains.
pub(super) fn quoted_paths(line: &str) -> Vec<PathBuf> {
    if !OF_A_PATH.iter().any(|word| line.contains(word)) {
        return Vec::new();
    }
    quoted(line).filter(|part| part.starts_with('/') && part.len() < 4096).map(PathBuf::from).collect()
}

/// Returns the programs that a line says it did not find, by their bare names.
pub(super) fn programs(line: &str) -> Vec<String> {
    let mut found: Vec<&str> = Vec::new();
    // Node: `spawn git ENOENT`.
    if let Some((_, after)) = line.split_once("spawn ")
        && let Some((name, error)) = after.split_once(' ')
        && ["ENOENT", "EACCES", "EPERM"].iter().any(|code| error.starts_with(code))
    {
        found.push(name);
    }
    // Shells: `sh: 1: git: not found`, `bash: line 1: git: command not found`, `zsh: command not found: git`.
    for said in [": command not found", ": not found", ": Permission denied"] {
        match line.split_once(said) {
            Some((before, "")) => found.extend(before.rsplit(": ").next()),
            Some((_, after)) => found.extend(after.strip_prefix(": ")),
            None => {}
        }
    }
    // Python: `No such file or directory: 'git'`. What is not a bare name is a path.
    for said in ["No such file or directory:", "Permission denied:"] {
        found.extend(line.split_once(said).and_then(|(_, after)| quoted(after).next()));
    }
    // GitPython: `Bad git executable.`; Go: `exec: "git": executable file not found in $PATH`; others in between.
    if let Some((before, after)) = line.split_once(" executable") {
        let last = before.rsplit(' ').next();
        if before.rsplit(' ').nth(1) == Some("Bad") || after.trim_start().starts_with("not found") {
            found.extend(last);
        }
    }
    if line.to_ascii_lowercase().contains("executable") && line.contains("not found") {
        found.extend(quoted(line));
    }
    let bare = found.into_iter().map(|name| {
        let name = name.trim_matches(['\'', '"', '`']);
        name.rsplit('/').next().unwrap_or(name)
    });
    let mut names: Vec<String> = bare.filter(|name| is_program_name(name)).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn is_program_name(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-');
    (1..=LONGEST).contains(&name.len()) && name.chars().all(legal) && !name.starts_with(['-', '.'])
}

/// Goes through what stands in quotes.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    ['\'', '"', '`'].into_iter().flat_map(move |quote| line.split(quote).skip(1).step_by(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_where_a_server_complains_of_them() {
        #[rustfmt::skip]
        let cases = [
            ("Error: EACCES: permission denied, open '/srv/data/x'",               Some("/srv/data/x")),
            ("PermissionError: [Errno 13] Permission denied: '/etc/shadow'",       Some("/etc/shadow")),
            ("FileNotFoundError: [Errno 2] No such file or directory: \"/a b\"",   Some("/a b")),
            ("Error: Cannot find module '/x'",                                     Some("/x")),
            ("listening on '/run/x'",                                              None),
            ("it's denied, isn't it",                                              None),
        ];
        for (line, path) in cases {
            assert_eq!(quoted_paths(line), Vec::from_iter(path.map(PathBuf::from)), "{line}");
        }
    }

    #[test]
    fn programs_are_found_where_a_server_misses_them() {
        #[rustfmt::skip]
        let cases = [
            ("Error: spawn git ENOENT",                                             Some("git")),
            ("Error: spawn /usr/bin/git EACCES",                                    Some("git")),
            ("FileNotFoundError: [Errno 2] No such file or directory: 'git'",       Some("git")),
            ("PermissionError: [Errno 13] Permission denied: '/usr/bin/git'",       Some("git")),
            ("git: command not found",                                              Some("git")),
            ("bash: line 1: git: command not found",                                Some("git")),
            ("sh: 1: git: not found",                                               Some("git")),
            ("sh: 1: /usr/bin/git: not found",                                      Some("git")),
            ("zsh: command not found: git",                                         Some("git")),
            ("ImportError: Bad git executable.",                                    Some("git")),
            ("exec: \"git\": executable file not found in $PATH",                   Some("git")),
            ("Executable 'git' not found",                                          Some("git")),
            ("the git executable not found",                                        Some("git")),
            ("Error: tool executable `c++` was not found",                          Some("c++")),
            ("spawning git",                                                        None),
            ("spawn git failed",                                                    None),
            ("spawn $(reboot) ENOENT",                                              None),
            ("spawn --help ENOENT",                                                 None),
            ("No such file or directory: 'a b'",                                    None),
            ("No such file or directory",                                           None),
            ("page not found",                                                      None),
            ("",                                                                    None),
        ];
        for (line, program) in cases {
            assert_eq!(programs(line), Vec::from_iter(program.map(str::to_owned)), "{line}");
        }
        assert!(programs(&format!("spawn {} ENOENT", "g".repeat(LONGEST + 1))).is_empty());
    }
}
