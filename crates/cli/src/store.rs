//! Which store a command uses, and how it is opened.
//!
//! INVARIANT: a URL, which may hold a password, is never printed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use ringfence_store::{Database, KeepRaw, SqliteError, SqliteStore};
use tokio::runtime::Runtime;
use zeroize::Zeroizing;

use crate::deciding::{identity, refuse_planted, refuse_replaced};
use crate::error::CommandError;
use crate::postgres;

/// The variable that names the store where no flag does.
pub(crate) const VARIABLE: &str = "RINGFENCE_STORE";
/// The store of commands that always have one.
const DEFAULT: &str = "ringfence.db";

/// The store of a command that always has one.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StoreArgs {
    /// The store: a file, or `postgres://…`; without it what the variable RINGFENCE_STORE names, then `ringfence.db`
    #[arg(long, value_name = "STORE", global = true)]
    store: Option<StoreName>,
}

impl StoreArgs {
    /// Returns the store that the flag, the variable or nobody names.
    pub(crate) fn name(&self) -> StoreName {
        named(self.store.as_ref()).unwrap_or_else(|| StoreName::File(PathBuf::from(DEFAULT)))
    }

    /// Returns the store that the flag names.
    pub(crate) const fn flag(&self) -> Option<&StoreName> {
        self.store.as_ref()
    }
}

/// Returns the store that the flag or else the variable names.
pub(crate) fn named(flag: Option<&StoreName>) -> Option<StoreName> {
    let variable = || std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    let from_variable = || {
        let value = variable()?;
        let name = value.to_str().map_or_else(|| StoreName::File(PathBuf::from(&value)), StoreName::of);
        // In another directory it would be another store, which knows of no key and no approval.
        Some(match name {
            StoreName::File(path) if path.is_relative() => StoreName::Relative(path),
            name => name,
        })
    };
    flag.cloned().or_else(from_variable)
}

/// A store by name.
#[derive(Clone)]
pub(crate) enum StoreName {
    /// A file of SQLite.
    File(PathBuf),
    /// What the variable names without saying where it is.
    Relative(PathBuf),
    /// A PostgreSQL database.
    Url(Zeroizing<String>),
}

/// What a store is opened for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Opening {
    /// To change what is there; a file must exist.
    Change,
    /// To use it, and to make it where there is none.
    Make(KeepRaw),
    /// To read.
    Read,
}

impl StoreName {
    fn of(text: &str) -> Self {
        if ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            Self::Url(Zeroizing::new(text.to_owned()))
        } else {
            Self::File(PathBuf::from(text))
        }
    }

    /// Opens the store. It belongs to the runtime in which it was opened.
    pub(crate) async fn open(&self, opening: Opening) -> Result<Arc<dyn Database>, CommandError> {
        match self {
            Self::File(_) | Self::Relative(_) => Ok(Arc::new(self.open_file(opening)?)),
            Self::Url(url) => {
                let raw = if let Opening::Make(raw) = opening { raw } else { KeepRaw::Always };
                postgres::open(url, raw).await
            }
        }
    }

    /// Returns the address of a PostgreSQL database, and refuses anything else.
    pub(crate) fn url(&self) -> Result<&str, CommandError> {
        match self {
            Self::Url(url) => Ok(url),
            Self::File(_) | Self::Relative(_) => Err(CommandError::Input {
                message: "this works on a PostgreSQL database only".to_owned(),
                hint: Some("name it as `postgres://…` in the variable RINGFENCE_STORE"),
            }),
        }
    }

    /// Returns the path of a file of SQLite, and refuses anything else.
    pub(crate) fn file(&self) -> Result<&Path, CommandError> {
        let (Self::File(path) | Self::Relative(path)) = self else {
            return Err(CommandError::Input {
                message: "this works on a file of SQLite only".to_owned(),
                hint: Some("a PostgreSQL database is copied with its own tools, such as `pg_dump`"),
            });
        };
        let scheme = path.to_str().and_then(|text| text.split_once(':')).map(|(scheme, _)| scheme);
        let is_url = scheme.is_some_and(|scheme| scheme.to_ascii_lowercase().starts_with("postgres"));
        if is_url || path.to_str().is_some_and(|text| text.contains("://")) {
            return Err(CommandError::Input {
                message: "a store is a file, or its name begins with `postgres://`".to_owned(),
                hint: Some("write `--store clerk.db` or `--store postgres://user@host/database`"),
            });
        }
        if matches!(self, Self::Relative(_)) {
            return Err(CommandError::Input {
                message: format!("RINGFENCE_STORE names `{}`, which is not an absolute path", path.display()),
                hint: Some(
                    "in another directory it would be another store; write the whole path, or use --store",
                ),
            });
        }
        Ok(path)
    }

    /// Opens a file of SQLite, and refuses anything else.
    pub(crate) fn open_file(&self, opening: Opening) -> Result<SqliteStore, CommandError> {
        let path = self.file()?;
        let failed = |error: SqliteError| CommandError::Store(error.into());
        let builder = || SqliteStore::builder(path).record_name_in(name_folders());
        let made = |raw| builder().raw(raw).open().map_err(failed);
        let before = identity(path);
        if before.is_some() || matches!(opening, Opening::Make(_)) {
            refuse_planted(path)?;
        }
        crate::sandbox::hide_store(&crate::sandbox::hidden_paths(), path);
        let store = match opening {
            Opening::Read => builder().open_read_only().map_err(failed),
            Opening::Make(raw) => made(raw),
            // A mistyped name must not become an empty store.
            Opening::Change if !path.exists() => builder().open_read_only().map_err(failed),
            Opening::Change => made(KeepRaw::Always),
        }?;
        // Another may have come in the meantime.
        refuse_replaced(path, before)?;
        Ok(store)
    }
}

/// Where it is recorded which file a name with links led to: where state is kept, and in a private folder where that cannot be.
pub(crate) fn name_folders() -> Vec<PathBuf> {
    crate::sandbox::own_folders().into_iter().map(|folder| folder.join("stores")).collect()
}

impl FromStr for StoreName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        Ok(Self::of(text))
    }
}

impl fmt::Debug for StoreName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Relative(path) => f.debug_tuple("Relative").field(path).finish(),
            Self::Url(_) => f.write_str("Url"),
        }
    }
}

/// Makes the runtime of a command: one thread, and others for what blocks.
pub(crate) fn runtime() -> Result<Runtime, CommandError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CommandError::Start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_told_from_a_file_and_not_shown() {
        #[rustfmt::skip]
        let cases = [
            // text                              shown
            ("audit.db",                         "File(\"audit.db\")"),
            ("/var/lib/x/postgres:",             "File(\"/var/lib/x/postgres:\")"),
            ("postgres://u:hunter2@db/x",        "Url"),
            ("postgresql://u:hunter2@db/x",      "Url"),
        ];
        for (text, shown) in cases {
            assert_eq!(format!("{:?}", StoreName::of(text)), shown, "{text}");
        }
    }
}
