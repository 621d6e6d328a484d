//! The parts of a URL that a request is made of.
//!
//! The host judges the authority by its own rules. Here a URL is only taken apart, and whatever two readers might take
//! apart differently is refused.
//!
//! INVARIANT: neither part holds white space, a control character or a backslash, and the authority has no user.

use super::HttpError;

/// A URL taken apart.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Address {
    pub(crate) scheme: Scheme,
    pub(crate) authority: String,
    /// The path and the query, from the first slash.
    pub(crate) path: String,
}

/// How to talk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl Address {
    pub(crate) fn parse(url: &str) -> Result<Self, HttpError> {
        let wrong = |reason| HttpError::Url { url: url.to_owned(), reason };
        if url.chars().any(|letter| letter.is_whitespace() || letter.is_control() || letter == '\\') {
            return Err(wrong("it has white space, a control character or a backslash"));
        }
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("it has no scheme"))?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(wrong("its scheme is neither `http` nor `https`")),
        };
        let rest = rest.split_once('#').map_or(rest, |(before, _fragment)| before);
        let (authority, path) = match rest.find(['/', '?']).and_then(|at| rest.split_at_checked(at)) {
            Some((authority, path)) if path.starts_with('?') => (authority, format!("/{path}")),
            Some((authority, path)) => (authority, path.to_owned()),
            None => (rest, "/".to_owned()),
        };
        if authority.is_empty() {
            return Err(wrong("it names no host"));
        }
        if authority.contains('@') {
            return Err(wrong("it names a user; credentials go into a header"));
        }
        Ok(Self { scheme, authority: authority.to_owned(), path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_a_url_apart() {
        #[rustfmt::skip]
        let cases = [
            // url                           authority       path
            ("https://a.test",               "a.test",       "/"),
            ("HTTPS://a.test:8443/b?c=d#e",  "a.test:8443",  "/b?c=d"),
            ("https://a.test?c",             "a.test",       "/?c"),
            ("https://[::1]/x",              "[::1]",        "/x"),
            ("https://a.test/b://c@d",       "a.test",       "/b://c@d"),
            ("https://a.test#@b.test/",      "a.test",       "/"),
        ];
        for (url, authority, path) in cases {
            let address = Address::parse(url).unwrap();
            assert_eq!((address.authority.as_str(), address.path.as_str()), (authority, path), "{url}");
            assert_eq!(address.scheme, Scheme::Https, "{url}");
        }
        assert_eq!(Address::parse("http://a.test/").unwrap().scheme, Scheme::Http);
    }

    #[test]
    fn refuses_what_can_be_read_in_two_ways() {
        let urls = [
            "a.test",
            "/a",
            "ftp://a.test/",
            "https://",
            "https:///a",
            "https://u:p@a.test/",
            "https://a.test\\@b.test/",
            "https://a.test/b c",
            "https://a.test/\r\nX: y",
            " https://a.test/",
        ];
        for url in urls {
            assert!(matches!(Address::parse(url), Err(HttpError::Url { .. })), "{url}");
        }
    }
}
