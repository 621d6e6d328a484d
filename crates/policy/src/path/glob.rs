//! Matching a glob against the components of a path.
//!
//! Both levels (components with `**`, bytes with `*`) use the same walk: on a mismatch only the last star is
//! widened by one, because an earlier star could not do better. So the cost is at most pattern × path, and nothing
//! is allocated.

/// Tells whether a glob matches a path. Both are absolute and normalised.
pub(super) fn matches(pattern: &[u8], path: &[u8]) -> bool {
    let (mut pattern, mut path) = (components(pattern), components(path));
    let mut widen = None;
    loop {
        let path_here = path.clone();
        match (pattern.next(), path.next()) {
            (None, None) => return true,
            (Some(b"**"), _) => {
                // `**` first matches nothing: the path component just taken is given back.
                path = path_here.clone();
                widen = Some((pattern.clone(), path_here));
                continue;
            }
            (Some(wanted), Some(name)) if component(wanted, name) => continue,
            _ => {}
        }
        let Some((after_deep, mut retry)) = widen else { return false };
        if retry.next().is_none() {
            return false;
        }
        pattern = after_deep.clone();
        path = retry.clone();
        widen = Some((after_deep, retry));
    }
}

fn components(text: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    text.split(|&byte| byte == b'/').filter(|name| !name.is_empty())
}

/// Tells whether one component of a glob matches one name. `?` is one character; `*` any number of them.
pub(super) fn component(pattern: &[u8], name: &[u8]) -> bool {
    let (mut wanted, mut given) = (pattern, name);
    let mut widen: Option<(&[u8], &[u8])> = None;
    loop {
        match (wanted.split_first(), given.split_first()) {
            (None, None) => return true,
            (Some((b'*', rest)), _) => {
                wanted = rest;
                widen = Some((rest, given));
                continue;
            }
            (Some((b'?', rest)), Some((&byte, tail))) if !is_continuation(byte) => {
                wanted = rest;
                given = tail;
                while let Some((&next, tail)) = given.split_first()
                    && is_continuation(next)
                {
                    given = tail;
                }
                continue;
            }
            (Some((&byte, rest)), Some((&other, tail))) if byte != b'?' && byte == other => {
                wanted = rest;
                given = tail;
                continue;
            }
            _ => {}
        }
        let Some((after_star, retry)) = widen else { return false };
        let Some((_, retry)) = retry.split_first() else { return false };
        wanted = after_star;
        given = retry;
        widen = Some((after_star, retry));
    }
}

/// A continuation byte of UTF-8: never the start of a character.
pub(super) const fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_matches_within_itself() {
        #[rustfmt::skip]
        let cases: &[(&str, &str, bool)] = &[
            ("*",        "a",        true),
            ("*",        ".hidden",  true),
            ("*.rs",     "main.rs",  true),
            ("*.rs",     ".rs",      true),
            ("*.rs",     "main.rsx", false),
            ("a*b*c",    "aXbXbXc",  true),
            ("a*b*c",    "aXbXbX",   false),
            ("?",        "a",        true),
            ("?",        "ab",       false),
            ("?",        "é",        true),
            ("??",       "é",        false),
            ("caf?.txt", "café.txt", true),
            ("?*",       "ü",        true),
            ("[ab]",     "a",        false),
            ("[ab]",     "[ab]",     true),
            ("{a,b}",    "{a,b}",    true),
            ("A",        "a",        false),
        ];
        for (pattern, name, matched) in cases {
            assert_eq!(component(pattern.as_bytes(), name.as_bytes()), *matched, "{pattern} ~ {name}");
        }
        assert!(component(b"*.txt", b"\xff\xfe.txt"));
    }

    #[test]
    fn many_stars_do_not_explode() {
        let pattern = "*a".repeat(60);
        let name = "a".repeat(5_000) + "b";
        assert!(!component(pattern.as_bytes(), name.as_bytes()));
        let deep = "/**/a".repeat(60);
        let path = "/a".repeat(2_000) + "/b";
        assert!(!matches(deep.as_bytes(), path.as_bytes()));
    }
}
