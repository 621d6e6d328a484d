//! What a pattern admits, in words made of its parts.

use std::path::Path;

use ringfence::policy::{HostPattern, HostShape};

/// How many files are counted.
const MOST_COUNTED: usize = 100_000;

/// Says which hosts and ports a pattern admits.
pub(super) fn hosts(pattern: &HostPattern) -> String {
    let port = match pattern.port() {
        Some(port) => format!("on port {port} only"),
        None => "on any port".to_owned(),
    };
    let which = match pattern.shape() {
        HostShape::Address(address) => format!("the address {address}"),
        HostShape::Everything => "every host, as far as the other side lists it".to_owned(),
        HostShape::Name(name) => format!("the host {name}"),
        HostShape::Public => "every public host".to_owned(),
        HostShape::Range(range) => format!("the addresses of {range} that are not public"),
        HostShape::Subdomains(apex) => format!("every host below {apex}"),
    };
    format!("{which}, {port}")
}

/// Says what a literal path admits, as the file system is now.
pub(super) fn path(path: &Path) -> String {
    let shown = path.display();
    let Ok(metadata) = std::fs::symlink_metadata(path) else {
        return format!("{shown}, which is not there now, and everything below it once it is");
    };
    if metadata.is_dir() {
        return match files(path) {
            Some(1) => format!("{shown} and everything below it: 1 file now"),
            Some(count) => format!("{shown} and everything below it: {count} files now"),
            None => format!("{shown} and everything below it: more than {MOST_COUNTED} files now"),
        };
    }
    format!("the file {shown}, whatever is in it; were it a folder one day, everything below it")
}

/// Counts what is below a folder and no folder itself, following no link; nothing where there is too much.
fn files(folder: &Path) -> Option<usize> {
    let mut open = vec![folder.to_path_buf()];
    let mut count = 0;
    while let Some(folder) = open.pop() {
        // A folder that cannot be read counts as empty: a tool could not read it either.
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                _ => count += 1,
            }
            if count > MOST_COUNTED || open.len() > MOST_COUNTED {
                return None;
            }
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_by_shape_and_port() {
        #[rustfmt::skip]
        let cases = [
            ("*.github.com",       "every host below github.com, on any port"),
            ("api.github.com:443", "the host api.github.com, on port 443 only"),
            ("10.0.0.5",           "the address 10.0.0.5, on any port"),
            ("*",                  "every host, as far as the other side lists it, on any port"),
        ];
        for (pattern, wanted) in cases {
            assert_eq!(hosts(&pattern.parse().unwrap()), wanted, "{pattern}");
        }
    }
}
