//! What a server has tried and did not get, and which lines of the policy would let it.
//!
//! Hosts are seen by the gate. Paths are seen only where the server complains of them: a path that exists outside and that it
//! names in an error is one that it would need.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ringfence::Grant;
use ringfence::egress::{Evidence, Verdict, Witness};
use ringfence::policy::Direction;

use super::log::tell;

/// How many different things are told of one server.
const MOST: usize = 50;

/// What one server has tried.
pub(crate) struct Tried {
    server: String,
    grant: Arc<Grant>,
    known: Mutex<BTreeSet<String>>,
}

impl Tried {
    pub(crate) fn new(server: &str, grant: Arc<Grant>) -> Arc<Self> {
        Arc::new(Self { server: server.to_owned(), grant, known: Mutex::default() })
    }

    /// Returns what was tried so far, one line each.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Looks through what the server says on its error stream.
    pub(crate) fn heard(&self, text: &str) {
        let complains = [
            "EACCES",
            "EPERM",
            "ENOENT",
            "EROFS",
            "denied",
            "not permitted",
            "No such file",
            "Read-only",
            "Cannot find",
        ];
        for line in text.lines().filter(|line| complains.iter().any(|word| line.contains(word))) {
            for path in quoted_paths(line) {
                self.path(&path);
            }
        }
    }

    /// Looks at a path that the server was told or has named.
    pub(crate) fn path(&self, path: &Path) {
        let granted = |direction| self.grant.fs.as_ref().is_some_and(|fs| fs.judge(path, direction).is_ok());
        if !path.exists() || granted(Direction::Read) || granted(Direction::Write) {
            return;
        }
        let (server, path) = (&self.server, path.display());
        self.tell_once(format!(
            "server `{server}` has no access to {path}; to let it read that, add \"{path}\" to `capabilities.fs_reach.read` \
             of the `[[server]]` entry `{server}` and to the personality's `fs_reach.read`"
        ));
    }

    fn tell_once(&self, line: String) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MOST && known.insert(line.clone()) {
            drop(known);
            tell(&line);
        }
    }

    /// Tells what a server may read because it is its own.
    pub(crate) fn own(&self, install: &[PathBuf]) {
        let paths: Vec<String> = install.iter().map(|path| path.display().to_string()).collect();
        if !paths.is_empty() {
            tell(&format!("server `{}` reads its own installation: {}", self.server, paths.join(", ")));
        }
    }

    /// Tells of a server that has no policy.
    pub(crate) fn no_policy(&self) {
        let server = &self.server;
        tell(&format!(
            "server `{server}` has no `[[server]]` entry: it reaches its own installation and nothing else; \
             name a policy with `--policy FILE`, or let `ringfence import` write entries from a client's configuration"
        ));
    }
}

impl Witness for Tried {
    fn saw(&self, evidence: &Evidence) {
        let Verdict::Refused { code, message } = &evidence.verdict else { return };
        let (server, host) = (&self.server, &evidence.host);
        self.tell_once(format!(
            "server `{server}` was refused {host}: {code}: {message}; to let it, add \"{host}\" to \
             `capabilities.network.allowedHosts` of the `[[server]]` entry `{server}` and to the personality's `network.allow`"
        ));
    }
}

/// Returns the absolute paths that stand in quotes in a line.
fn quoted_paths(line: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for quote in ['\'', '"', '`'] {
        let parts: Vec<&str> = line.split(quote).collect();
        let inside = parts.iter().skip(1).step_by(2);
        paths.extend(inside.filter(|part| part.starts_with('/') && part.len() < 4096).map(PathBuf::from));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_where_a_server_complains_of_them() {
        #[rustfmt::skip]
        let cases = [
            ("Error: EACCES: permission denied, open '/srv/data/x'",               "/srv/data/x"),
            ("PermissionError: [Errno 13] Permission denied: '/etc/shadow'",       "/etc/shadow"),
            ("FileNotFoundError: [Errno 2] No such file or directory: \"/a b\"",   "/a b"),
        ];
        for (line, path) in cases {
            assert_eq!(quoted_paths(line), [PathBuf::from(path)], "{line}");
        }
        assert!(quoted_paths("it's fine, isn't it").is_empty());
    }
}
