//! What a tool declares of its file reach, and the ceiling a personality sets.

use std::fmt;
use std::path::Path;

use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::error::PathError;
use super::normal;
use super::pattern::PathPattern;
use super::set::PathSet;
use super::variable::Variables;
use crate::{Code, Refusal};

/// What is done with a path. A write grant is not a read grant.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Reading, listing, asking whether it exists.
    Read,
    /// Writing, creating, removing, renaming.
    Write,
}

impl Direction {
    /// Returns the word used in policies and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// Returns the refusal of `path` in this direction, without a hint.
    pub fn refusal(self, path: &Path) -> Refusal {
        let path = normal::display(path.as_os_str());
        Refusal::new(Code::PathNotReachable, format!("{self} not permitted for {path}"))
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One direction of a declared reach: a list, or whatever the personality permits.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum PathReach {
    /// Whatever the personality permits; written `"from-personality"`.
    FromPersonality,
    /// What these patterns admit. An empty list is a declared stance: nothing.
    Listed(PathSet),
}

const FROM_PERSONALITY: &str = "from-personality";

impl PathReach {
    fn expand(&self, variables: &Variables) -> Result<Self, PathError> {
        match self {
            Self::FromPersonality => Ok(Self::FromPersonality),
            Self::Listed(set) => set.expand(variables).map(Self::Listed),
        }
    }
}

impl Serialize for PathReach {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::FromPersonality => serializer.serialize_str(FROM_PERSONALITY),
            Self::Listed(set) => set.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PathReach {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // By hand: an untagged enum would lose the place of an error.
        struct Reach;

        impl<'de> Visitor<'de> for Reach {
            type Value = PathReach;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of paths, or the string `from-personality`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<PathReach, E> {
                if text == FROM_PERSONALITY {
                    Ok(PathReach::FromPersonality)
                } else {
                    Err(E::invalid_value(de::Unexpected::Str(text), &self))
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<PathReach, A::Error> {
                let mut patterns = Vec::new();
                while let Some(pattern) = list.next_element::<PathPattern>()? {
                    patterns.push(pattern);
                }
                Ok(PathReach::Listed(patterns.into_iter().collect()))
            }
        }

        deserializer.deserialize_any(Reach)
    }
}

/// Whether a tool asks to be kept in one directory, seeing relative paths only.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub enum Jail {
    /// In this directory, a literal path.
    At(PathPattern),
    /// No jail.
    #[default]
    None,
    /// In the one literal root that `read` and `write` name; written `true`.
    SoleRoot,
}

impl Jail {
    /// Tells whether there is no jail.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    fn at(pattern: PathPattern) -> Result<Self, PathError> {
        if pattern.as_str().contains(['*', '?']) {
            return Err(PathError::JailWild { text: pattern.to_string() });
        }
        Ok(Self::At(pattern))
    }

    fn expand(&self, variables: &Variables) -> Result<Self, PathError> {
        match self {
            Self::At(pattern) => pattern.expand(variables).map(Self::At),
            Self::None => Ok(Self::None),
            Self::SoleRoot => Ok(Self::SoleRoot),
        }
    }
}

impl Serialize for Jail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::At(pattern) => pattern.serialize(serializer),
            Self::None => serializer.serialize_bool(false),
            Self::SoleRoot => serializer.serialize_bool(true),
        }
    }
}

impl<'de> Deserialize<'de> for Jail {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Wanted;

        impl Visitor<'_> for Wanted {
            type Value = Jail;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`true`, `false` or the path of a directory")
            }

            fn visit_bool<E: de::Error>(self, jailed: bool) -> Result<Jail, E> {
                Ok(if jailed { Jail::SoleRoot } else { Jail::None })
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Jail, E> {
                text.parse().and_then(Jail::at).map_err(E::custom)
            }
        }

        deserializer.deserialize_any(Wanted)
    }
}

/// The `fs_reach` capability a tool declares. A direction that is absent reaches nothing.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FsReach {
    /// What it reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<PathReach>,
    /// What it writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<PathReach>,
    /// Whether it asks to be kept in one directory.
    #[serde(default, skip_serializing_if = "Jail::is_none")]
    pub jail: Jail,
}

impl FsReach {
    /// Returns what is declared for a direction.
    pub fn direction(&self, direction: Direction) -> Option<&PathReach> {
        match direction {
            Direction::Read => self.read.as_ref(),
            Direction::Write => self.write.as_ref(),
        }
    }

    /// Returns the reach with every variable replaced.
    ///
    /// # Errors
    ///
    /// A variable has no usable value.
    pub fn expand(&self, variables: &Variables) -> Result<Self, PathError> {
        Ok(Self {
            read: self.read.as_ref().map(|reach| reach.expand(variables)).transpose()?,
            write: self.write.as_ref().map(|reach| reach.expand(variables)).transpose()?,
            jail: self.jail.expand(variables)?,
        })
    }
}

/// The most a personality permits of the file system. Absent lists permit nothing.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FsCeiling {
    /// What may be read.
    #[serde(default)]
    pub read: PathSet,
    /// What may be written.
    #[serde(default)]
    pub write: PathSet,
}

impl FsCeiling {
    /// Returns what is permitted in a direction.
    pub fn direction(&self, direction: Direction) -> &PathSet {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        }
    }

    /// Returns the ceiling with every variable replaced.
    ///
    /// # Errors
    ///
    /// A variable has no usable value.
    pub fn expand(&self, variables: &Variables) -> Result<Self, PathError> {
        Ok(Self { read: self.read.expand(variables)?, write: self.write.expand(variables)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_form_round_trips() {
        for written in [
            "{}",
            r#"{"read":"from-personality"}"#,
            r#"{"read":["/srv/x"],"write":[]}"#,
            r#"{"read":["/srv/x"],"jail":true}"#,
            r#"{"read":["/srv/x"],"jail":"${workspace}/x"}"#,
        ] {
            let reach: FsReach = serde_json::from_str(written).unwrap();
            assert_eq!(serde_json::to_string(&reach).unwrap(), written);
        }
    }

    #[test]
    fn errors_name_the_place() {
        #[rustfmt::skip]
        let cases = [
            ("read = 'everything'",        "from-personality"),
            ("\nread = [\n'/a',\n'b']",    "line 4"),
            ("read = ['/a', 7]",           "expected a path, as a string"),
            ("reads = []",                 "unknown field `reads`"),
            ("jail = 3",                   "the path of a directory"),
            ("jail = '/a/*'",              "without wildcards"),
            ("jail = 'a'",                 "`a` is not absolute"),
        ];
        for (written, part) in cases {
            let error = toml::from_str::<FsReach>(written).unwrap_err().to_string();
            assert!(error.contains(part), "{written}: {error}");
        }
        assert!(toml::from_str::<FsCeiling>("read = 'from-personality'").is_err());
        assert!(toml::from_str::<FsCeiling>("jail = true").is_err());
    }

    #[test]
    fn expands_every_part() {
        let variables = Variables { workspace: Some("/w".into()), ..Variables::default() };
        let reach: FsReach = toml::from_str("read = ['${workspace}']\njail = '${workspace}/x'").unwrap();
        let wanted: FsReach = toml::from_str("read = ['/w']\njail = '/w/x'").unwrap();
        assert_eq!(reach.expand(&variables).unwrap(), wanted);
        let ceiling: FsCeiling = toml::from_str("write = ['${workspace}/out']").unwrap();
        assert_eq!(ceiling.expand(&variables).unwrap().write.iter().next().unwrap().as_str(), "/w/out");
    }
}
