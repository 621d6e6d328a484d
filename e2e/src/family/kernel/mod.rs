//! The kernel itself: namespaces, mounts, and calls that a tool has no business making.

pub(crate) mod call;
pub(crate) mod control;
pub(crate) mod mount;
pub(crate) mod namespace;
pub(crate) mod privilege;
pub(crate) mod uring;
