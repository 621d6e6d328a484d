//! What lies at a path: which language a package is written in.

use std::path::{Path, PathBuf};

use super::CommandError;

/// What a package is written in.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub(crate) enum Language {
    /// Python
    Python,
    /// Rust
    Rust,
    /// JavaScript or TypeScript
    Script,
}

impl Language {
    /// Says whether it is read as text only.
    pub(crate) const fn is_script(self) -> bool {
        !matches!(self, Self::Rust)
    }
}

/// A package to look at.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) language: Language,
    /// The folder, or the file that was named.
    pub(crate) path: PathBuf,
    /// The folder.
    pub(crate) folder: PathBuf,
}

/// Finds out what lies at a path.
pub(crate) fn find(path: &Path, wanted: Option<Language>) -> Result<Found, CommandError> {
    let path = path.canonicalize().map_err(|error| CommandError::Read { path: path.to_path_buf(), error })?;
    let folder =
        if path.is_dir() { path.clone() } else { path.parent().unwrap_or(Path::new("/")).to_path_buf() };
    let language = match wanted {
        Some(language) => language,
        None => seen(&path, &folder)?,
    };
    Ok(Found { language, path, folder })
}

fn seen(path: &Path, folder: &Path) -> Result<Language, CommandError> {
    if let Some(extension) =
        path.extension().and_then(|extension| extension.to_str()).filter(|_| path.is_file())
    {
        return match (extension, path.file_name().and_then(|name| name.to_str())) {
            (_, Some("Cargo.toml")) | ("rs", _) => Ok(Language::Rust),
            (_, Some("package.json")) | ("js" | "mjs" | "cjs" | "ts" | "mts" | "cts" | "tsx" | "jsx", _) => {
                Ok(Language::Script)
            }
            (_, Some("pyproject.toml")) | ("py", _) => Ok(Language::Python),
            _ => Err(unknown(path)),
        };
    }
    let has = |name: &str| folder.join(name).exists();
    let is_python = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "pyvenv.cfg"]
        .iter()
        .any(|name| has(name));
    let candidates: Vec<Language> = [
        (has("Cargo.toml"), Language::Rust),
        (has("package.json"), Language::Script),
        (is_python, Language::Python),
    ]
    .into_iter()
    .filter_map(|(is, language)| is.then_some(language))
    .collect();
    match candidates.as_slice() {
        [language] => Ok(*language),
        [] if holds(folder, "py") => Ok(Language::Python),
        [] if ["js", "mjs", "ts"].iter().any(|extension| holds(folder, extension)) => Ok(Language::Script),
        [] => Err(unknown(path)),
        _ => Err(CommandError::Input {
            message: format!("`{}` holds packages of several languages", folder.display()),
            hint: Some("say which with `--language rust`, `python` or `script`"),
        }),
    }
}

/// Says whether a folder holds a file with this extension, itself or one level down.
fn holds(folder: &Path, extension: &str) -> bool {
    let entries = |folder: &Path| {
        std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path())
    };
    let is = |path: &Path| path.extension().is_some_and(|own| own == extension);
    entries(folder).any(|path| is(&path) || entries(&path).any(|inner| is(&inner)))
}

fn unknown(path: &Path) -> CommandError {
    CommandError::Input {
        message: format!("`{}` is no package of Rust, Python, JavaScript or TypeScript", path.display()),
        hint: Some("name the folder with Cargo.toml, package.json or pyproject.toml"),
    }
}
