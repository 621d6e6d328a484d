//! Closures.

fn run<T>(act: impl FnOnce() -> T) -> T { act() }
fn make(path: String) -> impl Fn() -> bool { move || std::fs::read(&path).is_ok() }
fn boxed(path: String) -> Box<dyn Fn() -> bool> { Box::new(move || std::fs::remove_file(&path).is_ok()) }

pub fn fs_read__closure() -> bool { let act = || std::fs::read("a").is_ok(); act() }
pub fn fs_read__closure_passed() -> bool { run(|| std::fs::read("a").is_ok()) }
pub fn fs_read__closure_in_closure() -> bool { run(|| run(|| run(|| std::fs::read("a").is_ok()))) }
pub fn fs_read__closure_made_elsewhere() -> bool { make("a".into())() }
pub fn fs_write__closure_in_a_box() -> bool { boxed("a".into())() }
pub fn fs_write__filtered() -> usize { ["a", "b"].iter().filter(|path| std::fs::remove_file(path).is_ok()).count() }
pub fn env_read__sorted_by() -> Vec<u8> { let mut list = vec![2, 1]; list.sort_by_key(|_| std::env::vars().count()); list }
pub fn env_read__unwrap_or_else(given: Option<String>) -> String { given.unwrap_or_else(|| std::env::var("A").unwrap_or_default()) }
pub fn exec__fold() -> usize { (0..2).fold(0, |sum, _| sum + usize::from(std::process::Command::new("a").status().is_ok())) }
pub fn fs_read__by_name() -> bool { let act = std::fs::read::<&str>; act("a").is_ok() }
pub fn clean__closure() -> u32 { run(|| (1..4).map(|number| number * 2).sum()) }
