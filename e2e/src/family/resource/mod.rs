//! Spending more than was granted, and staying longer.

pub(crate) mod limit;
pub(crate) mod memory;
pub(crate) mod shared;
pub(crate) mod survivor;
pub(crate) mod uncounted;
