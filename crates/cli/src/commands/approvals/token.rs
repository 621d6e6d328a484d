//! Where the token of an approver comes from: a file, standard input or a variable, never the command line.

use std::io::Read;
use std::path::{Path, PathBuf};

use ringfence::ApproverToken;
use zeroize::Zeroizing;

use crate::error::CommandError;
use crate::load::read_text;

/// The variable that holds a token.
const VARIABLE: &str = "RINGFENCE_APPROVER_TOKEN";
/// More than any token has.
const MOST: u64 = 4096;

#[derive(Debug, clap::Args)]
pub(super) struct TokenArgs {
    /// The file with your token, `-` for standard input; without it the variable RINGFENCE_APPROVER_TOKEN
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl TokenArgs {
    /// Reads the token.
    pub(super) fn read(&self) -> Result<ApproverToken, CommandError> {
        let text = match &self.token_file {
            Some(path) if path == Path::new("-") => from_input()?,
            Some(path) => {
                Zeroizing::new(read_text(path, Some("it is what `ringfence approver add` printed"))?)
            }
            None => Zeroizing::new(std::env::var(VARIABLE).unwrap_or_default()),
        };
        if text.trim().is_empty() {
            return Err(CommandError::Input {
                message: "there is no token to decide with".to_owned(),
                hint: Some("give it with --token-file FILE or in the variable RINGFENCE_APPROVER_TOKEN"),
            });
        }
        Ok(ApproverToken::new(&text))
    }
}

fn from_input() -> Result<Zeroizing<String>, CommandError> {
    let mut text = Zeroizing::new(String::new());
    std::io::stdin().lock().take(MOST).read_to_string(&mut text).map_err(|error| CommandError::Input {
        message: format!("cannot read the token from standard input: {error}"),
        hint: None,
    })?;
    Ok(text)
}
