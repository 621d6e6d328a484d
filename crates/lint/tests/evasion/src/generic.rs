//! Type parameters and traits.

use std::convert::TryFrom;
use std::str::FromStr;

pub trait Act { const PATH: &'static str; type Out; fn act(&self) -> Self::Out; fn made() -> Self where Self: Sized; }
struct Reads;
impl Act for Reads { const PATH: &'static str = "a"; type Out = bool; fn act(&self) -> bool { std::fs::read(Self::PATH).is_ok() } fn made() -> Self { let _ = std::env::var("A"); Self } }
struct Quiet;
impl Act for Quiet { const PATH: &'static str = ""; type Out = u8; fn act(&self) -> u8 { 1 } fn made() -> Self { Self } }
fn run<T: Act>(actor: &T) -> T::Out { actor.act() }
fn deep<T: Act>(actor: T) -> T::Out { run(&actor) }
fn made<T: Act>() -> T { T::made() }
struct Wrap<T>(T);
impl<T: Act> Wrap<T> { fn go(&self) -> T::Out { deep_ref(&self.0) } }
fn deep_ref<T: Act>(actor: &T) -> T::Out { run(actor) }
trait Extra { fn extra(&self) -> bool; }
impl<T: AsRef<str>> Extra for T { fn extra(&self) -> bool { std::fs::remove_file(self.as_ref()).is_ok() } }
struct Parsed;
impl FromStr for Parsed { type Err = (); fn from_str(text: &str) -> Result<Self, ()> { std::fs::read(text).map(|_| Self).map_err(|_| ()) } }
struct Turned;
impl From<u8> for Turned { fn from(_: u8) -> Self { let _ = std::process::Command::new("a").status(); Self } }
impl TryFrom<u16> for Parsed { type Error = (); fn try_from(_: u16) -> Result<Self, ()> { std::env::var("A").map(|_| Self).map_err(|_| ()) } }
#[derive(Default)] struct Outer { inner: Inner }
struct Inner;
impl Default for Inner { fn default() -> Self { let _ = std::fs::read_dir("a"); Self } }
#[derive(Clone)] struct Copied { part: Part }
struct Part;
impl Clone for Part { fn clone(&self) -> Self { let _ = std::fs::write("a", ""); Self } }
struct Key;
impl PartialEq for Key { fn eq(&self, _: &Self) -> bool { std::env::var("A").is_ok() } }
impl Eq for Key {}
impl std::hash::Hash for Key { fn hash<H: std::hash::Hasher>(&self, state: &mut H) { let _ = std::net::TcpStream::connect("a.test:1"); } }

pub fn fs_read__type_parameter() -> bool { run(&Reads) }
pub fn fs_read__two_layers() -> bool { deep(Reads) }
pub fn env_read__associated_function() { made::<Reads>(); }
pub fn fs_read__generic_struct() -> bool { Wrap(Reads).go() }
pub fn fs_write__blanket() -> bool { "a".extra() }
pub fn fs_read__parse() -> bool { "a".parse::<Parsed>().is_ok() }
pub fn exec__into() { let _: Turned = 1u8.into(); }
pub fn env_read__try_into() -> bool { let parsed: Result<Parsed, _> = 1u16.try_into(); parsed.is_ok() }
pub fn fs_read__derived_default() { let _ = Outer::default(); }
pub fn fs_write__derived_clone() { let _ = Copied { part: Part }.clone(); }
pub fn env_read_and_net_connect__key_of_a_map() { let mut map = std::collections::HashMap::new(); map.insert(Key, 1); }
pub fn fs_read__deep_chain() -> bool { one::read("a") }
pub fn clean__deep_chain() -> usize { one::quiet("a") }
impl one::Acts for Reads { fn act(&self) -> bool { std::fs::read("a").is_ok() } }
impl one::Acts for Quiet { fn act(&self) -> bool { true } }
pub fn fs_read__generic_through_the_chain() -> bool { one::generic(&Reads) }
pub fn clean__generic_through_the_chain() -> bool { one::generic(&Quiet) }
pub fn clean__type_parameter() -> u8 { deep(Quiet) }
pub fn clean__generic_struct() -> u8 { Wrap(Quiet).go() }
