//! The grant of paths: what the declaration admits *and* the personality admits *and* the floor leaves.
//!
//! INVARIANT: both sides are kept as written and asked one after the other, so that the grant is never wider than
//! either, whatever the patterns.

use std::path::{Path, PathBuf};

use super::error::PathError;
use super::floor::{Floor, FloorEntry};
use super::normal;
use super::pattern::PathPattern;
use super::reach::{Direction, FsCeiling, FsReach, Jail, PathReach};
use super::set::PathSet;
use crate::Refusal;

/// The paths a call may read and write: declared ∩ permitted. Pure data; cloning copies pointers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FsGrant {
    read: Side,
    write: Side,
    jail: Option<PathPattern>,
}

/// One direction of a grant.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Side {
    declared: PathSet,
    ceiling: PathSet,
}

impl FsGrant {
    /// Joins what a tool declared with what its personality permits. Both are expanded.
    ///
    /// # Errors
    ///
    /// The tool asks for the jail of its one root, and there is not exactly one.
    pub fn meet(declared: &FsReach, ceiling: &FsCeiling) -> Result<Self, PathError> {
        let side = |direction| Side::new(declared.direction(direction), ceiling.direction(direction));
        let mut grant = Self { read: side(Direction::Read), write: side(Direction::Write), jail: None };
        grant.jail = match &declared.jail {
            Jail::At(pattern) => Some(pattern.clone()),
            Jail::None => None,
            Jail::SoleRoot => Some(grant.sole_root()?.clone()),
        };
        Ok(grant)
    }

    /// Judges a path, which must be absolute and normalised; any other path is refused.
    ///
    /// # Errors
    ///
    /// The path is not granted in this direction; the refusal's hint says which line would change that.
    pub fn judge(&self, path: &Path, direction: Direction) -> Result<(), Refusal> {
        let side = self.side(direction);
        let gap = if normal::components(path).is_none() {
            Gap::Spelling
        } else if !side.declared.matches_normal(path) {
            // A declaration that defers to the personality is the personality's own list.
            if !side.declared.is_empty() && side.declared == side.ceiling {
                Gap::Personality
            } else {
                Gap::Declaration
            }
        } else if !side.ceiling.matches_normal(path) {
            Gap::Personality
        } else if let Some((entry, anchor)) = Floor::denies(path, direction, &side.ceiling) {
            Gap::Floor(entry, anchor)
        } else {
            return Ok(());
        };
        Err(gap.refusal(path, direction))
    }

    /// Judges a directory together with everything that is or will be below it, as moving it away or into place does.
    ///
    /// Both sides must admit the whole tree, and no line of the floor may begin in the path and end below it: a
    /// directory renamed to `.git` would bring its `hooks` along.
    ///
    /// # Errors
    ///
    /// Some path of the tree is not granted in this direction.
    pub fn judge_tree(&self, path: &Path, direction: Direction) -> Result<(), Refusal> {
        self.judge(path, direction)?;
        let side = self.side(direction);
        let gap = if !side.declared.covers_tree(path) {
            Gap::Declaration
        } else if !side.ceiling.covers_tree(path) {
            Gap::Personality
        } else if let Some(entry) = Floor::begins_in(path) {
            Gap::Floor(entry, path)
        } else {
            return Ok(());
        };
        Err(gap.refusal(path, direction))
    }

    /// Returns the grant with each pattern repeated below another name of its root, where `image` knows one.
    ///
    /// For roots that are reached through symbolic links: they count as written and as they resolve.
    #[must_use]
    pub fn with_images(&self, image: impl Fn(&Path) -> Option<PathBuf>) -> Self {
        let side = |side: &Side| Side {
            declared: side.declared.with_images(&image),
            ceiling: side.ceiling.with_images(&image),
        };
        Self { read: side(&self.read), write: side(&self.write), jail: self.jail.clone() }
    }

    /// Returns the patterns of both sides: a granted path is below the root of one of each.
    pub fn roots(&self, direction: Direction) -> impl Iterator<Item = &PathPattern> {
        let side = self.side(direction);
        side.declared.iter().chain(&side.ceiling)
    }

    /// Returns the paths that are granted with everything below them, as mounts can express it, and the globs that
    /// grant something else beside.
    pub fn trees(&self, direction: Direction) -> (Vec<PathBuf>, Vec<&PathPattern>) {
        let side = self.side(direction);
        let patterns = || self.roots(direction).filter(|pattern| !pattern.is_unexpanded());
        let mut trees: Vec<PathBuf> = patterns()
            .filter(|pattern| pattern.is_literal())
            .map(PathPattern::root)
            .filter(|root| side.declared.covers_tree(root) && side.ceiling.covers_tree(root))
            .map(Path::to_path_buf)
            .collect();
        trees.sort_unstable();
        trees.dedup();
        let whole: PathSet =
            trees.iter().filter_map(|tree| tree.to_str()?.parse::<PathPattern>().ok()).collect();
        let meets = |pattern: &PathPattern, others: &PathSet| {
            let root = pattern.root();
            others.iter().any(|other| other.root().starts_with(root) || root.starts_with(other.root()))
        };
        let globs = |own: &'_ PathSet, others: &'_ PathSet, pattern: &PathPattern| {
            own.iter().any(|one| one == pattern) && meets(pattern, others)
        };
        let wild = patterns()
            .filter(|pattern| !pattern.is_literal() && !whole.covers(pattern))
            .filter(|pattern| {
                globs(&side.declared, &side.ceiling, pattern) || globs(&side.ceiling, &side.declared, pattern)
            })
            .collect();
        (trees, wild)
    }

    /// Returns the paths that the personality names literally: there the floor is lifted.
    pub fn named(&self, direction: Direction) -> impl Iterator<Item = &Path> {
        self.side(direction).ceiling.iter().filter(|pattern| pattern.is_literal()).map(PathPattern::root)
    }

    /// Returns the directory that relative paths are kept in.
    pub fn jail(&self) -> Option<&Path> {
        self.jail.as_ref().map(PathPattern::root)
    }

    /// Tells whether nothing can be granted in this direction, because one side names nothing.
    pub fn is_empty(&self, direction: Direction) -> bool {
        let side = self.side(direction);
        side.declared.is_empty() || side.ceiling.is_empty()
    }

    fn side(&self, direction: Direction) -> &Side {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        }
    }

    fn sole_root(&self) -> Result<&PathPattern, PathError> {
        let mut roots: Vec<&PathPattern> = self.read.declared.iter().chain(&self.write.declared).collect();
        roots.sort_unstable();
        roots.dedup();
        match roots.as_slice() {
            [root] if root.is_literal() => Ok(root),
            [root] => Err(PathError::JailWild { text: root.to_string() }),
            _ => Err(PathError::JailRoots { found: roots.len() }),
        }
    }
}

impl Side {
    fn new(declared: Option<&PathReach>, ceiling: &PathSet) -> Self {
        let declared = match declared {
            None => PathSet::default(),
            Some(PathReach::FromPersonality) => ceiling.clone(),
            Some(PathReach::Listed(set)) => set.clone(),
        };
        Self { declared, ceiling: ceiling.clone() }
    }
}

/// What stands between a path and the grant.
enum Gap<'a> {
    Declaration,
    Floor(&'static FloorEntry, &'a Path),
    Personality,
    Spelling,
}

impl Gap<'_> {
    fn refusal(&self, path: &Path, direction: Direction) -> Refusal {
        let hint = match self {
            Self::Declaration => format!("the tool's `capabilities.fs_reach.{direction}` does not list it"),
            Self::Floor(entry, anchor) => format!(
                "`{}` ({}) is on the always-deny floor; only `personality.fs_reach.{direction}` naming `{}` itself permits it",
                entry.pattern,
                entry.kind,
                normal::display(anchor.as_os_str()),
            ),
            Self::Personality => format!("the personality's `fs_reach.{direction}` does not list it"),
            Self::Spelling => "ask for an absolute path without `.`, `..` and empty components".to_owned(),
        };
        direction.refusal(path).hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(declared: &str, ceiling: &str) -> FsGrant {
        FsGrant::meet(&toml::from_str(declared).unwrap(), &toml::from_str(ceiling).unwrap()).unwrap()
    }

    #[test]
    fn admits_what_both_sides_admit() {
        use Direction::{Read, Write};
        #[rustfmt::skip]
        let cases = [
            // declared                     ceiling                            path           direction  granted
            ("read = ['/a']",               "read = ['/a']",                   "/a/x",        Read,      true),
            ("read = ['/a']",               "read = ['/a']",                   "/a/x",        Write,     false),
            ("write = ['/a']",              "write = ['/a']",                  "/a/x",        Read,      false),
            ("read = ['/a']",               "read = ['/a/b']",                 "/a/b/c",      Read,      true),
            ("read = ['/a']",               "read = ['/a/b']",                 "/a/c",        Read,      false),
            ("read = ['/a/b']",             "read = ['/a']",                   "/a/b",        Read,      true),
            ("read = ['/a/b']",             "read = ['/a']",                   "/a",          Read,      false),
            ("read = 'from-personality'",   "read = ['/a']",                   "/a/x",        Read,      true),
            ("read = 'from-personality'",   "",                                "/a/x",        Read,      false),
            ("read = []",                   "read = ['/']",                    "/a",          Read,      false),
            ("",                            "read = ['/']",                    "/a",          Read,      false),
            ("read = ['/a/**/*.md']",       "read = ['/a/b/*']",               "/a/b/x.md",   Read,      true),
            ("read = ['/a/**/*.md']",       "read = ['/a/b/*']",               "/a/b/c/x.md", Read,      false),
            ("read = ['/a']",               "read = ['${workspace}']",         "/a",          Read,      false),
            ("read = ['/a']",               "read = ['/a']",                   "/a/../b",     Read,      false),
            ("read = ['/a']",               "read = ['/a']",                   "a",           Read,      false),
        ];
        for (declared, ceiling, path, direction, granted) in cases {
            let verdict = grant(declared, ceiling).judge(Path::new(path), direction);
            assert_eq!(verdict.is_ok(), granted, "{declared} ∩ {ceiling} ~ {direction} {path}: {verdict:?}");
        }
    }

    #[test]
    fn refuses_in_the_words_of_the_seeds() {
        let none = FsGrant::default().judge(Path::new("/etc/passwd"), Direction::Read).unwrap_err();
        assert_eq!(none.to_string(), "PATH_NOT_REACHABLE: read not permitted for /etc/passwd");
        assert_eq!(none.hint.unwrap(), "the tool's `capabilities.fs_reach.read` does not list it");
        let ceiling = grant("write = ['/']", "write = ['/a']").judge(Path::new("/b"), Direction::Write);
        assert_eq!(ceiling.unwrap_err().hint.unwrap(), "the personality's `fs_reach.write` does not list it");
        let floor =
            grant("read = ['/']", "read = ['/']").judge(Path::new("/h/.SSH/x"), Direction::Read).unwrap_err();
        assert_eq!(
            floor.hint.unwrap(),
            "`.ssh` (key) is on the always-deny floor; only `personality.fs_reach.read` naming `/h/.SSH` itself permits it"
        );
        let lines = FsGrant::default().judge(Path::new("/a\nb"), Direction::Read).unwrap_err();
        assert_eq!(lines.message, r"read not permitted for /a\nb");
    }

    #[test]
    fn finds_what_a_mount_can_express() {
        #[rustfmt::skip]
        let cases: [(&str, &str, &[&str], &[&str]); 8] = [
            // declared                     ceiling                       trees             globs
            ("read = ['/a', '/b']",         "read = ['/a']",              &["/a"],          &[]),
            ("read = ['/a/**']",            "read = ['/a/b', '/a/c']",    &["/a/b", "/a/c"], &[]),
            ("read = 'from-personality'",   "read = ['/a', '/b']",        &["/a", "/b"],    &[]),
            ("read = ['/a/*.md']",          "read = ['/a']",              &[],              &["/a/*.md"]),
            ("read = ['/a']",               "read = ['/a/*.md']",         &[],              &["/a/*.md"]),
            ("read = ['/a', '/a/*.md']",    "read = ['/a']",              &["/a"],          &[]),
            ("read = ['/a']",               "read = ['/a', '/b/*']",      &["/a"],          &[]),
            ("read = []",                   "read = ['/a']",              &[],              &[]),
        ];
        for (declared, ceiling, trees, globs) in cases {
            let grant = grant(declared, ceiling);
            let (found, wild) = grant.trees(Direction::Read);
            assert_eq!(found, trees.iter().map(PathBuf::from).collect::<Vec<_>>(), "{declared} ∩ {ceiling}");
            assert_eq!(
                wild.iter().map(|glob| glob.as_str()).collect::<Vec<_>>(),
                globs,
                "{declared} ∩ {ceiling}"
            );
        }
    }

    #[test]
    fn finds_the_one_root_of_a_jail() {
        #[rustfmt::skip]
        let cases = [
            ("read = ['/a']\njail = true",                      "",                   Ok("/a")),
            ("read = ['/a']\nwrite = ['/a/**']\njail = true",   "",                   Ok("/a")),
            ("read = 'from-personality'\njail = true",          "read = ['/p']",      Ok("/p")),
            ("read = ['/a', '/b']\njail = '/a/x'",              "",                   Ok("/a/x")),
            ("read = ['/a']\nwrite = ['/b']\njail = true",      "",                   Err("there are 2")),
            ("jail = true",                                     "read = ['/p']",      Err("there are 0")),
            ("read = ['/a/*']\njail = true",                    "",                   Err("without wildcards")),
        ];
        for (declared, ceiling, jail) in cases {
            let met = FsGrant::meet(&toml::from_str(declared).unwrap(), &toml::from_str(ceiling).unwrap());
            match (met, jail) {
                (Ok(grant), Ok(root)) => assert_eq!(grant.jail().unwrap(), Path::new(root)),
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (met, _) => panic!("{declared}: {met:?}"),
            }
        }
    }
}
