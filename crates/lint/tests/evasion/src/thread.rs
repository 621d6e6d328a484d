//! Threads and what waits.

use std::sync::{LazyLock, Mutex, OnceLock, mpsc};

pub fn fs_read__thread() -> bool { std::thread::spawn(|| std::fs::read("a").is_ok()).join().is_ok() }
pub fn fs_read__scoped() -> bool { std::thread::scope(|scope| scope.spawn(|| std::fs::read("a").is_ok()).join().is_ok()) }
pub fn exec__builder() -> bool { std::thread::Builder::new().spawn(|| std::process::Command::new("a").status().is_ok()).is_ok() }
pub fn fs_write__named_function() { fn work() { let _ = std::fs::create_dir("a"); } let _ = std::thread::spawn(work).join(); }
pub fn env_read__sent_over_a_channel() -> bool { let (send, receive) = mpsc::channel::<Box<dyn FnOnce() -> bool + Send>>(); let _ = send.send(Box::new(|| std::env::var("A").is_ok())); receive.recv().is_ok_and(|act| act()) }
pub fn clean__thread() -> bool { std::thread::spawn(|| 1 + 1).join().is_ok() }
