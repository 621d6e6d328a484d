//! Paths as a guest writes them: relative to a directory that it holds.

use std::path::{Component, Path, PathBuf};

use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// The longest path that is taken.
const LONGEST: usize = 4_096;

/// A guest's path, made whole.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Asked {
    /// The whole path.
    pub(super) path: PathBuf,
    /// Whether its spelling says that it is a directory.
    pub(super) is_dir: bool,
}

/// Joins a path to the directory it is relative to. As WASI demands, nothing leaves that directory: absolute paths and
/// `..` beyond it are not permitted. Links are judged later, by where they lead.
pub(super) fn join(base: &Path, path: &str) -> Result<Asked, ErrorCode> {
    if path.is_empty() {
        return Err(ErrorCode::NoEntry);
    }
    if path.len() > LONGEST {
        return Err(ErrorCode::NameTooLong);
    }
    if path.contains('\0') {
        return Err(ErrorCode::Invalid);
    }
    let mut names: Vec<&std::ffi::OsStr> = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => names.push(name),
            Component::ParentDir => {
                names.pop().ok_or(ErrorCode::NotPermitted)?;
            }
            Component::Prefix(_) | Component::RootDir => return Err(ErrorCode::NotPermitted),
        }
    }
    let is_dir = path.ends_with('/') || path.ends_with("/.") || path.ends_with("/..");
    let mut whole = base.to_path_buf();
    whole.extend(names);
    Ok(Asked { path: whole, is_dir })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_the_directory() {
        #[rustfmt::skip]
        let cases = [
            // path           whole                     says it is a directory
            ("a",             Ok(("/data/a",            false))),
            ("a/b",           Ok(("/data/a/b",          false))),
            (".",             Ok(("/data",              false))),
            ("./a/./b/",      Ok(("/data/a/b",          true))),
            ("a/../b",        Ok(("/data/b",            false))),
            ("a/..",          Ok(("/data",              true))),
            ("..",            Err(ErrorCode::NotPermitted)),
            ("../data/a",     Err(ErrorCode::NotPermitted)),
            ("a/../../data",  Err(ErrorCode::NotPermitted)),
            ("/etc/passwd",   Err(ErrorCode::NotPermitted)),
            ("//etc/passwd",  Err(ErrorCode::NotPermitted)),
            ("/data/a",       Err(ErrorCode::NotPermitted)),
            ("",              Err(ErrorCode::NoEntry)),
            ("a\0b",          Err(ErrorCode::Invalid)),
        ];
        for (path, expected) in cases {
            let joined = join(Path::new("/data"), path).map(|asked| (asked.path, asked.is_dir));
            let expected = expected.map(|(path, is_dir)| (PathBuf::from(path), is_dir));
            assert_eq!(joined, expected, "{path}");
        }
        assert_eq!(join(Path::new("/"), &"a/".repeat(4_000)).unwrap_err(), ErrorCode::NameTooLong);
    }
}
