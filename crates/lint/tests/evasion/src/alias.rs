//! Other names for the same thing.

use std::fs as files;
use std::fs::{self, File as Thing, read_to_string as harmless};
use std::{env::{self as surroundings, var_os as v}, process::{Command as Order}};
extern crate std as base;

mod again { pub use std::fs::*; pub mod deep { pub use super::super::files::remove_dir as tidy; } }
type Handle = std::fs::File;
trait Short { fn go(&self) -> bool; }
impl Short for str { fn go(&self) -> bool { super::alias::again::read(self).is_ok() } }

pub fn fs_read__module_alias() -> bool { files::read("a").is_ok() }
pub fn fs_read__function_alias() -> bool { harmless("a").is_ok() }
pub fn fs_read__type_alias() -> bool { Thing::open("a").is_ok() }
pub fn fs_read__type_definition() -> bool { Handle::open("a").is_ok() }
pub fn fs_write__re_exported() -> bool { again::deep::tidy("a").is_ok() }
pub fn fs_read__glob() -> bool { use again::*; read_link("a").is_ok() }
pub fn exec__nested_use() -> bool { Order::new("a").spawn().is_ok() }
pub fn env_read__nested_use() -> bool { v("A").is_some() }
pub fn env_read__self_in_use() -> bool { surroundings::vars().count() > 0 }
pub fn fs_read__extern_alias() -> bool { base::fs::read_dir("a").is_ok() }
pub fn fs_read__trait_on_text() -> bool { "a".go() }
pub fn fs_read__shadowed_name() -> bool { fn write(path: &str) -> bool { fs::read(path).is_ok() } write("a") }
pub fn clean__own_module_named_fs() -> usize { mod fs { pub fn read(text: &str) -> usize { text.len() } } fs::read("a") }
