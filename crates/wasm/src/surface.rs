//! Which surface an import needs: the table that a component is judged by.
//!
//! INVARIANT: an import that is not in the table is refused; nothing is let through because it looks harmless.

use ringfence::policy::Surface;

/// What an import needs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Need {
    /// Nothing: it is inert as long as nothing is granted, and stock compilers bring it along.
    Nothing,
    /// A declared surface.
    Surface(Surface),
    /// It is not known, and refused.
    Unknown,
}

/// Interfaces of which every function needs the same, without their versions.
#[rustfmt::skip]
const INTERFACES: &[(&str, Need)] = &[
    ("ringfence:tool/call-context",    Need::Nothing),
    ("ringfence:tool/failures",        Need::Nothing),
    ("ringfence:tool/log",             Need::Nothing),
    ("ringfence:tool/secrets",         Need::Surface(Surface::Secrets)),
    ("ringfence:tool/storage",         Need::Surface(Surface::Storage)),
    // The environment is empty unless it was declared and granted.
    ("wasi:cli/environment",           Need::Nothing),
    ("wasi:cli/exit",                  Need::Nothing),
    ("wasi:cli/stderr",                Need::Nothing),
    ("wasi:cli/stdin",                 Need::Nothing),
    ("wasi:cli/stdout",                Need::Nothing),
    ("wasi:cli/terminal-input",        Need::Nothing),
    ("wasi:cli/terminal-output",       Need::Nothing),
    ("wasi:cli/terminal-stderr",       Need::Nothing),
    ("wasi:cli/terminal-stdin",        Need::Nothing),
    ("wasi:cli/terminal-stdout",       Need::Nothing),
    ("wasi:clocks/monotonic-clock",    Need::Nothing),
    ("wasi:clocks/wall-clock",         Need::Nothing),
    ("wasi:filesystem/preopens",       Need::Surface(Surface::FsReach)),
    ("wasi:http/outgoing-handler",     Need::Surface(Surface::Network)),
    ("wasi:io/error",                  Need::Nothing),
    ("wasi:io/poll",                   Need::Nothing),
    ("wasi:io/streams",                Need::Nothing),
    ("wasi:random/insecure",           Need::Nothing),
    ("wasi:random/insecure-seed",      Need::Nothing),
    ("wasi:random/random",             Need::Nothing),
    ("wasi:sockets/instance-network",  Need::Surface(Surface::Network)),
    ("wasi:sockets/ip-name-lookup",    Need::Surface(Surface::Network)),
    ("wasi:sockets/network",           Need::Surface(Surface::Network)),
    ("wasi:sockets/tcp",               Need::Surface(Surface::Network)),
    ("wasi:sockets/tcp-create-socket", Need::Surface(Surface::Network)),
    ("wasi:sockets/udp",               Need::Surface(Surface::Network)),
    ("wasi:sockets/udp-create-socket", Need::Surface(Surface::Network)),
];

/// The functions of `wasi:filesystem/types` that work on a descriptor that is open. There is none to be had without a
/// directory of the grant, so that they are inert without one. Every other function takes a path.
const DESCRIPTOR: &[&str] = &[
    "[method]descriptor.advise",
    "[method]descriptor.append-via-stream",
    "[method]descriptor.get-flags",
    "[method]descriptor.get-type",
    "[method]descriptor.is-same-object",
    "[method]descriptor.metadata-hash",
    "[method]descriptor.read",
    "[method]descriptor.read-via-stream",
    "[method]descriptor.set-size",
    "[method]descriptor.set-times",
    "[method]descriptor.stat",
    "[method]descriptor.sync",
    "[method]descriptor.sync-data",
    "[method]descriptor.write",
    "[method]descriptor.write-via-stream",
    "[method]directory-entry-stream.read-directory-entry",
    "filesystem-error-code",
    // The interface, where only its types are used.
    "",
];

/// The functions of `wasi:filesystem/types` that take a path or list a directory.
const PATH: &[&str] = &[
    "[method]descriptor.create-directory-at",
    "[method]descriptor.link-at",
    "[method]descriptor.metadata-hash-at",
    "[method]descriptor.open-at",
    "[method]descriptor.read-directory",
    "[method]descriptor.readlink-at",
    "[method]descriptor.remove-directory-at",
    "[method]descriptor.rename-at",
    "[method]descriptor.set-times-at",
    "[method]descriptor.stat-at",
    "[method]descriptor.symlink-at",
    "[method]descriptor.unlink-file-at",
];

/// Returns what a function of an interface needs. The interface is named with its version.
pub(crate) fn need(interface: &str, function: &str) -> Need {
    let Some((name, version)) = interface.split_once('@') else { return Need::Unknown };
    let known = if name.starts_with("ringfence:") { "0.1." } else { "0.2." };
    if !version.starts_with(known) {
        return Need::Unknown;
    }
    if name == "wasi:filesystem/types" {
        return match function {
            function if DESCRIPTOR.contains(&function) => Need::Nothing,
            function if PATH.contains(&function) => Need::Surface(Surface::FsReach),
            _ => Need::Unknown,
        };
    }
    if name == "wasi:http/types" {
        // Only the handler sends anything; but the host keeps every request and header that a guest makes.
        return if function.is_empty() { Need::Nothing } else { Need::Surface(Surface::Network) };
    }
    INTERFACES.iter().find(|(known, _)| *known == name).map_or(Need::Unknown, |(_, need)| *need)
}
