//! What runs when a value is shown.

use std::fmt;
struct Shown;
impl fmt::Display for Shown { fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { let _ = std::fs::read("a"); f.write_str("x") } }
impl fmt::Debug for Shown { fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { let _ = std::process::Command::new("a").status(); f.write_str("x") } }
impl std::error::Error for Shown {}
impl fmt::LowerHex for Shown { fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { let _ = std::env::var("A"); Ok(()) } }
#[derive(Debug)] struct Outer { inner: Shown }
struct Plain;
impl fmt::Display for Plain { fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str("x") } }

pub fn fs_read__format() -> String { format!("{}", Shown) }
pub fn fs_read__captured() -> String { let shown = Shown; format!("{shown:>10}") }
pub fn fs_read__to_string() -> String { Shown.to_string() }
pub fn exec__debug() -> String { format!("{:?}", Shown) }
pub fn exec__derived_debug() -> String { format!("{:#?}", Some(Outer { inner: Shown })) }
pub fn env_read__hexadecimal() -> String { format!("{:x}", Shown) }
pub fn fs_read__printed() { println!("{Shown}"); }
pub fn fs_read__panics() { panic!("{}", Shown); }
pub fn exec__expect() { let failed: Result<u8, Shown> = Err(Shown); failed.unwrap(); }
pub fn fs_read__written() { use std::fmt::Write; let mut text = String::new(); let _ = write!(text, "{Shown}"); }
pub fn clean__format() -> String { format!("{}", Plain) }
pub fn clean__error(error: std::io::Error) -> String { error.to_string() }
