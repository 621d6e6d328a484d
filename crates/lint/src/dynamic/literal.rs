//! What a literal argument says about the thing that is touched.

use crate::Effect;

const MAX_CHARS: usize = 200;

/// Returns what `text` names for `effect`: the host of an address, a program, a path, a variable.
pub(crate) fn subject_of(effect: Effect, text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > MAX_CHARS || text.chars().any(char::is_control) {
        return None;
    }
    match effect {
        Effect::NetConnect | Effect::NetDns => host_of(text),
        Effect::Exec => text.split_whitespace().next().map(str::to_owned),
        Effect::FsRead | Effect::FsWrite | Effect::EnvRead | Effect::EnvWrite | Effect::Dlopen => {
            Some(text.to_owned())
        }
        _ => None,
    }
}

fn host_of(text: &str) -> Option<String> {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let name = match host.strip_prefix('[') {
        Some(inner) => inner.split(']').next()?,
        None => host.split(':').next()?,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    // A method (`GET`) or a word is no host: a name has a dot, or is the machine itself.
    let is_host =
        (name.contains('.') || name.contains(':') || name == "localhost") && name.chars().all(plain);
    is_host.then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_says_what_is_touched() {
        #[rustfmt::skip]
        let cases = [
            // effect             text                                 subject
            (Effect::NetConnect,  "https://api.x.com/v1?q=1",          Some("api.x.com")),
            (Effect::NetConnect,  "https://u:p@API.x.com:8443/",       Some("api.x.com")),
            (Effect::NetConnect,  "http://[::1]:80/",                  Some("::1")),
            (Effect::NetConnect,  "api.x.com",                         Some("api.x.com")),
            (Effect::NetConnect,  "GET",                               None),
            (Effect::NetConnect,  "localhost",                         Some("localhost")),
            (Effect::Exec,        "git status --short",                Some("git")),
            (Effect::FsRead,      "/etc/hosts",                        Some("/etc/hosts")),
            (Effect::EnvRead,     "HOME",                              Some("HOME")),
            (Effect::EnvRead,     "a\u{1b}b",                          None),
            (Effect::Clock,       "now",                               None),
        ];
        for (effect, text, subject) in cases {
            assert_eq!(subject_of(effect, text).as_deref(), subject, "{effect} {text}");
        }
    }
}
