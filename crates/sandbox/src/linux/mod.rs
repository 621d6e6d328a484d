//! The native launcher for Linux.

pub(crate) mod account;
pub(crate) mod budget;
pub(crate) mod cgroup;
pub(crate) mod ends;
pub(crate) mod feed;
pub(crate) mod gate;
pub(crate) mod inner;
pub(crate) mod kernel;
pub(crate) mod launch;
pub(crate) mod namespace;
pub(crate) mod op;
pub(crate) mod prepare;
pub(crate) mod record;
pub(crate) mod refusal;
mod relay;
pub(crate) mod source;
pub(crate) mod supervise;
pub(crate) mod terminal;
