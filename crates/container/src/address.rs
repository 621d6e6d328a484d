//! Where an engine listens.

use std::net::IpAddr;
use std::path::PathBuf;

use crate::error::ContainerError;

/// Where an engine listens.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Address {
    /// A host and a port. Nothing on the way is encrypted.
    Tcp(String, u16),
    /// A socket of this machine.
    Unix(PathBuf),
}

/// Whether the way to an engine may be open to others.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Way {
    /// Only on this machine.
    Local,
    /// Anywhere, unencrypted.
    Plain,
}

impl Address {
    /// Reads `unix:///path` or `tcp://host:port`.
    pub(crate) fn parse(text: &str, way: Way) -> Result<Self, ContainerError> {
        let wrong = |why| Err(ContainerError::Address { address: text.to_owned(), why });
        if let Some(path) = text.strip_prefix("unix://") {
            let path = PathBuf::from(path);
            return if path.is_absolute() {
                Ok(Self::Unix(path))
            } else {
                wrong("the path of a socket begins with `/`, as in `unix:///run/podman/podman.sock`")
            };
        }
        let Some(rest) = text.strip_prefix("tcp://") else {
            return wrong("it begins neither with `unix://` nor with `tcp://`");
        };
        let Some((host, port)) = rest.rsplit_once(':') else { return wrong("it has no port") };
        let Ok(port) = port.parse::<u16>() else { return wrong("its port is no number") };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() || host.contains(['/', '@', '?', '#']) {
            return wrong("it has no host");
        }
        let is_local =
            host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        if !is_local && way == Way::Local {
            return wrong(
                "nothing on the way to another machine is encrypted, and whoever speaks to an engine is its root: \
                 forward its socket through ssh, or allow plain connections by name",
            );
        }
        Ok(Self::Tcp(host.to_owned(), port))
    }

    /// Tells whether the engine has this machine's files and processes.
    pub(crate) const fn is_here(&self) -> bool {
        matches!(self, Self::Unix(_))
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "tcp://[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "tcp://{host}:{port}"),
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_only_ways_that_nobody_else_can_use() {
        #[rustfmt::skip]
        let cases = [
            // address                          local  plain
            ("unix:///run/podman/podman.sock",  true,  true),
            ("unix://run/podman.sock",          false, false),
            ("/run/podman/podman.sock",         false, false),
            ("tcp://127.0.0.1:2375",            true,  true),
            ("tcp://[::1]:2375",                true,  true),
            ("tcp://localhost:2375",            true,  true),
            ("tcp://engine.example:2375",       false, true),
            ("tcp://10.0.0.7:2375",             false, true),
            ("tcp://127.0.0.1.evil.test:2375",  false, true),
            ("tcp://a@127.0.0.1:2375",          false, false),
            ("tcp://127.0.0.1",                 false, false),
            ("tcp://:2375",                     false, false),
            ("https://127.0.0.1:2375",          false, false),
        ];
        for (text, local, plain) in cases {
            assert_eq!(Address::parse(text, Way::Local).is_ok(), local, "{text}");
            assert_eq!(Address::parse(text, Way::Plain).is_ok(), plain, "{text}");
        }
        for text in ["unix:///run/engine.sock", "tcp://[::1]:1", "tcp://localhost:9"] {
            assert_eq!(Address::parse(text, Way::Local).unwrap().to_string(), text);
        }
    }
}
