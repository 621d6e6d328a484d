//! What a command was given in confidence, taken out of the sentences of an engine that repeats it.
//!
//! INVARIANT: no value is ever shown, not even to whoever debugs this.

use std::ffi::OsString;
use std::sync::Arc;

/// Shorter values are in every sentence, and are no secrets.
const SHORTEST: usize = 4;

/// The values of an environment, longest first, each with the name it has.
#[derive(Clone, Default)]
pub(crate) struct Hidden(Arc<[(String, String)]>);

impl Hidden {
    /// Keeps the values of an environment.
    pub(crate) fn of(environment: &[(OsString, OsString)]) -> Self {
        let mut values: Vec<(String, String)> = environment
            .iter()
            .filter(|(name, _)| name != "HOME" && name != "PATH")
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
            .filter(|(_, value)| value.len() >= SHORTEST)
            .collect();
        values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        Self(values.into())
    }

    /// Puts the names of variables where their values are. An engine writes them as they are, or as in a document.
    pub(crate) fn take_out(&self, mut text: String) -> String {
        for (name, value) in self.0.iter() {
            let escaped = serde_json::Value::from(value.as_str()).to_string();
            let quoted = format!("{value:?}");
            for value in [value, inside(&escaped), inside(&quoted)] {
                if text.contains(value) {
                    text = text.replace(value, &format!("${name}"));
                }
            }
        }
        text
    }
}

fn inside(quoted: &str) -> &str {
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(quoted)
}

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_out_and_names_stay() {
        let environment = [("HOME", "/tmp"), ("KEY", "hunter2"), ("LONG", "hunter2\n\"more\""), ("N", "1")]
            .map(|(name, value)| (name.into(), value.into()));
        let hidden = Hidden::of(&environment);
        #[rustfmt::skip]
        let cases = [
            ("no KEY=hunter2 in /tmp 1",              "no KEY=$KEY in /tmp 1"),
            ("no hunter2\n\"more\" here",             "no $LONG here"),
            (r#"no {"Env":["hunter2\n\"more\""]}"#,   r#"no {"Env":["$LONG"]}"#),
        ];
        for (said, shown) in cases {
            assert_eq!(hidden.take_out(said.to_owned()), shown);
        }
        assert_eq!(format!("{hidden:?}"), r#"["LONG", "KEY"]"#);
    }
}
