//! What looks like a credential in a configuration. In doubt it does: a variable that is kept apart for nothing costs a line.

use ringfence::text::{FindingKind, clean};

/// Parts of names whose values are kept apart, whatever they look like.
const WORDS: &[&str] = &[
    "apikey",
    "auth",
    "bearer",
    "connectionstring",
    "cookie",
    "credential",
    "creds",
    "dsn",
    "jwt",
    "key",
    "keys",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "pat",
    "pin",
    "private",
    "pwd",
    "secret",
    "secrets",
    "session",
    "signature",
    "token",
    "tokens",
];

/// Says whether a variable holds a credential, by its name or by its value.
pub(super) fn is_credential(name: &str, value: &str) -> bool {
    is_named_so(name) || looks_so(&format!("{name}={value}")) || looks_so(value)
}

/// Says whether one of a command's arguments holds a credential.
pub(super) fn in_arguments(command: &[String]) -> bool {
    let flagged = |flag: &str| flag.starts_with('-') && is_named_so(flag.trim_start_matches('-'));
    let alone = command.iter().any(|argument| match argument.split_once('=') {
        Some((flag, _)) if flagged(flag) => true,
        _ => looks_so(argument),
    });
    let after = command.windows(2).any(|pair| match pair {
        [flag, value] => flagged(flag) && !value.starts_with('-') && !flag.contains('='),
        _ => false,
    });
    alone || after
}

fn is_named_so(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let ends = ["apikey", "token", "secret", "password", "passwd", "credentials"];
    words.into_iter().any(|word| WORDS.contains(&word) || ends.iter().any(|end| word.ends_with(end)))
}

fn looks_so(text: &str) -> bool {
    clean(text).findings.iter().any(|finding| finding.kind == FindingKind::Credential)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_doubt_a_variable_holds_a_credential() {
        #[rustfmt::skip]
        let cases = [
            ("GITHUB_PERSONAL_ACCESS_TOKEN", "x",                                         true),
            ("OPENAI_API_KEY",               "x",                                         true),
            ("BRAVEAPIKEY",                  "x",                                         true),
            ("DB_PASS",                      "",                                          true),
            ("SLACK_BOT",                    "xoxb-263594206564-2343594206574-FGqddMF8t08v8N7Oq4i57vs1", true),
            ("DATABASE_URL",                 "postgres://me:hunter2-secret@db.example/x", true),
            ("AWS_PROFILE",                  "default",                                   false),
            ("LOG_LEVEL",                    "info",                                      false),
            ("MONKEY",                       "banana",                                    false),
            ("NODE_ENV",                     "production",                                false),
            ("DATABASE_URL",                 "postgres://db.example/x",                   false),
        ];
        for (name, value, is) in cases {
            assert_eq!(is_credential(name, value), is, "{name}={value}");
        }
    }

    #[test]
    fn arguments_hold_credentials_too() {
        #[rustfmt::skip]
        let cases = [
            (&["npx", "-y", "server", "/srv"][..],                                   false),
            (&["server", "--api-key", "abc"],                                        true),
            (&["server", "--api-key=abc"],                                           true),
            (&["server", "--api-key", "--verbose"],                                  false),
            (&["server", "postgresql://me:hunter2-secret@db.example/x"],             true),
            (&["server", "--header", "Authorization: Bearer q8Zk3vTn5Yb7Rw2Xc9Lm4Pd6"], true),
        ];
        for (command, holds) in cases {
            let command: Vec<String> = command.iter().map(|part| (*part).to_owned()).collect();
            assert_eq!(in_arguments(&command), holds, "{command:?}");
        }
    }
}
