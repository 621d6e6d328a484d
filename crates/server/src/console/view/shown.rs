//! Arguments as the list of approvals shows them: one line for each, whole.
//!
//! INVARIANT: either everything that the call would be made with is shown, or it is said that it is not. Only what is shown as a whole
//! can be decided in the list.

use serde_json::Value;

use super::json::compact;
use super::what::short;

/// How many arguments are shown, and how long each may be, in characters.
const MOST: usize = 12;
const LONG: usize = 240;

/// One argument.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Argument {
    /// Its name; empty where the arguments have none.
    pub(crate) name: String,
    /// Its value as JSON.
    pub(crate) value: String,
}

/// Returns the arguments, and whether that is all of them.
pub(crate) fn arguments(value: &Value) -> (Vec<Argument>, bool) {
    let all: Vec<(String, String)> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| {
                let quoted = compact(&Value::from(name.as_str()));
                let plain = quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned();
                (plain, compact(value))
            })
            .collect(),
        other => vec![(String::new(), compact(other))],
    };
    let fits = |text: &String| text.chars().count() <= LONG;
    let is_whole = all.len() <= MOST && all.iter().all(|(name, value)| fits(name) && fits(value));
    let shown = all.into_iter().take(MOST);
    let shown = shown.map(|(name, value)| Argument { name: short(&name, LONG), value: short(&value, LONG) });
    (shown.collect(), is_whole)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_is_shown_or_it_is_said_that_it_is_not() {
        let (shown, is_whole) =
            arguments(&json!({ "amount": 250, "to": "DE\u{202e}89", "a\"b\u{200b}": [1, "x"] }));
        let shown: Vec<(&str, &str)> =
            shown.iter().map(|one| (one.name.as_str(), one.value.as_str())).collect();
        let expected = [("amount", "250"), ("to", "\"DE\\u202e89\""), ("a\\\"b\\u200b", "[1,\"x\"]")];
        let mut sorted = expected.to_vec();
        sorted.sort_unstable();
        let mut found = shown.clone();
        found.sort_unstable();
        assert_eq!((found, is_whole), (sorted, true));
        #[rustfmt::skip]
        let cases = [
            (json!({}),                                     0,  true),
            (json!(null),                                   1,  true),
            (json!({ "memo": "x".repeat(238) }),            1,  true),
            (json!({ "memo": "x".repeat(239) }),            1,  false),
            (json!({ "x".repeat(241): 1 }),                 1,  false),
            (json!((0..200).collect::<Vec<_>>()),           1,  false),
            (Value::Object((0..12).map(|n| (format!("k{n}"), json!(n))).collect()), 12, true),
            (Value::Object((0..13).map(|n| (format!("k{n}"), json!(n))).collect()), 12, false),
        ];
        for (value, count, is_whole) in cases {
            let (shown, found) = arguments(&value);
            assert_eq!((shown.len(), found), (count, is_whole), "{value}");
            assert!(shown.iter().all(|one| one.value.chars().count() <= LONG));
        }
    }
}
