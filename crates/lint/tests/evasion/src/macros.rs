//! Macros.

macro_rules! quietly { ($module:ident, $name:ident, $($argument:expr),*) => { std::$module::$name($($argument),*) }; }
macro_rules! function { ($name:ident) => { fn $name() -> bool { std::fs::read("a").is_ok() } }; }
macro_rules! nested { ($($rest:tt)*) => { inner!($($rest)*) }; }
macro_rules! inner { ($what:expr) => { { let value = $what; value } }; }
macro_rules! typed { ($type:ty) => { <$type>::open("a").is_ok() }; }
function!(made);
include!(concat!(env!("OUT_DIR"), "/generated.rs"));
#[derive(maker::Removes)] struct Derived;

pub fn fs_read__macro() -> bool { quietly!(fs, read, "a").is_ok() }
pub fn fs_read__macro_makes_a_function() -> bool { made() }
pub fn env_read__nested_macros() -> bool { nested!(std::env::var("A").is_ok()) }
pub fn fs_read__macro_with_a_type() -> bool { typed!(std::fs::File) }
pub fn exec__proc_macro() -> bool { maker::starts!() }
pub fn fs_write__derived() { Derived.go(); }
pub fn env_read__generated_by_the_build() -> bool { generated() }
pub fn clean__macro() -> u8 { nested!(1 + 1) }
