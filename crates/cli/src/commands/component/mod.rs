//! `ringfence component`

mod work;

use std::path::PathBuf;

pub(crate) use work::run;

/// Look into a WebAssembly component, or write its declaration into it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence component show plugin.wasm")]
pub(crate) struct ComponentArgs {
    #[command(subcommand)]
    command: ComponentCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ComponentCommand {
    Seal(SealArgs),
    Show(ShowArgs),
}

/// Write the declaration that a component exports into its file, where the policy reads it
///
/// For components of languages whose compilers write no section of their own. The component is run with nothing granted, and asked
/// for its declaration.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence component seal plugin.wasm --out sealed.wasm")]
struct SealArgs {
    /// The component
    file: PathBuf,
    /// Write the sealed component here; over the component itself by default
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Show what a component declares, what it imports, and what each import needs
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence component show plugin.wasm
  ringfence component show plugin.wasm --json")]
struct ShowArgs {
    /// The component
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}
