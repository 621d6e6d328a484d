//! What the console asks of others: whoever wires the program says what answers.

mod desk;
mod log;

pub use desk::{
    ApprovalRule, Definition, DefinitionId, DefinitionPage, Desk, DeskError, Enforcement, Judgement,
    ManifestChange, ManifestPage, PolicyAnswer, PolicyLine, PolicyPage, PolicyQuestion, ReachRow,
    ScanFinding, Surface, Trust,
};
pub use log::{AuditLog, ConsoleStore, Reading};
