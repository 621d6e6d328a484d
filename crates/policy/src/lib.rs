//! The policy algebra of ringfence: what a tool declares, what an operator permits, and the grant that is both.
//!
//! Everything here is pure: no files, no sockets, no clock, no environment. Every enforcer consumes a [`Grant`]
//! that was computed here, so that one decision bites everywhere.
//!
//! | asks | admits | decides |
//! |---|---|---|
//! | [`Target`], [`Host`] | [`HostPattern`], [`NetworkCeiling`] | [`NetworkGrant`] |
//! | a normalised path | [`PathPattern`], [`FsCeiling`] | [`FsGrant`] |
//! | a name | [`NamePattern`] | [`SecretSet`], [`BinarySet`], [`VariableSet`] |
//!
//! [`validate_registration`] says whether a declaration fits a personality, [`resolve_capabilities`] computes the
//! grant, and [`Grant::judge`] answers one question.

mod address;
mod assurance;
mod capability;
mod class;
mod code;
mod command;
mod console;
mod container;
mod day;
mod declaration;
mod entry;
mod expand;
pub mod explain;
pub mod form;
mod gateway;
mod grant;
mod host;
mod image;
mod json;
mod limit;
pub mod manifest;
mod metadata;
mod name_set;
mod network;
mod path;
mod personality;
mod place;
mod reach;
mod refusal;
pub mod report;
mod run_entry;
mod server;
mod tool_name;
mod toolbox;
mod validate;
mod visited;

pub use address::{AddressClass, classify, is_public};
pub use assurance::Assurance;
pub use capability::{Capabilities, Network, Process, Storage, StorageKind, StorageScope, Surface};
pub use class::{Approvals, Decision, Risk, Route, SafetyClass};
pub use code::Code;
pub use command::{CommandError, CommandTemplate, secret_variable};
pub use console::ConsoleEntry;
pub use container::ContainerEntry;
pub use day::{Day, DayError};
pub use declaration::{Builtin, Constraints, Declaration, Idempotency, IdempotencyMode, Runtime};
pub use entry::{EntryGap, Table};
pub use gateway::{AgentEntry, GatewayEntry, TlsFiles, TokenDigest, check_agents};
pub use grant::{Grant, resolve_capabilities};
pub use host::{Host, HostError, HostName, HostPattern, HostSet, HostShape, Target};
pub use image::{Image, ImageError};
pub use json::{JsonError, JsonLimits, parse_json};
pub use limit::{LimitError, Limits, Size, Span, UNLIMITED_COUNT};
pub use metadata::{is_metadata, is_metadata_address};
pub use name_set::{
    Binary, BinarySet, NameError, NameKind, NamePattern, NameSet, SecretRef, SecretSet, Variable, VariableSet,
};
pub use network::{NetworkCeiling, NetworkGrant, OnUnknown, Private};
pub use path::{
    Direction, Floor, FloorEntry, FloorKind, FsCeiling, FsGrant, FsReach, Jail, LIVE_SUFFIX, PathError,
    PathPattern, PathReach, PathSet, STORE_SUFFIXES, StoreFile, Variables, normalise,
};
pub use personality::{Example, Personality};
pub use place::{JsonAsToml, ListKind, ListOwner, Places, WrittenList};
pub use reach::Reach;
pub use refusal::Refusal;
pub use run_entry::RunEntry;
pub use server::{Accept, ServerEntry, ServerName, ServerNameError, ServerTool, TOOLBOX, check_servers};
pub use tool_name::{ToolName, ToolNameError};
pub use toolbox::{ComponentFile, DocumentError, NoFiles, Notify, ToolFiles, Toolbox};
pub use validate::{Gap, check_examples, validate_declaration, validate_registration, validate_tools};

/// The example of the README is compiled and run like any other.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
extern crate self as ringfence_policy;

// The tests that use only what is public, linked into the executable of the unit tests.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
