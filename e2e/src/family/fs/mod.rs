//! Files: reading, writing and noticing what was not granted.

pub(crate) mod device;
pub(crate) mod mode;
pub(crate) mod read;
pub(crate) mod system;
pub(crate) mod write;
