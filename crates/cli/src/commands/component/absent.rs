//! A build without components.

use std::io::Write;

use super::{ComponentArgs, ComponentCommand, SealArgs, ShowArgs};
use crate::error::{CommandError, Exit};

pub(crate) fn run(args: &ComponentArgs, _: &mut dyn Write) -> Result<Exit, CommandError> {
    let (ComponentCommand::Seal(SealArgs { file, .. }) | ComponentCommand::Show(ShowArgs { file, .. })) =
        &args.command;
    Err(CommandError::Input {
        message: format!("`{}`: this ringfence was built without components", file.display()),
        hint: Some("build it with the feature `wasm`"),
    })
}
