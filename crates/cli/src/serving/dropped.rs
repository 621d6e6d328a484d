//! Variables of the client that a server does not get: their names, for whoever set them.

use std::collections::BTreeMap;

/// How many names are told.
const MOST: usize = 20;
/// What nearly every process has, and no client sets for a server.
#[rustfmt::skip]
const USUAL: [&str; 32] = [
    "COLORTERM", "COLUMNS", "DISPLAY", "EDITOR", "HOME", "HOSTNAME", "INVOCATION_ID", "JOURNAL_STREAM", "LANG", "LANGUAGE",
    "LESSCLOSE", "LESSOPEN", "LINES", "LOGNAME", "LS_COLORS", "MAIL", "MANAGERPID", "OLDPWD", "PAGER", "PATH", "PS1", "PWD",
    "SHELL", "SHLVL", "SUDO_COMMAND", "TERM", "TERM_PROGRAM", "TMPDIR", "TZ", "USER", "WAYLAND_DISPLAY", "_",
];
const USUAL_STARTS: [&str; 7] = ["DBUS_", "LC_", "RINGFENCE_", "SSH_", "SYSTEMD_", "TERM_PROGRAM_", "XDG_"];

/// Returns the names of variables that are not passed on, in order, without those that every process has.
pub(super) fn dropped_variables(
    all: impl Iterator<Item = String>,
    passed: &BTreeMap<String, String>,
    secrets: &BTreeMap<String, String>,
) -> Vec<String> {
    let is_usual = |name: &str| {
        USUAL.contains(&name)
            || USUAL_STARTS.iter().any(|start| name.starts_with(start))
            || name.starts_with('_')
    };
    let mut names: Vec<String> = all
        .filter(|name| !passed.contains_key(name) && !secrets.contains_key(name) && !is_usual(name))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Says which variables a server does not get, and how it would; nothing where it gets all of them.
pub(super) fn dropped_line(server: &str, names: &[String]) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let mut shown: Vec<String> = names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    if names.len() > MOST {
        shown.push(format!("and {} more", names.len() - MOST));
    }
    Some(format!(
        "server `{server}` does not get these variables: {}; to pass one, name it in `capabilities.environment` of the \
         `[[server]]` entry `{server}` of a policy (`--policy FILE`), or in its `secrets` where it holds a credential",
        shown.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_sets_is_named_and_what_everybody_has_is_not() {
        let all =
            ["PATH", "GITHUB_TOKEN", "LC_ALL", "API_KEY", "GIVEN", "HOLDS", "XDG_RUNTIME_DIR", "API_KEY"];
        let passed = BTreeMap::from([("GIVEN".to_owned(), String::new())]);
        let secrets = BTreeMap::from([("HOLDS".to_owned(), String::new())]);
        let names = dropped_variables(all.iter().map(|name| (*name).to_owned()), &passed, &secrets);
        assert_eq!(names, ["API_KEY", "GITHUB_TOKEN"]);
        let line = dropped_line("s", &names).unwrap();
        assert!(
            line.starts_with("server `s` does not get these variables: `API_KEY`, `GITHUB_TOKEN`; "),
            "{line}"
        );
        assert_eq!(dropped_line("s", &[]), None);
        let many: Vec<String> = (0..30).map(|number| format!("V{number:02}")).collect();
        assert!(dropped_line("s", &many).unwrap().contains("`V19`, and 10 more"));
    }
}
