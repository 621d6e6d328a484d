//! What runs when a value goes.

struct Last;
impl Drop for Last { fn drop(&mut self) { let _ = std::fs::remove_file("a"); } }
struct Holder { inner: Middle }
struct Middle(Option<Box<Last>>);
enum Either { One(Last), Two }
struct Quiet(u8);
impl Drop for Quiet { fn drop(&mut self) { self.0 = 0; } }
fn make() -> Holder { Holder { inner: Middle(None) } }
fn keep<T>(value: T) -> Vec<T> { vec![value] }

pub fn fs_write__drop() { let _last = Last; }
pub fn fs_write__temporary() { Last; }
pub fn fs_write__deep_inside() { let _holder = Holder { inner: Middle(Some(Box::new(Last))) }; }
pub fn fs_write__made_elsewhere() { let _holder = make(); }
pub fn fs_write__variant(two: bool) { let _either = if two { Either::Two } else { Either::One(Last) }; }
pub fn fs_write__in_a_vector() { drop(keep(Last)); }
pub fn fs_write__in_a_map() { let mut map = std::collections::BTreeMap::new(); map.insert(1, Last); }
pub fn fs_write__as_an_object() { let _any: Box<dyn std::any::Any> = Box::new(Last); }
pub fn fs_write__shared() { let _shared = std::sync::Arc::new(std::sync::Mutex::new(Last)); }
pub fn fs_write__replaced() { let mut last = Last; last = Last; std::mem::forget(last); }
pub fn clean__drop() { let _quiet = Quiet(1); }
pub fn clean__drop_in_a_vector() { drop(keep(Quiet(1))); }
