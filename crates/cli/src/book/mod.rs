//! The pin book: what was accepted of MCP servers, and what was seen and waits for a person.
//!
//! Two files: the pins, which decide, and what was seen, which only informs. They lie beside the policy, or where there is none
//! in the user's state folder, one for each server.
//!
//! INVARIANT: each file is written whole or not at all, by one process at a time, so that many may write at once. It stays the
//! same file, which a running server that may write beside it cannot write. A pin file that cannot be trusted stops everything; a
//! file of what was seen that cannot be read is an error of `ringfence pins` alone.

mod file;
mod seen;

use std::path::{Path, PathBuf};

use ringfence::policy::ServerName;
use ringfence::{PinStatus, Pins};
use ringfence_server::PinBook;
use serde_json::Value;

use crate::deciding::read_deciding;
use crate::error::CommandError;

pub(crate) use file::{
    Lock, open_plain, private_folder, replace, rewrite_alone, settle_alone, unique_beside,
};
use file::{make, rewrite, settle};
pub(crate) use ringfence_server::Seen;
pub(crate) use seen::SeenFile;

/// How much of one server is pinned at most, so that no server fills the file of all.
const MAX_SERVER: usize = 4 << 20;
/// How large a file of what was seen may be.
const MAX_SEEN: usize = 8 << 20;

/// What stands in a file of pins or in a manifest that was made so that it can be covered, before anything was accepted.
pub(crate) const NOTHING_YET: &str = "{\"nothing\": \"was accepted yet\"}\n";

/// Where the pins of servers are kept.
#[derive(Clone, Debug)]
pub(crate) struct Book {
    pins: PathBuf,
    seen: PathBuf,
    lock: PathBuf,
}

impl Book {
    /// Returns the book beside a policy file.
    pub(crate) fn beside(policy: &Path) -> Self {
        let beside = |extension: &str| policy.with_extension(extension);
        Self { pins: beside("pins.json"), seen: beside("seen.json"), lock: beside("pins.lock") }
    }

    /// Returns the book of one server that has no policy file, in the state folder of the user.
    pub(crate) fn of_server(name: &ServerName) -> Result<Self, CommandError> {
        refuse_left_behind()?;
        let folder = state_folder()?.join("servers").join(name.as_str());
        private_folder(&folder)?;
        let inside = |file: &str| folder.join(file);
        Ok(Self { pins: inside("pins.json"), seen: inside("seen.json"), lock: inside("pins.lock") })
    }

    /// Returns the servers without a policy file of which there is a book, in order.
    pub(crate) fn kept() -> Result<Vec<ServerName>, CommandError> {
        refuse_left_behind()?;
        let folder = state_folder()?.join("servers");
        let listed = match std::fs::read_dir(&folder) {
            Ok(listed) => listed,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(CommandError::File { verb: "read", path: folder, error, hint: None }),
        };
        let holds_some = |path: &Path| ["pins.json", "seen.json"].iter().any(|file| path.join(file).exists());
        let mut names: Vec<ServerName> = listed
            .flatten()
            .filter(|entry| holds_some(&entry.path()))
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Returns the file that decides.
    pub(crate) fn pins_file(&self) -> &Path {
        &self.pins
    }

    /// Hides its lock from the commands of this process: one that could read it could hold it, and nobody could accept or reject
    /// anything. The pins themselves need no lock to be read.
    pub(crate) fn hide_lock(&self) {
        let lock = std::path::absolute(&self.lock);
        crate::sandbox::hidden_paths().add(lock.unwrap_or_else(|_| self.lock.clone()));
    }

    /// The same, and makes the lock first: what is not there cannot be hidden.
    pub(crate) fn make_and_hide_lock(&self) {
        // A folder that cannot be written to has no lock.
        let _made = Lock::within(&self.lock, std::time::Duration::ZERO);
        self.hide_lock();
    }

    /// Makes the files that are not there, for a folder that a server or tool may write: what is not there cannot be covered.
    pub(crate) fn make_files(&self) -> Result<(), CommandError> {
        for (path, content) in [(&self.pins, NOTHING_YET), (&self.seen, &*SeenFile::default().to_json())] {
            make(path, content).map_err(|error| CommandError::File {
                verb: "make",
                path: path.clone(),
                error,
                hint: Some(
                    "the folder of the policy is one that a server may write: make it writable for you too",
                ),
            })?;
        }
        Ok(())
    }

    /// Takes the lock to read, and ends what was cut off while it was written. Where there can be no lock, nothing is written.
    fn settled(&self) -> Result<Option<Lock>, CommandError> {
        if !self.lock.exists() {
            return Ok(None);
        }
        let lock = match Lock::of(&self.lock) {
            Ok(lock) => lock,
            Err(CommandError::File { error, .. }) if is_read_only(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        self.settle()?;
        Ok(Some(lock))
    }

    /// Takes the lock to write.
    fn locked(&self) -> Result<Lock, CommandError> {
        let lock = Lock::of(&self.lock)?;
        self.settle()?;
        Ok(lock)
    }

    fn settle(&self) -> Result<(), CommandError> {
        settle(&self.pins)?;
        settle(&self.seen)
    }

    /// Reads the pins. A pin file that cannot be trusted stops everything.
    pub(crate) fn read_pins(&self) -> Result<Pins, CommandError> {
        Ok(self.existing_pins()?.unwrap_or_default())
    }

    /// The same; nothing where there is no file.
    pub(crate) fn existing_pins(&self) -> Result<Option<Pins>, CommandError> {
        let _lock = self.settled()?;
        self.pins_held()
    }

    /// The same, for whoever holds the lock.
    fn pins_held(&self) -> Result<Option<Pins>, CommandError> {
        let Some(text) = read_if_there(&self.pins)?.filter(|text| text != NOTHING_YET) else {
            return Ok(None);
        };
        Pins::from_json(&text).map(Some).map_err(|error| CommandError::Input {
            message: format!("`{}`: {error}", self.pins.display()),
            hint: Some("restore the file, or remove it and accept the tools anew"),
        })
    }

    /// Reads what was seen and not accepted.
    pub(crate) fn read_seen(&self) -> Result<SeenFile, CommandError> {
        let _lock = self.settled()?;
        self.seen_held()
    }

    /// The same, for whoever holds the lock.
    fn seen_held(&self) -> Result<SeenFile, CommandError> {
        let Some(text) = read_if_there(&self.seen)? else { return Ok(SeenFile::default()) };
        SeenFile::from_json(&text).map_err(|error| CommandError::Input {
            message: format!("`{}`: {error}", self.seen.display()),
            hint: Some("remove the file: it is written anew when a server is started"),
        })
    }

    /// Changes the pins while nobody else does.
    pub(crate) fn change_pins<T>(
        &self,
        change: impl FnOnce(&mut Pins) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let _lock = self.locked()?;
        let mut pins = self.pins_held()?.unwrap_or_default();
        let done = change(&mut pins)?;
        rewrite(&self.pins, pins.to_json())?;
        Ok(done)
    }

    /// Changes what was seen while nobody else does, and the pins with it where `change` says so.
    pub(crate) fn change<T, E: From<CommandError>>(
        &self,
        change: impl FnOnce(&mut Pins, &mut SeenFile) -> Result<T, E>,
    ) -> Result<T, E> {
        let _lock = self.locked()?;
        let (mut pins, mut seen) = (self.pins_held()?.unwrap_or_default(), self.seen_held()?);
        let before = pins.clone();
        let done = change(&mut pins, &mut seen)?;
        if pins != before {
            rewrite(&self.pins, pins.to_json())?;
        }
        rewrite(&self.seen, seen.to_json())?;
        Ok(done)
    }

    /// Writes down what was seen, as far as that is possible: no call depends on it.
    fn keep_seen(&self, server: &str, kind: &str, seen: &[Seen]) {
        // What may not be read is not written anew either.
        let Ok(text) = read_if_there(&self.seen) else { return };
        let read = text.map_or_else(|| Ok(SeenFile::default()), |text| SeenFile::from_json(&text));
        let was_corrupt = read.is_err();
        let mut file = read.unwrap_or_default();
        if !file.replace_kind(server, kind, seen) && !was_corrupt {
            return;
        }
        let mut text = file.to_json();
        if text.len() > MAX_SEEN {
            file.forget_server(server);
            text = file.to_json();
        }
        let _written = rewrite(&self.seen, &text);
    }
}

impl PinBook for Book {
    fn stamp(&self) -> u64 {
        use std::hash::{Hash as _, Hasher as _};
        use std::os::unix::fs::MetadataExt as _;
        let mut hash = std::hash::DefaultHasher::new();
        let found = std::fs::metadata(&self.pins).ok();
        found
            .map(|own| (own.dev(), own.ino(), own.len(), own.mtime(), own.mtime_nsec(), own.ctime_nsec()))
            .hash(&mut hash);
        hash.finish()
    }

    /// Reads the pins, for whoever serves.
    fn pins(&self) -> Result<Pins, String> {
        self.read_pins().map_err(|error| error.to_string())
    }

    /// Accepts definitions of a server, by key, and replaces what was seen of one kind of it and is not accepted.
    ///
    /// Only what nobody has judged yet is accepted this way: where somebody has pinned or rejected something else in the
    /// meantime, nothing is.
    fn keep(
        &self,
        server: &str,
        kind: &str,
        accepted: &[(String, Value)],
        seen: &[Seen],
    ) -> Result<(), String> {
        let failed = |error: CommandError| error.to_string();
        let _lock = self.locked().map_err(failed)?;
        let mut pins = self.pins_held().map_err(failed)?.unwrap_or_default();
        let before = pins.clone();
        for (key, definition) in accepted {
            match pins.server_status(server, key, definition) {
                PinStatus::Accepted => {}
                PinStatus::New => {
                    pins.accept_definition(server, key, definition).map_err(|error| error.to_string())?;
                }
                PinStatus::Changed(_) | PinStatus::Rejected => {
                    return Err(format!("`{key}` of server `{server}` was pinned otherwise in the meantime"));
                }
            }
        }
        let size: usize = pins.server_definitions(server).map(|(_, _, own)| own.to_string().len()).sum();
        if pins != before && size > MAX_SERVER {
            return Err(format!("the definitions of server `{server}` are larger than 4 MiB"));
        }
        self.keep_seen(server, kind, seen);
        if pins != before {
            let text = pins.to_json();
            // What could not be read again would stop everything.
            Pins::from_json(&text)
                .map_err(|error| format!("what server `{server}` sent cannot be kept: {error}"))?;
            rewrite(&self.pins, &text).map_err(failed)?;
        }
        Ok(())
    }
}

fn is_read_only(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem)
}

fn read_if_there(path: &Path) -> Result<Option<String>, CommandError> {
    // A link to nowhere is there: it is an error, not an empty book.
    if path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return Ok(None);
    }
    read_deciding(path, None).map(Some)
}

/// Returns the folder in which ringfence keeps what must outlive a run.
pub(crate) fn state_folder() -> Result<PathBuf, CommandError> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let folder = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    folder.map(|folder| ringfence::sandbox::own_folder_in(&folder)).ok_or_else(|| CommandError::Input {
        message: "there is neither a home folder nor XDG_STATE_HOME, so pins have no place".into(),
        hint: Some("set HOME, or name a policy file with --policy FILE"),
    })
}

/// Refuses to begin anew where what was agreed to lies under the name that the folder had before: it would be forgotten without a word.
fn refuse_left_behind() -> Result<(), CommandError> {
    let Ok(own) = state_folder() else { return Ok(()) };
    let old = own.with_file_name("ringfence");
    // Marks and stores may have made the new one meanwhile.
    if own == old || own.join("servers").symlink_metadata().is_ok() || !old.join("servers").is_dir() {
        return Ok(());
    }
    Err(CommandError::Input {
        message: format!(
            "accepted definitions are kept in `{}`, which does not exist; `{}` does, where earlier versions kept them",
            own.join("servers").display(),
            old.join("servers").display()
        ),
        hint: Some("if they are yours, move the old folder to the new place; otherwise move it away"),
    })
}

#[cfg(test)]
mod tests;
