//! The core crate from outside.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod scoped_fs;
