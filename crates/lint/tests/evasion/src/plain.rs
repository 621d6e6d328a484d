//! Nothing hidden: each effect once, and code that does nothing.

use std::collections::HashMap;
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::process::Command;

pub fn fs_read__direct() -> bool { std::fs::read("a").is_ok() }
pub fn fs_write__direct() -> bool { std::fs::write("a", "b").is_ok() }
pub fn fs_read_and_fs_write__copy() -> bool { std::fs::copy("a", "b").is_ok() }
pub fn net_connect__direct() -> bool { TcpStream::connect("a.test:80").is_ok() }
pub fn net_listen__direct() -> bool { TcpListener::bind("127.0.0.1:0").is_ok() }
pub fn net_dns__direct() -> bool { "a.test:80".to_socket_addrs().is_ok() }
pub fn exec__direct() -> bool { Command::new("git").arg("status").output().is_ok() }
pub fn env_read__direct() -> bool { std::env::var("A").is_ok() }
pub fn env_read__folder() -> bool { std::env::current_dir().is_ok() }
pub fn env_write__direct() { unsafe { std::env::set_var("A", "b") } }
pub fn clock__direct() -> std::time::SystemTime { std::time::SystemTime::now() }
pub fn exec__replaced() { use std::os::unix::process::CommandExt; let _ = Command::new("x").exec(); }

pub fn clean__in_memory(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for word in text.split_whitespace() { *counts.entry(word.to_lowercase()).or_insert(0) += 1; }
    counts
}
pub fn clean__printed(text: &str) { println!("{text}"); eprintln!("{text:?}"); }
pub fn clean__a_path_is_text(text: &str) -> String { std::path::Path::new(text).join("x").display().to_string() }
pub fn clean__command_not_started() -> String { format!("{:?}", Command::new("x")) }
pub fn clean__sorted(mut list: Vec<String>) -> Vec<String> { list.sort_by_key(|text| text.len()); list.dedup(); list }
pub fn clean__parsed(text: &str) -> Result<u32, std::num::ParseIntError> { text.trim().parse() }
pub fn clean__panics(list: &[u8]) -> u8 { assert!(!list.is_empty(), "no {}", list.len()); list[0] }
pub fn clean__reader(mut reader: impl std::io::Read) -> std::io::Result<String> { let mut text = String::new(); reader.read_to_string(&mut text)?; Ok(text) }
pub fn clean__callback(act: &dyn Fn(&str) -> bool) -> bool { act("x") }
pub fn clean__sleeps() { std::thread::sleep(std::time::Duration::from_millis(1)); }
