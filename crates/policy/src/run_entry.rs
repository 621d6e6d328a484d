//! What commands are granted that people run by hand: `ringfence run @NAME`.

use serde::{Deserialize, Serialize};

use crate::expand::{expand_path, expand_text};
use crate::{HostPattern, Limits, Variables};

/// An entry `[run.NAME]` of a policy file. Its keys are the flags of `ringfence run`.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunEntry {
    /// Paths that it may read, each with everything below it.
    pub read: Vec<String>,
    /// Paths that it may read and write.
    pub write: Vec<String>,
    /// Programs that it may start, or folders of them.
    pub exec: Vec<String>,
    /// Variables: `NAME` with the caller's value, or `NAME=VALUE`.
    pub env: Vec<String>,
    /// Secrets in variables: `REF=NAME`.
    pub secret: Vec<String>,
    /// Hosts that it may connect to.
    pub host: Vec<HostPattern>,
    /// Private names, addresses and ranges that its hosts may lie on.
    pub private: Vec<String>,
    /// The folder that it starts in.
    pub cwd: Option<String>,
    /// A home of its own, which stays.
    pub home: Option<String>,
    /// What it may spend.
    pub limits: Limits,
    /// Whether it may open Unix sockets.
    #[serde(alias = "unixSockets")]
    pub unix_sockets: bool,
    /// Whether it gets a terminal of its own.
    pub tty: bool,
}

impl RunEntry {
    /// Returns the entry with variables replaced.
    ///
    /// # Errors
    ///
    /// The key, and what is wrong with it: a variable has no value, or a path is not absolute.
    pub fn expand(&self, variables: &Variables) -> Result<Self, (&'static str, String)> {
        let mut entry = self.clone();
        for (key, paths) in [("read", &mut entry.read), ("write", &mut entry.write)] {
            for path in paths {
                *path = expand_path(path, variables).map_err(|fault| (key, fault))?;
            }
        }
        for (key, path) in [("cwd", &mut entry.cwd), ("home", &mut entry.home)] {
            if let Some(path) = path {
                *path = expand_path(path, variables).map_err(|fault| (key, fault))?;
            }
        }
        for (key, texts) in [("env", &mut entry.env), ("exec", &mut entry.exec)] {
            for text in texts {
                *text = expand_text(text, variables, str::to_owned).map_err(|fault| (key, fault))?;
            }
        }
        Ok(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_and_a_path_is_one_path() {
        let variables = Variables { workspace: Some("/w".into()), ..Variables::default() };
        let entry = |text: &str| toml::from_str::<RunEntry>(text).unwrap().expand(&variables);
        let read = entry("read = [\"${workspace}/src\"]\nenv = [\"ROOT=${workspace}\", \"LANG\"]").unwrap();
        assert_eq!(read.read, ["/w/src"]);
        assert_eq!(read.env, ["ROOT=/w", "LANG"]);
        assert_eq!(entry("write = [\"${home}/x\"]").unwrap_err().0, "write");
        assert_eq!(entry("read = [\"${workspace}/*.rs\"]").unwrap_err().0, "read");
        assert_eq!(entry("home = \"relative\"").unwrap_err().0, "home");
    }
}
