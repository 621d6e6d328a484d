//! The manifest file, and its signature beside it.

use std::io::Write;
use std::path::{Path, PathBuf};

use ringfence::policy::manifest::{Manifest, ManifestError};

use super::{input, seal};
use crate::book::{NOTHING_YET, rewrite_alone, settle_alone};
use crate::deciding::read_deciding;
use crate::error::{CommandError, Exit};
use crate::load::Place;

/// Where a manifest is.
#[derive(Debug)]
pub(crate) struct Lockfile {
    pub(crate) path: PathBuf,
}

/// A manifest that was read, or why what was read is none that can be compared.
#[derive(Debug)]
pub(super) enum Read {
    Sound(Box<Manifest>),
    /// It was edited, or another program wrote it: a finding, not a mistake of whoever asks.
    Unsound(ManifestError),
}

impl Lockfile {
    /// The file beside the toolbox.
    pub(crate) fn beside(place: &Place) -> Self {
        Self { path: place.policy.with_extension("lock.json") }
    }

    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_path_buf() }
    }

    /// Says whether there is a manifest, and not only a file that keeps its place. A link to nothing is a mistake: it would look as if
    /// nobody had agreed to anything.
    pub(crate) fn is_there(&self) -> Result<bool, CommandError> {
        let failed = |error| CommandError::File { verb: "read", path: self.path.clone(), error, hint: None };
        match std::fs::symlink_metadata(&self.path) {
            Ok(own) if own.is_symlink() => match std::fs::metadata(&self.path) {
                Ok(_) => self.holds_some(),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    Err(failed(std::io::Error::other("it is a link to nothing")))
                }
                Err(error) => Err(failed(error)),
            },
            Ok(_) => self.holds_some(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }

    fn holds_some(&self) -> Result<bool, CommandError> {
        settle_alone(&self.path)?;
        Ok(read_deciding(&self.path, None)? != NOTHING_YET)
    }

    /// Returns where the signature is.
    pub(super) fn signature(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".sig");
        name.into()
    }

    /// Reads a manifest that must be whole.
    pub(crate) fn read(&self) -> Result<Manifest, CommandError> {
        match self.try_read()? {
            Read::Sound(manifest) => Ok(*manifest),
            Read::Unsound(error) => Err(input(format!("`{}`: {error}", self.path.display()))),
        }
    }

    /// Reads a manifest.
    pub(super) fn try_read(&self) -> Result<Read, CommandError> {
        settle_alone(&self.path)?;
        let text = read_deciding(&self.path, Some("write it with `ringfence manifest`"))?;
        parse(&text, &self.path.display().to_string())
    }

    /// Reads a manifest for what it records beside what decides; one that is not whole records nothing.
    pub(super) fn read_if_sound(&self) -> Option<Manifest> {
        settle_alone(&self.path).ok()?;
        let text = read_deciding(&self.path, None).ok()?;
        Manifest::from_json(&text).ok()
    }

    /// Says whether the file is that of a manifest.
    pub(super) fn check(&self, manifest: &Manifest, out: &mut dyn Write) -> Result<Exit, CommandError> {
        let wanted = text_of(manifest)?;
        settle_alone(&self.path)?;
        let shown = self.path.display();
        if !self.is_there()? {
            writeln!(out, "{shown}: is not there; write it with `ringfence manifest`")?;
            return Ok(Exit::Findings);
        }
        if read_deciding(&self.path, None)? == wanted {
            writeln!(out, "{shown}: is that of the toolbox")?;
            return Ok(Exit::Done);
        }
        writeln!(
            out,
            "{shown}: is not that of the toolbox; look at the changes with `ringfence manifest accept`"
        )?;
        Ok(Exit::Findings)
    }

    /// Writes the file, and its signature where a key is given.
    pub(crate) fn write(
        &self,
        manifest: &Manifest,
        key: Option<&Path>,
        out: &mut dyn Write,
    ) -> Result<Exit, CommandError> {
        let text = text_of(manifest)?;
        // Before anything is written: a key that cannot be read changes nothing.
        let note = key.map(|key| seal::sign(key, manifest)).transpose()?;
        rewrite_alone(&self.path, &text)?;
        let counted = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            more => format!("{more} {what}s"),
        };
        writeln!(
            out,
            "{}: {}, {}, hash {}",
            self.path.display(),
            counted(manifest.tools.len(), "tool"),
            counted(manifest.servers.len(), "server"),
            manifest.hash()
        )?;
        let signature = self.signature();
        match note {
            Some(note) => {
                rewrite_alone(&signature, &note)?;
                writeln!(out, "{}: signed", signature.display())?;
            }
            None if holds_some(&signature) && !seal::is_of(&signature, manifest) => {
                writeln!(
                    out,
                    "{}: is of another manifest; sign this one with --sign KEYFILE",
                    signature.display()
                )?;
            }
            None => {}
        }
        Ok(Exit::Done)
    }
}

/// Says whether a file is there, and is not one that only keeps a place.
fn holds_some(path: &Path) -> bool {
    path.exists() && read_deciding(path, None).map_or(true, |text| text != NOTHING_YET)
}

/// Reads the text of a manifest; `place` says where it is from.
pub(super) fn parse(text: &str, place: &str) -> Result<Read, CommandError> {
    match Manifest::from_json(text) {
        Ok(manifest) => Ok(Read::Sound(Box::new(manifest))),
        Err(error) if error.code().is_some() => Ok(Read::Unsound(error)),
        Err(error) => Err(input(format!("`{place}`: {error}"))),
    }
}

pub(super) fn text_of(manifest: &Manifest) -> Result<String, CommandError> {
    manifest.to_json().map_err(|error| input(error.to_string()))
}
