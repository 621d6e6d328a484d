//! Tools for AI agents that get exactly the reach they declared and their operator permits.
//!
//! A tool declares what it touches; a [`Personality`] sets the ceiling; the [`Grant`] is what both allow, and every
//! handle a tool receives consumes that grant and nothing else. The paved path is three steps: make a [`tool()`],
//! register it in a [`Registry`], [`call`](Registry::call) it in a [`Run`].
//!
//! ```
//! use ringfence::{Backends, Call, HostFiles, Registry, Run, tool};
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let registry = Registry::builder()
//!     .personality(serde_json::from_str(r#"{"fs_reach": {"read": ["/usr/share/dict"]}}"#)?)
//!     .backends(Backends::none().files(HostFiles::new()))
//!     .build();
//! registry.register(
//!     tool("first_line")
//!         .description("The first line of a file")
//!         .read_from_personality()
//!         .input::<String>()
//!         .output::<String>()
//!         .run(|path, context| async move {
//!             let text = context.fs()?.read(&path)?;
//!             Ok(text.lines().next().unwrap_or_default().to_owned())
//!         })?,
//! )?;
//!
//! let run = Run::new("run-1", "session-1");
//! let report = registry.call(&run, Call::new("first_line", json!("/etc/passwd"))).await;
//! assert_eq!(
//!     serde_json::to_value(&report.outcome)?,
//!     json!({
//!         "ok": false,
//!         "code": "refused",
//!         "error": "PATH_NOT_REACHABLE: read not permitted for /etc/passwd",
//!         "refusal": "PATH_NOT_REACHABLE",
//!     })
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod audit;
mod backend;
mod budget;
mod builder;
mod builtin;
mod call;
mod command_tool;
mod context;
mod digest;
mod durable_run;
mod error;
mod event;
#[doc(hidden)]
pub mod fail_point;
mod fs;
mod gate;
mod handle;
mod in_force;
mod interceptor;
mod late;
mod launcher;
pub mod manual;
mod network;
pub mod notify;
mod open_store;
mod outcome;
mod parallel;
mod pin;
mod pipeline;
mod port;
mod random;
mod registry;
mod run;
mod schema;
mod step;
mod tool;
mod touch;

pub use audit::{AuditEntry, AuditSink, MemoryAudit};
pub use backend::{Backends, needs_backends};
pub use builder::{Missing, ToolBuildError, ToolBuilder, process_tool, tool};
pub use builtin::declared_tool;
pub use call::{Asker, Call, Report};
pub use context::Context;
pub use digest::{definition_digest, json_digest, personality_digest};
pub use error::ToolError;
pub use event::{Event, Observer, Record};
pub use fs::{
    Access, Create, DirEntry, Existing, FileKind, FileStorage, FsError, HostFiles, LastLink, MemoryFiles,
    Metadata, OpenMode, Opening, ScopedFs,
};
pub use gate::{GateMode, judge_arguments};
pub use handle::{KeyValueStore, ScopedEnvironment, ScopedFetch, ScopedProcess, ScopedSecrets, SpawnOptions};
pub use in_force::InForce;
pub use interceptor::{Intercept, Interceptor, PendingCall};
pub use launcher::{Running, SandboxLauncher, Service, ServiceEnd, ThreadError, run_on_thread};
pub use network::LiveCall;
pub use outcome::{Failure, Outcome};
pub use parallel::Batch;
pub use pin::{Change, PinError, PinStatus, Pins, compare_definitions};
pub use pipeline::{CleanOutput, Quarantine, RawOutput, Registered, Review, scan_declaration};
pub use port::{
    Approval, ApprovalError, ApprovalRequest, ApprovalStore, Approver, ApproverEntry, ApproverName,
    ApproverNameError, ApproverToken, Claim, Clock, Confinement, DamagedRequest, Decided, Environment, Fence,
    FiledRequest, IdempotencyStore, KeyClaim, KeyEntry, KeyFilter, KeyFinding, KeyName, KeyState, Launch,
    Launcher, ListedRequests, MAX_IDEMPOTENCY_KEY, ManualClock, MemoryApprovals, MemoryApprover,
    MemoryIdempotency, MemoryStore, Notice, PersonDecision, Principal, ProcessOutput, Proof, RequestFilter,
    RequestState, Role, RoleError, RunCount, Secret, SecretError, SecretSource, Settled, Settlement,
    Standing, Store, StoreApprover, StoreError, StoreFactory, SystemClock, TokenHash, Verdict, WaitingCall,
    Word, notice_pause,
};
pub use registry::{Incoming, OnGaps, RegistrationError, Registry, RegistryBuilder};
pub use ringfence_egress as egress;
pub use ringfence_policy as policy;
pub use ringfence_policy::{Capabilities, Code, Declaration, Grant, Personality, Refusal};
pub use ringfence_sandbox as sandbox;
pub use ringfence_text as text;
pub use run::{Run, RunBuilder, RunInfo};
pub use schema::{Schema, SchemaError, Violation};
pub use tool::{Reconciled, Tool};

/// The example of the README is compiled and run like any other.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
extern crate self as ringfence;

// The tests that use only what is public, linked into the executable of the unit tests.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
