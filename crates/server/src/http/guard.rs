//! Whether a request is meant for this host: what stops a web page that has its own name point here.
//!
//! A browser says in `Host` which name it looked up, and in `Origin` which page asks. A page of another site can make a browser
//! connect to loopback, but it cannot make these two lie.
//!
//! INVARIANT: a request is let through only where every name it gives is one of this host's.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;

use super::error::EdgeError;

/// The names of this host.
pub(crate) struct Guard {
    /// Lower case; with a port only that one is meant.
    names: Vec<String>,
}

impl Guard {
    /// Loopback and the bound address always count.
    pub(crate) fn new(bound: SocketAddr, hosts: &[String]) -> Result<Self, EdgeError> {
        let mut names: Vec<String> = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).into();
        if !bound.ip().is_unspecified() {
            names.push(match bound.ip().to_canonical() {
                IpAddr::V4(address) => address.to_string(),
                IpAddr::V6(address) => format!("[{address}]"),
            });
        }
        for host in hosts {
            if split(host).is_none() {
                return Err(EdgeError::Host { host: host.clone() });
            }
            names.push(host.to_ascii_lowercase());
        }
        Ok(Self { names })
    }

    /// Says whether everything the request says of its target and its origin is one of this host's names.
    pub(crate) fn admits(&self, request: &Parts) -> bool {
        let mut hosts = request.headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let target = request.uri.authority().is_none_or(|authority| self.knows(authority.as_str()));
        let mut origins = request.headers.get_all(ORIGIN).iter();
        let origin = match (origins.next(), origins.next()) {
            // A browser leaves it out where a page only embeds something, but says that it is another site's page.
            (None, _) => request.headers.get("sec-fetch-site").is_none_or(|site| site != "cross-site"),
            (Some(origin), None) => origin.to_str().is_ok_and(|origin| self.knows_origin(origin)),
            (Some(_), Some(_)) => false,
        };
        target && origin && host.to_str().is_ok_and(|host| self.knows(host))
    }

    fn knows_origin(&self, origin: &str) -> bool {
        let (scheme, authority) = origin.split_once("://").unwrap_or_default();
        ["http", "https"].contains(&scheme) && self.knows(authority)
    }

    fn knows(&self, authority: &str) -> bool {
        let authority = authority.to_ascii_lowercase();
        split(&authority).is_some_and(|name| self.names.iter().any(|own| *own == name || *own == authority))
    }
}

/// Returns the name or address of an authority without its port; nothing where it is neither.
fn split(authority: &str) -> Option<&str> {
    let (name, port) = match authority.rfind(']') {
        Some(end) => authority.split_at_checked(end + 1)?,
        None => authority.split_at_checked(authority.find(':').unwrap_or(authority.len()))?,
    };
    let is_number =
        |digits: &str| (1..=5).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_number);
    let inner = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let is_name = match inner {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
        }
    };
    (is_port && is_name).then_some(name)
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    #[test]
    fn only_names_of_this_host_are_known() {
        let hosts = ["Gateway.example".to_owned(), "other.example:8443".to_owned()];
        let guard = Guard::new("192.0.2.7:7117".parse().unwrap(), &hosts).unwrap();
        #[rustfmt::skip]
        let cases = [
            // host                      origin                        admitted
            ("localhost",                "",                           true),
            ("localhost:7117",           "",                           true),
            ("LOCALHOST:1",              "http://localhost:3000",      true),
            ("127.0.0.1:7117",           "https://127.0.0.1",          true),
            ("[::1]:7117",               "http://[::1]:80",            true),
            ("192.0.2.7:7117",           "",                           true),
            ("gateway.example",          "https://GATEWAY.example",    true),
            ("gateway.example:443",      "",                           true),
            ("other.example:8443",       "",                           true),
            ("other.example",            "",                           false),
            ("other.example:443",        "",                           false),
            ("evil.example",             "",                           false),
            ("localhost.evil.example",   "",                           false),
            ("localhost.",               "",                           false),
            ("localhost:7117:80",        "",                           false),
            ("localhost:",               "",                           false),
            ("localhost:port",           "",                           false),
            ("user@localhost",           "",                           false),
            ("localhost@evil.example",   "",                           false),
            ("127.0.0.1.evil.example",   "",                           false),
            ("127.1",                    "",                           false),
            ("0.0.0.0",                  "",                           false),
            ("::1",                      "",                           false),
            ("[::1",                     "",                           false),
            ("[::1]x",                   "",                           false),
            ("",                         "",                           false),
            ("localhost",                "http://evil.example",        false),
            ("localhost",                "null",                       false),
            ("localhost",                "file://localhost",           false),
            ("localhost",                "localhost",                  false),
            ("localhost",                "http://localhost/",          false),
            ("localhost",                "http://localhost@evil.test", false),
            ("evil.example",             "http://localhost",           false),
        ];
        for (host, origin, admitted) in cases {
            let mut request = Request::builder().uri("/mcp").header("host", host);
            if !origin.is_empty() {
                request = request.header("origin", origin);
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(guard.admits(&parts), admitted, "{host} {origin}");
        }
    }

    #[test]
    fn every_name_that_is_given_counts() {
        let guard = Guard::new("0.0.0.0:7117".parse().unwrap(), &[]).unwrap();
        let of = |uri: &str, hosts: &[&str], origins: &[&str]| {
            let mut request = Request::builder().uri(uri);
            for host in hosts {
                request = request.header("host", *host);
            }
            for origin in origins {
                request = request.header("origin", *origin);
            }
            guard.admits(&request.body(()).unwrap().into_parts().0)
        };
        assert!(of("http://localhost/mcp", &["localhost"], &[]));
        assert!(!of("http://evil.example/mcp", &["localhost"], &[]));
        assert!(!of("/mcp", &["localhost", "localhost"], &[]));
        assert!(!of("/mcp", &[], &[]));
        assert!(!of("/mcp", &["localhost"], &["http://localhost", "http://localhost"]));
        assert!(!of("/mcp", &["0.0.0.0"], &[]), "an address of nobody is no name of this host");
    }

    #[test]
    fn what_is_no_name_is_refused_at_once() {
        for host in ["", "a b", "https://a.example", "a.example/", "a.example:x", "*.example"] {
            assert!(Guard::new("127.0.0.1:1".parse().unwrap(), &[host.to_owned()]).is_err(), "{host}");
        }
    }
}
