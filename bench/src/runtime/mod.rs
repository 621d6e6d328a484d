//! What the measurement of runtimes is made of: one small tool as a function, in process and as a component.

#![expect(clippy::disallowed_methods, reason = "a measurement reads its guests and the memory it takes")]

mod component;
mod sample;
mod slug;

pub use component::{Timed, component, guest};
pub use sample::{Sample, resident};
pub use slug::{arguments, in_process, registry, slug};
