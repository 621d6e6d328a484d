//! The console: a person sees what agents do, decides what they may, and can prove what happened.
//!
//! Every request passes `enter` (is it meant for this host, who asks, did a page of ours send it). What is asked is then a page
//! (`page`, HTML that is whole without a script) or an endpoint (`api`, JSON), both made of the same `view`s; `live` follows the
//! log for whoever looks. What lies in files or a database is asked of the `port`s.
//!
//! INVARIANT: nothing is shown to nobody, nothing is changed that the audit does not keep under a name, and foreign text is only
//! ever text.

mod access;
mod act;
mod api;
mod config;
#[expect(clippy::module_inception, reason = "it is the console itself, beside what it is made of")]
mod console;
mod decision;
mod enter;
mod export;
mod fault;
mod front;
mod live;
mod page;
mod plain;
mod port;
mod sent;
mod summary;
mod view;

pub use api::document;
pub use config::{ConsoleConfig, ConsoleParts};
pub use console::Console;
pub use fault::Problem;
pub use front::Access;
pub use live::{Child, Live};
pub use port::{
    ApprovalRule, AuditLog, ConsoleStore, Definition, DefinitionId, DefinitionPage, Desk, DeskError,
    Enforcement, Judgement, ManifestChange, ManifestPage, PolicyAnswer, PolicyLine, PolicyPage,
    PolicyQuestion, ReachRow, Reading, ScanFinding, Surface, Trust,
};

pub(crate) use plain::Plain;
