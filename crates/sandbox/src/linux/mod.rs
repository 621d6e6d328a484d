//! The native launcher for Linux.

pub(crate) mod cgroup;
pub(crate) mod kernel;
pub(crate) mod launch;
pub(crate) mod op;
pub(crate) mod prepare;
