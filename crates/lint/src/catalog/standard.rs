//! The standard library.
//!
//! A hash map's seed is not a use of randomness by the code that makes the map, so `RandomState` is nothing. Connecting to a
//! name asks for its address too, but that is part of connecting: `net.dns` is asking for addresses alone.

use super::set;
use crate::Effect::{
    self, Clock, EnvRead, EnvWrite, Exec, Exit, FsRead, FsWrite, NetConnect, NetDns, NetListen,
};
use crate::EffectSet;

/// Returns what a path of the standard library does: `std::fs::read`, `std::fs::File::open`, `std::net::ToSocketAddrs::to_socket_addrs`.
///
/// The path has no generic arguments; `core` and `alloc` count as `std`. A method of a trait is written with the trait's path.
pub fn of_path(path: &str) -> EffectSet {
    let Some((root, rest)) = path.split_once("::") else { return EffectSet::NONE };
    if !matches!(root, "std" | "core" | "alloc") {
        return EffectSet::NONE;
    }
    for (prefix, names, effects) in TABLE {
        if let Some(name) = rest.strip_prefix(prefix)
            && names.split_whitespace().any(|known| known == name || (known == "*" && !name.contains("::")))
        {
            return set(effects);
        }
    }
    EffectSet::NONE
}

/// Prefix of the path, the names below it, what they do. The first line that fits decides.
#[rustfmt::skip]
const TABLE: &[(&str, &str, &[Effect])] = &[
    ("fs::", "read read_to_string read_dir read_link metadata symlink_metadata canonicalize exists", &[FsRead]),
    ("fs::", "write create_dir create_dir_all remove_file remove_dir remove_dir_all rename hard_link soft_link set_permissions set_permissions_nofollow set_times set_times_nofollow", &[FsWrite]),
    ("fs::", "copy", &[FsRead, FsWrite]),
    ("fs::File::", "open open_buffered", &[FsRead]),
    ("fs::File::", "create create_new create_buffered set_permissions set_times set_modified", &[FsWrite]),
    ("fs::OpenOptions::", "open", &[FsRead, FsWrite]),
    ("fs::DirBuilder::", "create", &[FsWrite]),
    ("fs::DirEntry::", "metadata file_type", &[FsRead]),
    ("fs::Dir::", "open open_file open_dir", &[FsRead]),
    ("fs::Dir::", "create_dir remove_file rename", &[FsWrite]),
    ("path::Path::", "exists try_exists is_file is_dir is_symlink metadata symlink_metadata canonicalize read_dir read_link", &[FsRead]),
    // A buffer of paths is asked through the path it derefs to, but a reader of text sees the name that is written.
    ("path::PathBuf::", "exists try_exists is_file is_dir is_symlink metadata symlink_metadata canonicalize read_dir read_link", &[FsRead]),
    ("path::", "absolute", &[EnvRead]),
    ("os::unix::fs::", "symlink chown fchown lchown chroot mkfifo", &[FsWrite]),
    ("os::unix::fs::DirEntryExt2::", "metadata", &[FsRead]),
    ("os::windows::fs::", "symlink_file symlink_dir junction_point", &[FsWrite]),
    ("os::wasi::fs::", "symlink_path link rename", &[FsWrite]),

    ("net::TcpStream::", "connect connect_timeout", &[NetConnect]),
    ("net::TcpListener::", "bind", &[NetListen]),
    ("net::UdpSocket::", "bind", &[NetListen]),
    ("net::UdpSocket::", "connect send_to", &[NetConnect]),
    ("net::ToSocketAddrs::", "to_socket_addrs", &[NetDns]),
    ("net::", "hostname", &[EnvRead]),
    ("os::unix::net::UnixStream::", "connect connect_addr", &[NetConnect]),
    ("os::unix::net::UnixListener::", "bind bind_addr", &[NetListen]),
    ("os::unix::net::UnixDatagram::", "bind bind_addr", &[NetListen]),
    ("os::unix::net::UnixDatagram::", "connect connect_addr send_to send_to_addr", &[NetConnect]),

    ("process::Command::", "spawn status output exec", &[Exec]),
    ("os::unix::process::CommandExt::", "exec", &[Exec]),

    ("process::", "exit abort", &[Exit]),

    ("env::", "var var_os vars vars_os current_dir current_exe home_dir temp_dir", &[EnvRead]),
    ("env::", "set_var remove_var set_current_dir", &[EnvWrite]),

    ("time::SystemTime::", "now elapsed", &[Clock]),
    ("time::Instant::", "now elapsed", &[Clock]),
    ("random::", "*", &[Effect::Random]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_what_they_say() {
        #[rustfmt::skip]
        let cases: &[(&str, &[Effect])] = &[
            ("std::fs::read",                               &[FsRead]),
            ("std::fs::copy",                               &[FsRead, FsWrite]),
            ("std::fs::File::open",                         &[FsRead]),
            ("std::fs::File::sync_all",                     &[]),
            ("std::fs::OpenOptions::new",                   &[]),
            ("std::path::Path::exists",                     &[FsRead]),
            ("std::path::Path::join",                       &[]),
            ("std::net::TcpStream::connect",                &[NetConnect]),
            ("std::net::ToSocketAddrs::to_socket_addrs",    &[NetDns]),
            ("std::net::UdpSocket::bind",                   &[NetListen]),
            ("std::process::Command::new",                  &[]),
            ("std::process::Command::spawn",                &[Exec]),
            ("std::process::exit",                          &[Exit]),
            ("std::process::abort",                         &[Exit]),
            ("std::process::id",                            &[]),
            ("std::env::var",                               &[EnvRead]),
            ("std::env::consts::OS",                        &[]),
            ("std::time::SystemTime::now",                  &[Clock]),
            ("core::time::Duration::from_secs",             &[]),
            ("std::collections::HashMap::new",              &[]),
            ("std::io::stdout",                             &[]),
            ("other::fs::read",                             &[]),
            ("read",                                        &[]),
        ];
        for (path, effects) in cases {
            assert_eq!(of_path(path), set(effects), "{path}");
        }
    }
}
