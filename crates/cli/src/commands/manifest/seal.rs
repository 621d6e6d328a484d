//! Signatures of manifests: a signed note beside the file, which binds its hash.

use std::path::Path;

use ringfence::audit::{Note, SignerKey, VerifierKey};
use ringfence::policy::manifest::Manifest;

use super::input;
use crate::error::CommandError;
use crate::load::read_text;

/// Signs a manifest with the key of a file.
pub(super) fn sign(key: &Path, manifest: &Manifest) -> Result<String, CommandError> {
    let text = zeroize::Zeroizing::new(read_text(key, Some("make one with `ringfence audit keygen`"))?);
    let signer: SignerKey = text
        .trim()
        .parse()
        .map_err(|error| input(format!("`{}` is not a signing key: {error}", key.display())))?;
    let note = Note::sign(&bound(manifest), &signer).map_err(|error| input(error.to_string()))?;
    Ok(note.to_string())
}

/// Refuses a manifest that the key has not signed.
pub(super) fn verify(
    note: &str,
    key: &VerifierKey,
    manifest: &Manifest,
    place: &str,
) -> Result<(), CommandError> {
    let failed = |message: String| CommandError::Failed {
        message,
        hint: Some("have it signed with `ringfence manifest accept --sign KEYFILE`"),
    };
    let note: Note =
        note.parse().map_err(|error| failed(format!("`{place}` is not a signature: {error}")))?;
    let text = note.verify([key]).map_err(|error| failed(format!("`{place}`: {error}")))?;
    if text == bound(manifest) { Ok(()) } else { Err(failed(format!("`{place}` is of another manifest"))) }
}

/// Says whether a signature, whoever made it, is about this manifest.
pub(super) fn is_of(signature: &Path, manifest: &Manifest) -> bool {
    read_text(signature, None).is_ok_and(|text| text.starts_with(&bound(manifest)))
}

/// Returns what is signed.
fn bound(manifest: &Manifest) -> String {
    format!("ringfence manifest 1\nsha256 {}\n", manifest.hash())
}
