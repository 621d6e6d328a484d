//! A report for a program: the values are as they were found, and spelled so that they cannot drive a terminal.

use serde_json::{Map, Value, json};

use super::{Level, Report, escape};

pub(super) fn render(report: &Report<'_>) -> String {
    let mut object = Map::new();
    object.insert("title".to_owned(), report.title.into());
    let counts = Level::ALL.map(|level| (level.to_string(), Value::from(report.count(level))));
    object.insert("counts".to_owned(), counts.into_iter().collect::<Map<_, _>>().into());
    object.insert("findings".to_owned(), json!(report.findings));
    if let Value::Object(data) = &report.data {
        // What is ours keeps its name.
        for (key, value) in data {
            object.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    let text = serde_json::to_string_pretty(&Value::Object(object)).unwrap_or_default();
    escape::json(&text) + "\n"
}
