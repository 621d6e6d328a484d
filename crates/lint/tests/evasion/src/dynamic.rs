//! Trait objects.

pub trait Act { fn act(&self) -> bool; fn twice(&self) -> bool { self.act() && self.act() } }
struct Reads;
impl Act for Reads { fn act(&self) -> bool { std::fs::read("a").is_ok() } }
pub trait Quiet { fn size(&self) -> usize; }
impl Quiet for Reads { fn size(&self) -> usize { 1 } }
struct Starts(u8);
impl std::fmt::Write for Starts { fn write_str(&mut self, text: &str) -> std::fmt::Result { let _ = std::process::Command::new(text).status(); Ok(()) } }
struct Sends;
impl std::io::Write for Sends {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> { std::net::TcpStream::connect("a.test:1")?; Ok(bytes.len()) }
    fn flush(&mut self) -> std::io::Result<()> { Ok(()) }
}
struct Walks;
impl Iterator for Walks { type Item = u8; fn next(&mut self) -> Option<u8> { std::fs::metadata("a").ok().map(|_| 1) } }
fn pass(actor: &dyn Act) -> bool { actor.act() }
fn all(actors: Vec<Box<dyn Act>>) -> bool { actors.into_iter().all(|actor| actor.twice()) }

pub fn fs_read__object() -> bool { let actor: &dyn Act = &Reads; actor.act() }
pub fn fs_read__object_passed() -> bool { pass(&Reads) }
pub fn fs_read__boxed_objects() -> bool { all(vec![Box::new(Reads)]) }
pub fn fs_read__default_method() -> bool { let actor: std::rc::Rc<dyn Act> = std::rc::Rc::new(Reads); actor.twice() }
pub fn net_connect__writer_object() -> bool { let mut writer: Box<dyn std::io::Write> = Box::new(Sends); writer.write_all(b"a").is_ok() }
pub fn exec__formatted_into() -> bool { use std::fmt::Write; write!(Starts(1), "{}", 1).is_ok() }
pub fn fs_read__iterator_object() -> usize { let walks: Box<dyn Iterator<Item = u8>> = Box::new(Walks); walks.count() }
pub fn fs_write__function_object() -> bool { let act: std::sync::Arc<dyn Fn() -> bool + Send + Sync> = std::sync::Arc::new(|| std::fs::create_dir("a").is_ok()); act() }
pub fn fs_read__any_downcast() -> bool { let any: Box<dyn std::any::Any> = Box::new(Reads); any.downcast_ref::<Reads>().is_some_and(|actor| actor.act()) }
pub fn clean__object() -> usize { let quiet: &dyn Quiet = &Reads; quiet.size() }
