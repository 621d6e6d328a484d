//! Values: which of them are worth hiding, and which only stand for one.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::rule::{HEX, UUID};

/// How sure the words around a value make it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Strength {
    /// Only a value that looks drawn by lot.
    Weak,
    /// A value with letters and digits.
    Secret,
    /// Nearly any value: people choose them.
    Password,
}

/// Words that stand for a value, or talk about one.
const STANDINS: &[&str] = &[
    "your",
    "example",
    "changeme",
    "change_me",
    "change-me",
    "placeholder",
    "xxxx",
    "redacted",
    "removed",
    "dummy",
    "insert",
    "replace",
    "todo",
    "...",
    "\u{2026}",
    "***",
    "\u{2022}\u{2022}",
    "fake",
    "sample",
    "<",
    "${",
    "{{",
    "$(",
    "%(",
    "#{",
    "process.env",
    "os.environ",
    "getenv",
    "env[",
    "env(",
    "secrets.",
    "secretref",
    "vault:",
    "op://",
    "arn:aws",
    "keyring",
    "not_set",
    "not set",
    "notset",
    "undefined",
    "here",
    "my_",
    "my-",
    "some_",
    "some-",
    "_here",
    "hunter-",
    "foobar",
    "lorem",
    "required",
    "optional",
    "function",
    "string",
    "none",
];

/// What letters by lot do not spell.
const MADE_UP: &[&str] =
    &["example", "xxxx", "your", "placeholder", "redacted", "...", "0000000", "abcdefgh", "12345678"];

static STANDIN_WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| words(STANDINS));
static MADE_UP_WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| words(MADE_UP));

/// Builds a search for words in any case. The words are ours and few, so it always succeeds.
fn words(words: &[&str]) -> Option<AhoCorasick> {
    AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok()
}

/// Whole values that mean nothing.
const NOTHING: &[&str] = &[
    "password",
    "passwd",
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "apikey",
    "user",
    "username",
    "test",
    "null",
    "nil",
    "true",
    "false",
    "yes",
    "bool",
    "boolean",
    "str",
    "int",
    "integer",
    "number",
    "object",
    "any",
    "bytes",
    "unknown",
    "void",
    "empty",
    "hidden",
    "masked",
    "value",
    "default",
    "text",
    "input",
    "self",
    "this",
    "new",
    "return",
    "invalid",
    "missing",
    "expired",
    "incorrect",
    "wrong",
    "valid",
    "disabled",
    "enabled",
    "basic",
    "bearer",
    "oauth",
    "oauth2",
    "jwt",
    "abc123",
    "authorization",
    "default-token",
    "admin",
    "root",
    "postgres",
    "guest",
    "localhost",
    "and",
    "the",
    "for",
    "with",
    "must",
    "should",
    "cannot",
    "uuid",
    "varchar",
    "char",
    "sha256",
    "md5",
    "bcrypt",
    "hmac-sha256",
    "ed25519",
    "aes-256-gcm",
    "rs256",
    "hs256",
];

/// Tells whether a value only stands for one: a variable, a mask, a word such as `changeme`.
pub(crate) fn stands_in(value: &str) -> bool {
    let trimmed = value.trim_matches(|point: char| !point.is_alphanumeric());
    value.starts_with("[redacted")
        || trimmed.len() < 16 && NOTHING.iter().any(|word| word.eq_ignore_ascii_case(trimmed))
        || matches!(
            value.as_bytes().first(),
            None | Some(b'$' | b'<' | b'{' | b'[' | b'%' | b'@' | b'(' | b'!' | b'*' | b'|' | b'>')
        ) && !value.as_bytes().iter().any(u8::is_ascii_digit)
        || matches!(value.as_bytes(), [b'$', b'{' | b'(' | b'A'..=b'Z' | b'a'..=b'z', ..]) && reference(value)
        || value.starts_with("./")
        || value.starts_with("~/")
        || value.starts_with("../")
        || monotonous(value)
        || ascending(value)
        || STANDIN_WORDS.as_ref().is_some_and(|words| words.is_match(value))
}

/// Tells whether all of a value after `$` is a name.
fn reference(value: &str) -> bool {
    value.bytes().skip(1).all(|byte| {
        byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'{' | b'}' | b'(' | b')' | b'.' | b':' | b'-')
    })
}

/// Tells whether a value has next to no different characters.
pub(crate) fn monotonous(value: &str) -> bool {
    let distinct = distinct(value);
    distinct <= 2 || value.len() >= 16 && distinct <= 4
}

/// Tells whether a value is a row such as `1234567890` or `abcdefgh`.
fn ascending(value: &str) -> bool {
    let bytes = value.as_bytes();
    let pairs = bytes.len().saturating_sub(1);
    let is_step = |pair: &[u8]| {
        let [one, two] = *pair else { return false };
        let (one, two) = (one.to_ascii_lowercase(), two.to_ascii_lowercase());
        two == one.wrapping_add(1) || (one == b'9' && two == b'0')
    };
    // Four of five are enough; most values have more breaks than that at once.
    let breaks = bytes.windows(2).filter(|pair| !is_step(pair)).take(pairs / 5 + 1).count();
    bytes.len() > 8 && breaks <= pairs / 5
}

fn distinct(value: &str) -> u32 {
    let mut seen = 0_u128;
    for byte in value.bytes() {
        seen |= 1 << (byte & 127);
    }
    seen.count_ones()
}

/// Tells whether what follows a vendor's prefix was made up for a manual.
pub(crate) fn made_up(body: &str) -> bool {
    MADE_UP_WORDS.as_ref().is_some_and(|words| words.is_match(body)) || body.len() >= 8 && distinct(body) <= 4
}

/// How short a password may be; other credentials are longer.
pub(crate) const SHORTEST: usize = 6;

/// Tells whether the words around a value and the value itself make a credential.
pub(crate) fn convinces(value: &str, strength: Strength, quoted: bool) -> bool {
    if value.len() < 4 || stands_in(value) || value.contains("[redacted:") || value.contains("[removed:") {
        return false;
    }
    let count = |of: fn(&u8) -> bool| value.bytes().map(|byte| usize::from(of(&byte))).sum::<usize>();
    let digits = count(u8::is_ascii_digit);
    let (upper, lower) = (count(u8::is_ascii_uppercase) > 0, count(u8::is_ascii_lowercase) > 0);
    let (letters, signs) = if value.is_ascii() {
        let letters = count(u8::is_ascii_alphabetic);
        (letters, value.len() - letters - digits)
    } else {
        (
            value.chars().filter(|point| point.is_alphabetic()).count(),
            value.chars().filter(|point| !point.is_alphanumeric()).count(),
        )
    };
    // Most tokens have no signs, and so nothing that tells names, paths and programs by them.
    let solid = value.is_ascii() && signs == 0;
    let wordy = |value: &str| !(solid && value.len() > LONGEST_WORD) && wordy(value);
    match strength {
        Strength::Password => {
            if value.len() < SHORTEST || !solid && code_like(value) {
                return false;
            }
            if value.contains(' ') {
                // A sentence about passwords, unless quoted and not one.
                return quoted && digits > 0 && !value.contains(". ");
            }
            digits > 0 && letters + signs > 0 && (solid || !version(value))
                || digits >= 6 && letters == 0
                || signs > 0
                    && letters > 3
                    && value.bytes().any(|byte| {
                        matches!(
                            byte,
                            b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'?' | b'~' | b'+'
                        )
                    })
                || upper && lower && inner_upper(value) && value.len() >= 8 && !names(value)
                || quoted && letters == value.len() && value.len() >= 8 && !names(value)
        }
        Strength::Secret => {
            if value.len() < 8
                || !solid && (code_like(value) || value.contains(' ') || version(value))
                || wordy(value)
            {
                return false;
            }
            digits > 0
                && letters > 2
                && (value.len() >= 12 || upper && lower || digits > 2)
                && (solid || !path_like(value))
                || value.len() >= 20
                    && upper
                    && lower
                    && signs * 6 <= value.len()
                    && entropy(value) > 3.5
                    && !names(value)
                    && scattered(value)
                || value.len() >= 24
                    && (digits == value.len()
                        || letters == value.len()
                            && entropy(value) > 3.2
                            && !names(value)
                            && (upper != lower || scattered(value)))
        }
        Strength::Weak => {
            value.len() >= 16
                && (solid
                    || !code_like(value)
                        && !value.contains(' ')
                        && !version(value)
                        && !path_like(value)
                        && !is_uuid(value))
                && !wordy(value)
                && (digits > 1 && letters > 3 || value.len() >= 24 && upper && lower && scattered(value))
                && entropy(value) > 3.0
        }
    }
}

/// Tells whether a value is a path, an address or a time.
fn path_like(value: &str) -> bool {
    value.contains("://")
        || value.starts_with('/') && value.matches('/').count() > 1 && wordy(value.trim_start_matches('/'))
        || value.split('/').count() > 2 && value.split('/').all(|part| wordy(part) || part.is_empty())
}

fn version(value: &str) -> bool {
    let rest = value.trim_start_matches(['v', 'V', '^', '~', '=']);
    rest.contains('.')
        && rest.split(['.', '-', '+']).all(|part| {
            part.len() <= 8
                && (part.bytes().all(|byte| byte.is_ascii_digit())
                    || part.bytes().all(|byte| byte.is_ascii_lowercase()))
        })
        || value.len() <= 12
            && value.contains(':')
            && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
}

pub(crate) fn is_uuid(value: &str) -> bool {
    value.len() == 36 && value.bytes().all(UUID.has) && value.matches('-').count() == 4
}

/// Tells whether a value is an expression: a call, a path of names, a type.
fn code_like(value: &str) -> bool {
    let bytes = value.as_bytes();
    let names = |text: &str| {
        text.split('.').all(|part| {
            part.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
                && part.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        })
    };
    value.ends_with("()")
        || value.ends_with('(')
        || value
            .find('(')
            .is_some_and(|open| value.get(..open).is_some_and(|head| head.len() > 1 && names(head)))
        || value.contains("::")
        || value.contains("->")
        || value.contains("=>")
        || value.contains('.') && names(value)
        || value.contains('[')
            && value
                .find('[')
                .is_some_and(|open| value.get(..open).is_some_and(|head| head.len() > 1 && names(head)))
        || value.find('<').is_some_and(|open| value.get(..open).is_some_and(names))
        || bytes.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'_') && value.contains('_')
        || bytes.iter().all(|byte| byte.is_ascii_punctuation())
}

const LONGEST_WORD: usize = 14;

/// Tells whether a value is words and small numbers, joined by signs.
pub(crate) fn wordy(value: &str) -> bool {
    value.split(['-', '_', '.', '/', ':', ',', '@', ' ']).all(|part| {
        if part.len() > LONGEST_WORD {
            return false;
        }
        part.len() <= 4
            || part.bytes().skip(1).all(|byte| byte.is_ascii_lowercase())
            || part.bytes().all(|byte| byte.is_ascii_uppercase())
            || numbered(part)
    })
}

/// Tells whether a part is a word with a small number behind it, such as `prod2`.
fn numbered(part: &str) -> bool {
    let word = part.trim_end_matches(|point: char| point.is_ascii_digit());
    part.len() <= 12 && part.len() - word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Tells whether a value of letters names a thing of a program.
fn names(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    [
        "pass", "token", "secret", "key", "user", "auth", "cred", "param", "config", "value", "field",
        "name", "hash", "env", "type", "code", "error", "login", "access", "session", "reset", "manager",
        "provider", "header", "request",
    ]
    .iter()
    .any(|word| lower.contains(word))
}

/// Tells whether a capital stands after a small letter.
fn inner_upper(value: &str) -> bool {
    value.as_bytes().windows(2).any(|pair| matches!(pair, [b'a'..=b'z', b'A'..=b'Z']))
}

/// Tells whether capitals and small letters change as often as by lot, and not as in `camelCase`.
pub(crate) fn scattered(value: &str) -> bool {
    let changes = value
        .as_bytes()
        .windows(2)
        .filter(|pair| matches!(pair, [one, two] if class(*one) != class(*two)))
        .count();
    changes * 3 >= value.len()
}

const fn class(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    }
}

/// Returns the entropy of a value's characters, in bits.
pub(crate) fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    let mut total = 0_u32;
    for byte in value.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
        total += 1;
    }
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f64::from(*count) / f64::from(total);
            -share * share.log2()
        })
        .sum()
}

/// Tells whether a value is a digest: hexadecimal, of a usual length.
pub(crate) fn is_digest(value: &str) -> bool {
    matches!(value.len(), 32 | 40 | 56 | 64 | 96 | 128) && value.bytes().all(HEX.has)
}
