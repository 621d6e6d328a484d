//! `wasi:filesystem`, of which every path goes through the call's `ScopedFs`.
//!
//! A directory that a guest holds is a path and nothing else: each operation on it is judged again, as if it had been
//! asked for by its full name. A file that a guest holds is a handle that was opened after it was judged; reading and
//! writing it is left to wasmtime's own implementation.
//!
//! INVARIANT: no path of a guest reaches the operating system but through `ScopedFs`. The handle behind a directory is
//! the end of a pipe, on which every file operation fails.

mod descriptor;
mod error;
mod path;
mod preopen;
mod table;

pub(crate) use table::{Files, HasFiles};
