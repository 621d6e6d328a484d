//! What goes past the handles, by path.

use crate::Effect::{self, EnvRead, EnvWrite, Exec, FsRead, FsWrite, NetConnect, NetDns, NetListen};

/// Prefix of the path, the functions below it, what they do.
#[rustfmt::skip]
pub(super) const METHODS: &[(&str, &str, Effect)] = &[
    ("std::fs::", "canonicalize copy exists metadata read read_dir read_link read_to_string symlink_metadata", FsRead),
    ("std::fs::", "create_dir create_dir_all hard_link remove_dir remove_dir_all remove_file rename set_permissions write", FsWrite),
    ("std::fs::File::", "open options", FsRead),
    ("std::fs::File::", "create create_new", FsWrite),
    ("std::fs::OpenOptions::", "new open", FsRead),
    ("std::fs::DirBuilder::", "create", FsWrite),
    ("std::os::unix::fs::", "chown lchown symlink", FsWrite),
    ("std::path::Path::", "canonicalize exists is_dir is_file is_symlink metadata read_dir read_link symlink_metadata try_exists", FsRead),
    ("tokio::fs::", "canonicalize copy metadata read read_dir read_link read_to_string symlink_metadata try_exists", FsRead),
    ("tokio::fs::", "create_dir create_dir_all hard_link remove_dir remove_dir_all remove_file rename set_permissions symlink write", FsWrite),
    ("tokio::fs::File::", "open options", FsRead),
    ("tokio::fs::File::", "create create_new", FsWrite),
    ("tokio::fs::OpenOptions::", "new open", FsRead),
    ("tempfile::", "tempdir tempdir_in tempfile tempfile_in", FsWrite),
    ("tempfile::NamedTempFile::", "new new_in", FsWrite),

    ("std::net::TcpStream::", "connect connect_timeout", NetConnect),
    ("std::net::UdpSocket::", "connect send_to", NetConnect),
    ("std::net::UdpSocket::", "bind", NetListen),
    ("std::net::TcpListener::", "bind", NetListen),
    ("std::net::ToSocketAddrs::", "to_socket_addrs", NetDns),
    ("std::os::unix::net::UnixStream::", "connect connect_addr", NetConnect),
    ("std::os::unix::net::UnixListener::", "bind bind_addr", NetListen),
    ("tokio::net::", "lookup_host", NetDns),
    ("tokio::net::TcpStream::", "connect", NetConnect),
    ("tokio::net::TcpSocket::", "connect", NetConnect),
    ("tokio::net::TcpSocket::", "bind listen", NetListen),
    ("tokio::net::TcpListener::", "bind", NetListen),
    ("tokio::net::UdpSocket::", "bind", NetListen),
    ("tokio::net::UdpSocket::", "connect send_to", NetConnect),
    ("tokio::net::UnixStream::", "connect", NetConnect),
    ("tokio::net::UnixListener::", "bind", NetListen),
    ("reqwest::", "get", NetConnect),
    ("reqwest::Client::", "new builder", NetConnect),
    ("reqwest::ClientBuilder::", "new build", NetConnect),
    ("reqwest::blocking::", "get", NetConnect),
    ("reqwest::blocking::Client::", "new builder", NetConnect),
    ("ureq::", "agent delete get head options patch post put request run trace", NetConnect),
    ("ureq::Agent::", "new new_with_config new_with_defaults", NetConnect),

    ("std::process::Command::", "new output spawn status", Exec),
    ("std::os::unix::process::CommandExt::", "exec", Exec),
    ("tokio::process::Command::", "new output spawn status", Exec),
    ("duct::", "cmd", Exec),

    ("std::env::", "args args_os current_dir current_exe home_dir temp_dir var var_os vars vars_os", EnvRead),
    ("std::env::", "remove_var set_current_dir set_var", EnvWrite),
];

/// Prefix of the path, the types below it, what they are for.
#[rustfmt::skip]
pub(super) const TYPES: &[(&str, &str, Effect)] = &[
    ("std::fs::", "DirBuilder File OpenOptions ReadDir", FsRead),
    ("tokio::fs::", "DirBuilder File OpenOptions ReadDir", FsRead),
    ("std::net::", "TcpStream UdpSocket", NetConnect),
    ("std::net::", "TcpListener", NetListen),
    ("tokio::net::", "TcpSocket TcpStream UdpSocket UnixStream", NetConnect),
    ("tokio::net::", "TcpListener UnixListener", NetListen),
    ("reqwest::", "Client ClientBuilder", NetConnect),
    ("reqwest::blocking::", "Client ClientBuilder", NetConnect),
    ("ureq::", "Agent", NetConnect),
    ("std::process::", "Command", Exec),
    ("tokio::process::", "Command", Exec),
];
