//! The probes, one file per family or part of one.

mod env;
mod exec;
mod fs;
pub(crate) mod inject;
mod ipc;
mod kernel;
mod net;
mod proc;
pub(crate) mod protect;
mod resource;
mod tty;

use crate::probe::Probe;

/// The tables of all families.
pub const FAMILIES: &[&[Probe]] = &[
    fs::read::PROBES,
    fs::write::PROBES,
    fs::mode::PROBES,
    fs::device::PROBES,
    fs::system::PROBES,
    protect::NAMES,
    protect::WAYS,
    env::PROBES,
    proc::PROBES,
    ipc::PROBES,
    net::PROBES,
    net::family::PROBES,
    kernel::namespace::PROBES,
    kernel::mount::PROBES,
    kernel::call::PROBES,
    kernel::control::PROBES,
    kernel::privilege::PROBES,
    kernel::uring::PROBES,
    tty::PROBES,
    exec::PROBES,
    inject::git::PROBES,
    inject::archive::PROBES,
    inject::text::PROBES,
    inject::interpreter::PROBES,
    inject::launcher::PROBES,
    resource::limit::PROBES,
    resource::memory::PROBES,
    resource::shared::PROBES,
    resource::uncounted::PROBES,
    resource::survivor::PROBES,
];
