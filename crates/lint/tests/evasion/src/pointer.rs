//! Functions as values.

type Act = fn(&str) -> bool;
fn read(path: &str) -> bool { std::fs::read(path).is_ok() }
fn start(name: &str) -> bool { std::process::Command::new(name).status().is_ok() }
fn quiet(text: &str) -> bool { text.is_empty() }
struct Holder { act: Act }
const CHOSEN: Act = read;
static TABLE: [(&str, Act); 2] = [("a", start), ("b", start)];
fn choose(number: u8) -> Act { if number > 3 { read } else { quiet } }
fn apply(act: impl Fn(&str) -> bool, text: &str) -> bool { act(text) }

pub fn fs_read__pointer() -> bool { let act: Act = read; act("a") }
pub fn fs_read__returned(number: u8) -> bool { choose(number)("a") }
pub fn fs_read__in_a_struct() -> bool { Holder { act: read }.act.clone()("a") }
pub fn fs_read__constant() -> bool { CHOSEN("a") }
pub fn exec__table(name: &str) -> bool { TABLE.iter().any(|(key, act)| *key == name && act(name)) }
pub fn fs_read__passed_on() -> bool { apply(read, "a") }
pub fn fs_read__path_of_std_passed() -> Vec<bool> { ["a"].iter().map(std::path::Path::new).map(std::path::Path::exists).collect() }
pub fn fs_read__option_map() -> Option<bool> { Some("a").map(read) }
pub fn exec__transmuted() -> bool {
    let address = start as *const ();
    let act: Act = unsafe { std::mem::transmute(address) };
    act("a")
}
pub fn fs_read__vector_of_pointers() -> bool { let acts: Vec<Act> = vec![quiet, read]; acts.iter().all(|act| act("a")) }
pub fn clean__pointer() -> bool { let act: Act = quiet; act("a") }
pub fn clean__passed_on() -> bool { apply(quiet, "a") }
