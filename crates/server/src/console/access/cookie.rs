//! The cookie that names a session.

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};

/// How cookies are written: over TLS they are bound to this very host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cookies {
    pub(crate) secure: bool,
}

impl Cookies {
    const fn name(self) -> &'static str {
        if self.secure { "__Host-ringfence" } else { "ringfence" }
    }

    /// Returns the name of the session that a request brings; nothing where it brings several.
    pub(crate) fn read(self, headers: &HeaderMap) -> Option<&str> {
        let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = pairs.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut own = pairs.filter(|(name, _)| *name == self.name()).map(|(_, value)| value);
        match (own.next(), own.next()) {
            (Some(value), None) => Some(value),
            _ => None,
        }
    }

    /// Writes the name of a session.
    pub(crate) fn write(self, own: &str) -> Option<HeaderValue> {
        self.line(own, "")
    }

    /// Takes it away.
    pub(crate) fn clear(self) -> Option<HeaderValue> {
        self.line("", "; Max-Age=0")
    }

    fn line(self, value: &str, more: &str) -> Option<HeaderValue> {
        let secure = if self.secure { "; Secure" } else { "" };
        let name = self.name();
        let line = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{more}");
        HeaderValue::try_from(line).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cookie_of_ours_counts() {
        #[rustfmt::skip]
        let cases = [
            (false, vec!["ringfence=abc"],                     Some("abc")),
            (false, vec!["a=b; ringfence=abc; c=d"],           Some("abc")),
            (false, vec!["a=b", "ringfence=abc"],              Some("abc")),
            (false, vec!["ringfence=abc; ringfence=def"],      None),
            (false, vec!["ringfence=abc", "ringfence=def"],    None),
            (false, vec!["xringfence=abc"],                    None),
            (false, vec!["__Host-ringfence=abc"],              None),
            (true,  vec!["__Host-ringfence=abc"],              Some("abc")),
            (true,  vec!["ringfence=abc"],                     None),
            (false, vec![],                                    None),
        ];
        for (secure, lines, expected) in cases {
            let mut headers = HeaderMap::new();
            for line in &lines {
                headers.append(COOKIE, HeaderValue::from_static(line));
            }
            assert_eq!(Cookies { secure }.read(&headers), expected, "{lines:?}");
        }
    }

    #[test]
    fn no_script_and_no_other_site_gets_it() {
        let line = Cookies { secure: true }.write("x").unwrap();
        assert_eq!(line, "__Host-ringfence=x; Path=/; HttpOnly; SameSite=Strict; Secure");
    }
}
