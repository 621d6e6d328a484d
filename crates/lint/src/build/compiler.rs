//! What the compiler says of itself, asked once for each version of it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::BuildError;
use super::fence::Fence;

/// Where the answer is kept, in a folder that is another for another compiler.
const KEPT: &str = "compiler.json";

/// What the compiler says of itself.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Compiler {
    /// The platform it runs on, and builds for.
    pub(super) host: String,
    /// What holds for that platform.
    pub(super) cfg: String,
}

impl Compiler {
    /// Asks, or remembers.
    pub(super) fn ask(fence: &Fence<'_>, directory: &Path) -> Result<Self, BuildError> {
        let kept = fence.notes.join(KEPT);
        let known = std::fs::read_to_string(&kept).ok().and_then(|text| serde_json::from_str(&text).ok());
        if let Some(known) = known {
            return Ok(known);
        }
        let version = fence.rustc(&["-vV"], directory)?.happy("`rustc -vV`")?.stdout;
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned);
        let unexpected = |error: &str| BuildError::Unexpected { what: "the compiler", error: error.into() };
        let host = host.ok_or_else(|| unexpected("it names no host"))?;
        let cfg = fence.rustc(&["--print", "cfg"], directory)?.happy("`rustc --print cfg`")?.stdout;
        let asked = Self { host, cfg };
        let text = serde_json::to_string(&asked).map_err(|error| unexpected(&error.to_string()))?;
        std::fs::write(&kept, text).map_err(|error| BuildError::File { path: kept, error })?;
        Ok(asked)
    }
}
