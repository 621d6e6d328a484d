//! Statics and constants.

use std::cell::RefCell;
use std::sync::{LazyLock, Mutex, OnceLock};

static FIRST: LazyLock<String> = LazyLock::new(|| std::fs::read_to_string("a").unwrap_or_default());
static ONCE: OnceLock<bool> = OnceLock::new();
static HOOK: Mutex<Option<fn() -> bool>> = Mutex::new(None);
thread_local! { static OWN: RefCell<bool> = RefCell::new(std::env::var("A").is_ok()); }
static QUIET: LazyLock<Vec<u8>> = LazyLock::new(|| vec![1, 2]);
struct Table { acts: &'static [&'static (dyn Fn(&str) -> bool + Sync)] }
static TABLE: Table = Table { acts: &[&remove] };
fn remove(path: &str) -> bool { std::fs::remove_file(path).is_ok() }
fn hooked() -> bool { std::process::Command::new("a").status().is_ok() }

pub fn fs_read__lazy() -> usize { FIRST.len() }
pub fn fs_write__once() -> bool { *ONCE.get_or_init(|| std::fs::write("a", "").is_ok()) }
pub fn env_read__thread_local() -> bool { OWN.with(|own| *own.borrow()) }
pub fn fs_write__table_of_objects() -> bool { TABLE.acts.iter().any(|act| act("a")) }
pub fn exec__hook_installed() -> bool { *HOOK.lock().unwrap() = Some(hooked); true }
pub fn exec__hook_called() -> bool { HOOK.lock().unwrap().map(|act| act()).unwrap_or_default() }
pub fn clean__lazy() -> usize { QUIET.len() }
