//! Real crates, each used the way a tool would: see Cargo.toml.
#![allow(non_snake_case)]

/// regex
pub fn clean__regex(text: &str) -> bool { regex::Regex::new("a+b").is_ok_and(|pattern| pattern.is_match(text)) }
/// serde_json
pub fn clean__serde_json(text: &str) -> String { serde_json::from_str::<serde_json::Value>(text).unwrap_or_default().to_string() }
/// toml
pub fn clean__toml(text: &str) -> Option<String> { let table: toml::Table = text.parse().ok()?; toml::to_string(&table).ok() }
/// sha2
pub fn clean__sha2(text: &str) -> Vec<u8> { use sha2::Digest; sha2::Sha256::digest(text).to_vec() }
/// csv
pub fn clean__csv(text: &str) -> usize { csv::Reader::from_reader(text.as_bytes()).records().filter(Result::is_ok).count() }
/// walkdir
pub fn fs_read__walkdir(folder: &str) -> usize { walkdir::WalkDir::new(folder).into_iter().filter_map(Result::ok).count() }
/// which
pub fn fs_read_and_env_read__which() -> bool { which::which("rg").is_ok() }
/// tempfile
pub fn fs_read_and_fs_write_and_env_read_and_random_and_clock__tempfile() -> bool { tempfile::NamedTempFile::new().is_ok() }
/// duct
pub fn exec_and_fs_read_and_fs_write_and_env_read_and_clock_and_dyn_unresolved__duct() -> bool { duct::cmd("git", ["status"]).run().is_ok() }
/// ignore
pub fn fs_read_and_env_read__ignore(folder: &str) -> usize { ignore::Walk::new(folder).filter_map(Result::ok).count() }
/// os_info
pub fn fs_read_and_exec_and_env_read__os_info() -> String { os_info::get().to_string() }
/// ureq
pub fn net_connect_and_net_dns_and_env_read_and_clock__ureq() -> bool { ureq::get("http://a.test/").call().is_ok() }
/// reqwest
pub fn net_connect_and_net_dns_and_env_read_and_clock__reqwest() -> bool { reqwest::blocking::get("http://a.test/").is_ok() }
/// notify
pub fn fs_read_and_env_read__notify() -> bool { use notify::Watcher; notify::recommended_watcher(|_: notify::Result<notify::Event>| {}).and_then(|mut watcher| watcher.watch("a".as_ref(), notify::RecursiveMode::Recursive)).is_ok() }
/// git2
pub fn ffi__git2() -> bool { git2::Repository::open(".").is_ok() }
/// rusqlite
pub fn ffi__rusqlite() -> bool { rusqlite::Connection::open_in_memory().is_ok() }
