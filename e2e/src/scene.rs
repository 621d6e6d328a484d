//! The scene: what a probe is told of the world it runs in.
//!
//! Named values from the command line (`work=/var/tmp/…/work pid=4711`). The secret itself is never among them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use crate::probe::Stop;

/// Named values: paths, ports and ids of the canaries.
#[derive(Clone, Debug, Default)]
pub struct Scene(BTreeMap<String, String>);

impl Scene {
    /// Adds a value, or replaces it.
    #[expect(clippy::needless_pass_by_value, reason = "numbers and views are made on the spot")]
    pub fn set(&mut self, name: &str, value: impl ToString) {
        self.0.insert(name.to_owned(), value.to_string());
    }

    /// The value of that name; a probe that lacks one cannot be tried.
    pub fn text(&self, name: &str) -> Result<&str, Stop> {
        self.0.get(name).map(String::as_str).ok_or_else(|| Stop::Broken(format!("the scene has no `{name}`")))
    }

    /// The value of that name as a number.
    pub fn number<T: FromStr>(&self, name: &str) -> Result<T, Stop> {
        let text = self.text(name)?;
        text.parse().map_err(|_| Stop::Broken(format!("`{name}` is no number: `{text}`")))
    }

    /// A path below the writable grant.
    pub fn work(&self, name: &str) -> Result<PathBuf, Stop> {
        Ok(PathBuf::from(self.text("work")?).join(name))
    }

    /// A path below the folder that was not granted.
    pub fn outside(&self, name: &str) -> Result<PathBuf, Stop> {
        Ok(PathBuf::from(self.text("outside")?).join(name))
    }

    /// The text with each `{name}` replaced by its value.
    pub fn expand(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }

    /// The values as arguments of the probe.
    pub fn arguments(&self) -> Vec<String> {
        self.0.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }
}

impl<S: AsRef<str>> FromIterator<S> for Scene {
    fn from_iter<I: IntoIterator<Item = S>>(arguments: I) -> Self {
        let mut scene = Self::default();
        for argument in arguments {
            if let Some((name, value)) = argument.as_ref().split_once('=') {
                scene.set(name, value);
            }
        }
        scene
    }
}
