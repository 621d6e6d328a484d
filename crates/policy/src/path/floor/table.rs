//! The table of the floor: its lines, by what they protect.
//!
//! One rule gathers them: *what does an editor, a shell, an agent, a language or a build tool run or trust when a folder is opened
//! or entered, when its user logs in next, or when it is called, without asking?* Beside it stand keys and credentials under
//! names that tell them.
//!
//! These stay off on purpose; `tests/names.rs` holds a list of each:
//!
//! - what people build, test or start knowingly (`Makefile`, `package.json`, `build.rs`, `conftest.py`): it is the work itself;
//! - settings of linters, formatters and tests (`.eslintrc.js`, `.rubocop.yml`, `.pylintrc`): they change together with the code;
//! - pipelines of a forge (`.github/workflows`, `.gitlab-ci.yml`): they run on its machine, after somebody has pushed them;
//! - texts for agents that a project keeps like its README (`AGENTS.md`, `CLAUDE.md`): they are reviewed like it;
//! - a version and nothing else (`.nvmrc`, `.python-version`);
//! - what runs only where a protected file says so (`.gitattributes`, `.env`);
//! - what package managers make in a project (`.venv`, `node_modules`): it could not be made at all.

mod agent;
mod credential;
mod editor;
mod git;
mod key;
mod machine;
mod path;
mod program;
mod startup;
mod store;
mod tool;

use super::{FloorEntry, FloorKind};
use crate::path::reach::Direction;

/// All lines, in lower case, each once and each with its reason.
pub(super) const TABLES: &[&[FloorEntry]] = &[
    key::LINES,
    credential::LINES,
    startup::LINES,
    path::LINES,
    agent::LINES,
    editor::LINES,
    tool::LINES,
    program::LINES,
    git::LINES,
    machine::LINES,
    store::LINES,
];

/// A line that denies reading and writing.
const fn both(kind: FloorKind, pattern: &'static str, reason: &'static str) -> FloorEntry {
    FloorEntry { pattern, kind, only: None, reason }
}

/// A line that denies writing.
const fn writes(kind: FloorKind, pattern: &'static str, reason: &'static str) -> FloorEntry {
    FloorEntry { pattern, kind, only: Some(Direction::Write), reason }
}
