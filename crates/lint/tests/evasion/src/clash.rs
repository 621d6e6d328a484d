//! Names that belong to others, and ordinary code that is easily overlooked.

mod alloc {
    pub fn begin() -> bool { ::std::process::Command::new("a").status().is_ok() }
    pub struct Vec;
    impl Vec { pub fn new() -> Self { let _ = ::std::fs::read("a"); Self } }
}
mod own {
    pub trait Drop { fn drop(&mut self); }
    pub trait Iterator { fn next(&mut self) -> bool; }
}
fn r#match() -> bool { std::env::var("A").is_ok() }

struct Ends;
impl Drop for Ends { fn drop(&mut self) { let _ = std::fs::remove_file("a"); } }
struct Folder;
struct Entries;
impl IntoIterator for Folder { type Item = u8; type IntoIter = Entries; fn into_iter(self) -> Entries { Entries } }
impl Iterator for Entries { type Item = u8; fn next(&mut self) -> Option<u8> { std::fs::metadata("a").ok().map(|_| 1) } }
fn walk<I: IntoIterator<Item = u8>>(items: I) -> usize { let mut count = 0; for _ in items { count += 1; } count }

trait Ask { fn ask(&self) -> bool; }
impl Ask for () { fn ask(&self) -> bool { std::env::var("A").is_ok() } }
impl Ask for [u8; 2] { fn ask(&self) -> bool { std::fs::read("a").is_ok() } }
fn asked<T: Ask>(value: &T) -> bool { value.ask() }

trait Holds { const ACT: fn() -> bool; }
struct Starts;
struct Rests;
impl Holds for Starts { const ACT: fn() -> bool = alloc::begin; }
impl Holds for Rests { const ACT: fn() -> bool = || true; }
fn held<T: Holds>() -> bool { (T::ACT)() }

struct Wrong;
impl std::fmt::Debug for Wrong { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(if std::fs::exists("a").is_ok() { "a" } else { "b" }) } }
impl std::fmt::Display for Wrong { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("a") } }
impl std::error::Error for Wrong {}

struct Calls<F>(F);
impl<F: FnMut() -> bool> Iterator for Calls<F> { type Item = bool; fn next(&mut self) -> Option<bool> { Some((self.0)()) } }
struct Counted(#[allow(dead_code)] u8);
impl Drop for Counted { fn drop(&mut self) { let _ = std::fs::write("a", ""); } }

pub fn exec__module_called_alloc() -> bool { alloc::begin() }
pub fn fs_read__type_called_vec() -> alloc::Vec { alloc::Vec::new() }
pub fn env_read__raw_name() -> bool { r#match() }
pub fn fs_write__own_trait_called_drop() { let _ends = Ends; }
pub fn fs_read__behind_into_iterator() -> usize { walk(Folder) }
pub fn fs_read__flattened() -> usize { vec![Folder].into_iter().flatten().count() }
pub fn env_read__impl_for_nothing() -> bool { asked(&()) }
pub fn fs_read__impl_for_an_array() -> bool { asked(&[1, 2]) }
pub fn exec__associated_pointer() -> bool { held::<Starts>() }
pub fn clean__associated_pointer() -> bool { held::<Rests>() }
pub fn fs_read__error_in_a_box() -> String { let error: Box<dyn std::error::Error> = Wrong.into(); format!("{error:?}") }
pub fn exec__function_in_a_struct() -> usize { Calls(alloc::begin).take(2).count() }
pub fn fs_write__constructor_as_function() -> usize { (0..2).map(Counted).count() }
pub fn fs_read_and_fs_write__flags() -> bool { use std::os::unix::fs::OpenOptionsExt; std::fs::OpenOptions::new().read(true).custom_flags(64).open("a").is_ok() }
