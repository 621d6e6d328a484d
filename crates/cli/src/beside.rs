//! Programs of ours that stand beside this one: engines that not everybody needs.
//!
//! Only the folder of this program is looked at. The search path decides nothing, and another version would not fit.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::error::CommandError;
use crate::runtimes::EngineError;

/// The program that runs components.
pub(crate) const COMPONENTS: &str = "ringfence-components";

/// The program that looks into code.
pub(crate) const LINT: &str = "ringfence-lint";

/// Returns where a program of ours is, or would be.
pub(crate) fn path(name: &str) -> std::io::Result<PathBuf> {
    std::env::current_exe().map(|own| own.with_file_name(name))
}

/// Finds a program of ours.
pub(crate) fn program(name: &str, hint: &'static str) -> Result<PathBuf, CommandError> {
    let path = path(name).map_err(CommandError::Start)?;
    if path.is_file() {
        return Ok(path);
    }
    Err(CommandError::Input { message: format!("`{}` is not installed", path.display()), hint: Some(hint) })
}

/// Starts a program of ours to ask which version it is.
#[expect(clippy::disallowed_methods, reason = "it is our own program, which only says what it is")]
pub(crate) fn version(program: &std::path::Path) -> std::io::Result<String> {
    let said = Command::new(program).arg("--version").env_clear().output()?;
    let text = String::from_utf8_lossy(&said.stdout);
    let version = text.split_whitespace().last().filter(|_| said.status.success());
    version.map(str::to_owned).ok_or_else(|| std::io::Error::other("it does not say which version it is"))
}

/// Goes on as the program that runs components, with the same arguments. Returns only where that cannot be, with the reason.
#[expect(clippy::disallowed_methods, reason = "it is our own program, and takes this one's place")]
pub(crate) fn become_components() -> EngineError {
    let wrong = |message, hint| EngineError { message, hint };
    // Whoever is connected would be cut off.
    if crate::serving::has_begun() {
        let message = "this gateway began without components".to_owned();
        return wrong(message, Some("start it again to serve one"));
    }
    let hint = "install it beside this program: `cargo install --path crates/components`";
    let program = match program(COMPONENTS, hint) {
        Ok(program) => program,
        Err(error) => {
            return wrong(format!("a component needs another program, and {error}"), Some(hint));
        }
    };
    let mut words = std::env::args_os();
    let own = words.next().unwrap_or_else(|| "ringfence".into());
    let error = Command::new(&program).arg0(own).args(words).exec();
    wrong(format!("cannot start `{}`, which runs components: {error}", program.display()), None)
}
