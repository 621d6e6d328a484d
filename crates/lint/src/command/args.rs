//! The command line.

use std::path::PathBuf;

use ringfence_lint::Effect;
use ringfence_policy::report::Format;

use super::kind::Language;

/// Check what the code of tools uses, dependencies included, against what they declare
///
/// Rust is built inside the sandbox, without a network, and followed call by call through every crate (`--engine mir`, the gate), or
/// only read (`--engine source`, for the editor). Python, JavaScript and TypeScript are read. What is used and not declared is an error
/// with the way that leads to it; what cannot be analysed must be waived in `ringfence-lint.toml`. Exits with 4 when there are errors.
#[derive(Debug, clap::Parser)]
#[command(name = "ringfence lint", bin_name = "ringfence lint", version, max_term_width = 120)]
#[command(after_help = "Examples:
  ringfence lint
  ringfence lint path/to/crate --engine source
  ringfence lint path/to/server --policy ringfence.toml --server git
  ringfence lint --format github")]
pub(crate) struct Args {
    /// The folder of the package, or its manifest
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// How Rust is looked at
    #[arg(long, value_enum, default_value = "mir")]
    pub(crate) engine: Engine,
    /// What the package is written in, where the folder holds several
    #[arg(long, value_enum)]
    pub(crate) language: Option<Language>,
    /// Check functions whose path fits too, as if each were a tool: `tool_*`, `server::handle`
    #[arg(long, value_name = "PATH")]
    pub(crate) entry: Vec<String>,
    /// What the functions of `--entry` declare
    #[arg(long, value_name = "EFFECT", requires = "entry")]
    pub(crate) allow: Vec<Effect>,
    /// The policy that declares what a server does
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) policy: Option<PathBuf>,
    /// The `[[server]]` of the policy that this package is
    #[arg(long, value_name = "NAME", requires = "policy")]
    pub(crate) server: Option<String>,
    /// The file with waivers; `ringfence-lint.toml` beside the manifest by default
    #[arg(long, value_name = "FILE")]
    pub(crate) waivers: Option<PathBuf>,
    /// Say what every function does, declared or not, and compare nothing that declares nothing
    #[arg(long)]
    pub(crate) inventory: bool,
    /// Write a first declaration from what is found, for somebody to correct
    #[arg(long, conflicts_with_all = ["format", "json"])]
    pub(crate) draft: bool,
    /// Write a `clippy.toml` that points tool code to the scoped handles
    #[arg(long, conflicts_with_all = ["format", "json", "draft"])]
    pub(crate) clippy: bool,
    /// How findings are written: human, json, sarif, github, markdown
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) format: Option<Format>,
    /// The same as `--format json`
    #[arg(long)]
    pub(crate) json: bool,
    /// Obey the project's own `.cargo/config.toml`, which otherwise counts for nothing
    #[arg(long)]
    pub(crate) cargo_config: bool,
    /// Build with these features
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) features: Vec<String>,
    /// Build with every feature
    #[arg(long)]
    pub(crate) all_features: bool,
    /// Build without the default features
    #[arg(long)]
    pub(crate) no_default_features: bool,
    /// Say nothing where only packages are missing
    #[arg(long, hide = true)]
    pub(crate) quiet_missing: bool,
    /// Say what fetching the packages takes, for `ringfence lint`, which does it inside the fence
    #[arg(long, hide = true)]
    pub(crate) fetch_plan: bool,
}

/// How Rust is looked at.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub(crate) enum Engine {
    /// Built inside the sandbox, and followed as the compiler understood it
    Mir,
    /// Read; runs nothing, and misses what only a compiler knows
    Source,
}

impl Args {
    /// Returns the format that is asked for.
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format.unwrap_or(Format::Human) }
    }
}
