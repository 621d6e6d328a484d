//! Lexical normalisation: the one spelling in which paths are judged.
//!
//! INVARIANT: a normalised path is `/`, or `/` and components joined by single slashes, none of them empty, `.`
//! or `..`, and no NUL anywhere.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::error::{PathError, shown};

/// Returns `path` without `//`, `.` and `..`, by its text alone.
///
/// `..` takes back the component before it and never goes above `/`. Where that component is a symbolic link the
/// kernel would go elsewhere; judging and opening both use the path returned here, so that they agree.
///
/// # Errors
///
/// The path is empty, relative, or contains a NUL.
pub fn normalise(path: &Path) -> Result<PathBuf, PathError> {
    let bytes = path.as_os_str().as_encoded_bytes();
    if bytes.is_empty() {
        return Err(PathError::Empty);
    }
    if bytes.contains(&0) {
        return Err(PathError::Nul { text: shown(&path.to_string_lossy()) });
    }
    if !path.has_root() {
        return Err(PathError::Relative { text: shown(&path.to_string_lossy()) });
    }
    let mut normal = PathBuf::with_capacity(bytes.len());
    normal.push("/");
    for component in path.components() {
        match component {
            Component::CurDir | Component::Prefix(_) | Component::RootDir => {}
            Component::Normal(name) => normal.push(name),
            Component::ParentDir => {
                normal.pop();
            }
        }
    }
    Ok(normal)
}

/// Returns the components of a path that is normalised, and nothing for one that is not.
pub(super) fn components(path: &Path) -> Option<impl Iterator<Item = &[u8]> + Clone> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let body = bytes.strip_prefix(b"/")?;
    let mut names = body.split(|&byte| byte == b'/');
    let odd = |name: &[u8]| matches!(name, b"" | b"." | b"..") || name.contains(&0);
    if body.is_empty() {
        // `split` yields one empty component for the root; the root has none.
        names.next();
    } else if names.clone().any(odd) {
        return None;
    }
    Some(names)
}

/// Tells whether `inner` is `outer` or below it, by component. Both are normalised.
pub(super) fn is_within(inner: &[u8], outer: &[u8]) -> bool {
    if outer == b"/" {
        return inner.starts_with(b"/");
    }
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// Returns a path as text for a message.
pub(super) fn display(path: &OsStr) -> String {
    shown(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_one_spelling() {
        #[rustfmt::skip]
        let cases = [
            // asked                 normal
            ("/",                    "/"),
            ("//",                   "/"),
            ("/a/b/",                "/a/b"),
            ("//a///b",              "/a/b"),
            ("/a/./b/.",             "/a/b"),
            ("/a/../b",              "/b"),
            ("/../../a",             "/a"),
            ("/a/b/../../..",        "/"),
            ("/a/.../b",             "/a/.../b"),
            ("/a/..b/.c",            "/a/..b/.c"),
            ("/a/%2e%2e/b",          "/a/%2e%2e/b"),
            (r"/a/..\b",             r"/a/..\b"),
            ("/~/${home}",           "/~/${home}"),
        ];
        for (asked, normal) in cases {
            assert_eq!(normalise(Path::new(asked)).unwrap(), Path::new(normal), "{asked}");
        }
    }

    #[test]
    fn refuses_what_is_no_absolute_path() {
        #[rustfmt::skip]
        let cases = [
            ("",        "a path must not be empty"),
            ("a/b",     "`a/b` is not absolute"),
            ("./a",     "`./a` is not absolute"),
            ("~/a",     "`~/a` is not absolute"),
            ("/a\0b",   r"`/a\u{0}b` contains a NUL character"),
        ];
        for (asked, sentence) in cases {
            assert_eq!(normalise(Path::new(asked)).unwrap_err().to_string(), sentence);
        }
    }

    #[test]
    fn only_normalised_paths_have_components() {
        for odd in ["", "a", "/a/", "//a", "/a/./b", "/a/..", "/..", "/a\0"] {
            assert!(components(Path::new(odd)).is_none(), "{odd}");
        }
        assert_eq!(components(Path::new("/")).unwrap().count(), 0);
        assert_eq!(components(Path::new("/a/b")).unwrap().collect::<Vec<_>>(), [b"a", b"b"]);
    }
}
