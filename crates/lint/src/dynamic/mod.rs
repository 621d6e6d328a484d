//! What the engines for Python and for JavaScript share: where values flow, and what functions reach through them.
//!
//! An engine reads files and states facts in a [`Flow`]: this name holds that function, this call passes these values. The
//! flow is then solved: every name gets the set of things that it may hold, every call the functions that it may run, and every
//! function what it can do. The order of statements and the values of conditions play no part, so that a fact can only add.
//!
//! INVARIANT: nothing here opens a file outside the folders that it was given, and nothing is ever executed.

mod error;
mod flow;
mod folder;
mod invoke;
mod library;
mod literal;
mod report;
mod solve;
mod stack;
mod table;

pub use error::ScriptError;
pub(crate) use flow::{Flow, FunctionId, Node, ObjectId, PackageId, Site};
pub(crate) use folder::{files_below, read_text};
pub(crate) use library::{Arguments, Catalog, Imported, Special};
pub(crate) use literal::subject_of;
pub(crate) use solve::ANY_NAME;
pub(crate) use stack::with_big_stack;
pub(crate) use table::Table;
