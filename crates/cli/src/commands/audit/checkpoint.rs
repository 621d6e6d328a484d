//! Keys, and signing what is in the log.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ringfence::audit::{Checkpoint, SignerKey};
use ringfence_store::Database;

use super::input;
use super::push::PushTarget;
use crate::error::{CommandError, Exit};
use crate::load::read_text;

/// Makes a signing key in a new file.
pub(super) fn keygen(name: &str, file: &Path, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let failed = |error| CommandError::File { verb: "write", path: file.to_path_buf(), error, hint: None };
    let mut seed = zeroize::Zeroizing::new([0; 32]);
    rustix::rand::getrandom(&mut *seed, rustix::rand::GetRandomFlags::empty())
        .map_err(|errno| failed(errno.into()))?;
    let key = SignerKey::from_seed(name, &seed).map_err(|error| input(error.to_string()))?;
    let mut written = File::options().create_new(true).write(true).mode(0o600).open(file).map_err(failed)?;
    writeln!(written, "{}", key.to_text().as_str()).and_then(|()| written.sync_all()).map_err(failed)?;
    writeln!(out, "{}", key.verifier())?;
    Ok(Exit::Done)
}

/// Reads a signing key.
pub(super) fn signer(path: &Path) -> Result<SignerKey, CommandError> {
    let text = zeroize::Zeroizing::new(read_text(path, Some("make one with `ringfence audit keygen`"))?);
    text.trim().parse().map_err(|error| input(format!("`{}` is not a signing key: {error}", path.display())))
}

/// Signs, keeps and prints a checkpoint.
pub(super) async fn sign(
    store: &dyn Database,
    key: &SignerKey,
    trusted: Option<&Checkpoint>,
    out: &mut dyn Write,
) -> Result<String, CommandError> {
    let origin = key.verifier().name().to_owned();
    let note = store.sign(key, &origin, trusted).await?.to_string();
    write!(out, "{note}")?;
    out.flush()?;
    Ok(note)
}

/// Sends a checkpoint to every target.
pub(super) async fn push(note: &str, targets: &[PushTarget], private: bool) -> Result<Exit, CommandError> {
    let mut exit = Exit::Done;
    for target in targets {
        if let Err(why) = target.push(note, private).await {
            let _told = writeln!(
                crate::print::errors(),
                "error: cannot push to `{}`: {}",
                crate::print::line(&target.to_string()),
                crate::print::line(&why)
            );
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}
