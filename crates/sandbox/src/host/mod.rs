//! What the machine has: which files a path means, what a program needs beside itself, what a kernel can do.
//!
//! This is the only part that looks; a [`Plan`](crate::Plan) is made from what it saw and touches nothing.

mod companion;
mod judge;
mod mounts;
mod path;
mod platform;
mod program;
mod protected;
mod system;

#[cfg(test)]
pub(crate) use companion::Companion;
pub(crate) use companion::Role;
pub(crate) use judge::Judge;
pub(crate) use mounts::Mounts;
pub use path::{Found, Identity, Kind};
pub(crate) use path::{find, waypoints};
pub use platform::Platform;
pub use program::{Program, SearchPath};
pub use protected::Aliases;
#[cfg(target_os = "linux")]
pub(crate) use protected::is_exchanged;
#[cfg(test)]
pub(crate) use protected::survey;
pub(crate) use protected::{
    AliasSurvey, HardLinks, LinkedFolder, Pin, Sensitive, Survey, Treatment, find_own_pins, find_pins,
    find_shared, gather, search, seen, survey_inside, survey_with_names,
};
pub(crate) use system::{is_system, is_system_link};
