//! Names of servers that fit a policy, made of those that a configuration has.

use ringfence::policy::ServerName;

/// Returns a name that fits and that is not taken yet.
pub(super) fn server_name(own: &str, is_taken: impl Fn(&ServerName) -> bool) -> Option<ServerName> {
    let mut text = String::new();
    for c in own.chars().map(|c| c.to_ascii_lowercase()) {
        let c = if c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-') { c } else { '-' };
        let is_second = text.is_empty() || text.ends_with(['_', '-']);
        if !matches!(c, '_' | '-') || !is_second {
            text.push(c);
        }
    }
    let stem: String = text.chars().take(28).collect();
    let stem = stem.trim_end_matches(['_', '-']);
    let stem = if stem.is_empty() { "server" } else { stem };
    let whole = own.parse().into_iter();
    let numbered = (2..).filter_map(|number: u64| format!("{stem}-{number}").parse().ok());
    let mut names = whole.chain(stem.parse()).chain(numbered);
    names.find(|name| !is_taken(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_becomes_one_that_fits() {
        #[rustfmt::skip]
        let cases = [
            ("git", "git"), ("Git Hub", "git-hub"), ("a__b", "a_b"), ("_x_", "x"), ("GitHub (prod)", "github-prod"), ("ключ", "server"),
            ("", "server"), ("toolbox", "toolbox-2"), ("@scope/name", "scope-name"), ("taken", "taken-2"), ("Taken", "taken-2"),
            ("a-", "a-"), ("an-extraordinarily-long-name-of-a-server", "an-extraordinarily-long-name"),
        ];
        for (own, name) in cases {
            let found = server_name(own, |name| name.as_str() == "taken").unwrap();
            assert_eq!(found.as_str(), name, "{own}");
        }
        let (mut taken, odd) = (Vec::new(), ["A", "a", "a!", "a-2", "A?", "a_"]);
        for own in odd {
            let name = server_name(own, |name| taken.contains(name)).unwrap();
            assert!(!taken.contains(&name), "{own}");
            taken.push(name);
        }
    }
}
