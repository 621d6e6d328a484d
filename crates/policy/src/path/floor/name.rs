//! The one spelling in which names are compared with the floor.
//!
//! Some file systems take different spellings for one name: they compare without regard to case (APFS, NTFS, ext4 with
//! `casefold`), leave out characters that nobody sees (HFS+, ext4), or drop dots and spaces at the end (FAT, NTFS). A name that
//! any of them takes for one on the floor counts as that one everywhere.

use std::borrow::Cow;

/// Returns the name as such file systems would compare it.
pub(super) fn folded(name: &[u8]) -> Cow<'_, [u8]> {
    let is_plain = |byte: &u8| byte.is_ascii() && !byte.is_ascii_uppercase();
    if name.iter().all(is_plain) && !matches!(name.last(), Some(b'.' | b' ')) {
        return Cow::Borrowed(name);
    }
    let mut folded = match std::str::from_utf8(name) {
        Ok(text) if !text.is_ascii() => unseen_and_case(text),
        Ok(_) | Err(_) => name.to_ascii_lowercase(),
    };
    while let Some(b'.' | b' ') = folded.last() {
        folded.pop();
    }
    Cow::Owned(folded)
}

/// Tells whether this is the name of something that was moved aside: nothing looks for it, whatever it was called before.
pub(super) fn is_quarantined(name: &[u8]) -> bool {
    let number = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = name.get(..name.len().saturating_sub(number)).unwrap_or_default();
    number > 0 && rest.ends_with(b".quarantined-")
}

fn unseen_and_case(text: &str) -> Vec<u8> {
    let mut folded = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !is_unseen(*c)) {
        match c {
            'ſ' => folded.push('s'),
            'ß' | 'ẞ' => folded.push_str("ss"),
            'ﬀ' => folded.push_str("ff"),
            'ﬁ' => folded.push_str("fi"),
            'ﬂ' => folded.push_str("fl"),
            'ﬃ' => folded.push_str("ffi"),
            'ﬄ' => folded.push_str("ffl"),
            'ﬅ' | 'ﬆ' => folded.push_str("st"),
            other => folded.extend(other.to_lowercase()),
        }
    }
    folded.into_bytes()
}

/// The default ignorable characters of Unicode.
const fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_what_a_file_system_may_fold() {
        #[rustfmt::skip]
        let cases = [
            (".envrc",                  ".envrc"),
            (".EnvRC",                  ".envrc"),
            (".envrc. .",               ".envrc"),
            (".\u{17f}sh",              ".ssh"),
            (".\u{212a}iro",            ".kiro"),
            (".g\u{200c}it",            ".git"),
            (".pa\u{df}word-store",     ".password-store"),
            (".\u{fb01}sh",             ".fish"),
            ("Größe",                   "grösse"),
            ("...",                     ""),
        ];
        for (name, expected) in cases {
            assert_eq!(folded(name.as_bytes()), expected.as_bytes(), "{name}");
        }
        assert_eq!(*folded(b"\xff.SSH"), *b"\xff.ssh");
    }

    #[test]
    fn knows_what_was_moved_aside() {
        for (name, expected) in [
            (".envrc.quarantined-1", true),
            (".envrc.quarantined-12", true),
            (".envrc.quarantined-", false),
            (".envrc.quarantined-1x", false),
            (".envrc", false),
            ("12", false),
            ("", false),
        ] {
            assert_eq!(is_quarantined(name.as_bytes()), expected, "{name}");
        }
    }
}
