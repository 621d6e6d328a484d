//! Opening files in other ways.

use std::fs::{File, OpenOptions};

pub fn fs_read__options() -> bool { OpenOptions::new().read(true).open("a").is_ok() }
pub fn fs_write__options_append() -> bool { OpenOptions::new().append(true).open("a").is_ok() }
pub fn fs_write__options_create() -> bool { File::options().write(true).create(true).truncate(true).open("a").is_ok() }
pub fn fs_read_and_fs_write__options_both() -> bool { OpenOptions::new().read(true).write(true).open("a").is_ok() }
pub fn fs_read__entry_of_a_folder() -> usize { std::fs::read_dir("a").map(|entries| entries.filter_map(Result::ok).filter(|entry| entry.metadata().is_ok()).count()).unwrap_or(0) }
pub fn fs_write__permissions() -> bool { use std::os::unix::fs::PermissionsExt; std::fs::set_permissions("a", std::fs::Permissions::from_mode(0o600)).is_ok() }
pub fn fs_write__link() -> bool { std::os::unix::fs::symlink("a", "b").is_ok() }
pub fn fs_read__exists() -> bool { std::path::PathBuf::from("a").is_file() }
pub fn net_connect__unix() -> bool { std::os::unix::net::UnixStream::connect("a").is_ok() }
pub fn net_listen__unix() -> bool { std::os::unix::net::UnixListener::bind("a").is_ok() }
