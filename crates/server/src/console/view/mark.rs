//! Text with the places marked where something was found.
//!
//! INVARIANT: the segments together are the whole text; a mark is a segment of its own, never markup inside of a value.

use std::ops::Range;

use serde_json::Value;

use super::finding::FindingSeen;
use super::json::compact;

/// A piece of a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Segment {
    pub(crate) text: String,
    /// What was found there.
    pub(crate) mark: Option<String>,
}

type Span = (Range<usize>, String);

/// Writes what a tool returned, with what was found in it marked. A string is shown as the text it is, anything else as JSON.
pub(crate) fn raw(value: &Value, findings: &[FindingSeen]) -> Vec<Segment> {
    let mut writer = Writer::default();
    let spans = |pointer: &str, key: &str| spans(findings, pointer, key);
    match value {
        Value::String(text) => writer.marked(text, spans("", ""), str::to_owned),
        other => writer.value(other, &mut String::new(), "", 0, &|pointer, key, _| spans(pointer, key)),
    }
    writer.end()
}

/// Writes what the caller saw, with what stands in the place of something else marked.
pub(crate) fn clean(value: &Value, findings: &[FindingSeen]) -> Vec<Segment> {
    let mut stand_ins: Vec<(&str, &str)> = findings
        .iter()
        .filter_map(|finding| Some((finding.replaced_by.as_deref()?, finding.label.as_str())))
        .filter(|(text, _)| !text.is_empty())
        .collect();
    stand_ins.sort_unstable();
    stand_ins.dedup();
    let find = |text: &str| -> Vec<Span> {
        let found = stand_ins.iter().flat_map(|(own, label)| {
            text.match_indices(own).map(|(at, own)| (at..at + own.len(), (*label).to_owned()))
        });
        found.collect()
    };
    let mut writer = Writer::default();
    match value {
        Value::String(text) => writer.marked(text, find(text), str::to_owned),
        other => writer.value(other, &mut String::new(), "", 0, &|_, _, text| find(text)),
    }
    writer.end()
}

/// Returns where something was found in the string at a pointer. Findings in a key are filed under the same pointer, behind
/// those of the value, and are taken away.
fn spans(findings: &[FindingSeen], pointer: &str, key: &str) -> Vec<Span> {
    let own = findings.iter().filter(|finding| finding.pointer == pointer);
    let mut own: Vec<Span> = own.map(|finding| (finding.start..finding.end, finding.label.clone())).collect();
    for finding in ringfence::text::clean(key).findings.iter().rev() {
        if let Some(place) = own.iter().rposition(|(span, _)| *span == finding.span) {
            own.remove(place);
        }
    }
    own
}

#[derive(Default)]
struct Writer {
    segments: Vec<Segment>,
    text: String,
}

impl Writer {
    /// Writes a value over several lines; `find` says what was found in the string at a pointer, behind a key.
    fn value(
        &mut self,
        value: &Value,
        pointer: &mut String,
        key: &str,
        depth: usize,
        find: &dyn Fn(&str, &str, &str) -> Vec<Span>,
    ) {
        let length = pointer.len();
        match value {
            Value::String(text) => {
                self.text.push('"');
                self.marked(text, find(pointer, key, text), |part| {
                    let written = compact(&Value::from(part));
                    written
                        .strip_prefix('"')
                        .and_then(|rest| rest.strip_suffix('"'))
                        .unwrap_or_default()
                        .to_owned()
                });
                self.text.push('"');
            }
            Value::Array(items) if !items.is_empty() => {
                self.text.push('[');
                for (place, item) in items.iter().enumerate() {
                    self.line(place, depth + 1);
                    pointer.push_str(&format!("/{place}"));
                    self.value(item, pointer, "", depth + 1, find);
                    pointer.truncate(length);
                }
                self.line(0, depth);
                self.text.push(']');
            }
            Value::Object(fields) if !fields.is_empty() => {
                self.text.push('{');
                for (place, (key, item)) in fields.iter().enumerate() {
                    self.line(place, depth + 1);
                    self.text.push_str(&compact(&Value::from(key.as_str())));
                    self.text.push_str(": ");
                    pointer.push('/');
                    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                    self.value(item, pointer, key, depth + 1, find);
                    pointer.truncate(length);
                }
                self.line(0, depth);
                self.text.push('}');
            }
            other => self.text.push_str(&compact(other)),
        }
    }

    /// Begins a line, behind a comma where something stands before it.
    fn line(&mut self, place: usize, depth: usize) {
        self.text.push_str(if place > 0 { ",\n" } else { "\n" });
        self.text.extend(std::iter::repeat_n("  ", depth));
    }

    /// Writes a text with places marked; places that lie across each other, or are none of the text, are passed over.
    fn marked(&mut self, text: &str, mut spans: Vec<Span>, write: impl Fn(&str) -> String) {
        spans.sort_by_key(|(span, _)| (span.start, span.end));
        let mut at = 0;
        for (span, label) in spans {
            let (Some(before), Some(found)) = (text.get(at..span.start), text.get(span.clone())) else {
                continue;
            };
            self.text.push_str(&write(before));
            self.flush();
            self.segments.push(Segment { text: write(found), mark: Some(label) });
            at = span.end;
        }
        self.text.push_str(&write(text.get(at..).unwrap_or_default()));
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.segments.push(Segment { text: std::mem::take(&mut self.text), mark: None });
        }
    }

    fn end(mut self) -> Vec<Segment> {
        self.flush();
        self.segments
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Cleans a value as the pipeline does, and returns what its record would say.
    fn cleaned(value: &Value) -> (Value, Vec<FindingSeen>) {
        let (clean, findings) = ringfence::text::clean_json(value);
        let findings = serde_json::to_value(findings).unwrap();
        let findings = findings.as_array().unwrap().iter().map(FindingSeen::of).collect();
        (clean.unwrap_or_else(|| value.clone()), findings)
    }

    fn marks(segments: &[Segment]) -> Vec<&str> {
        segments.iter().filter(|one| one.mark.is_some()).map(|one| one.text.as_str()).collect()
    }

    fn whole(segments: &[Segment]) -> String {
        segments.iter().map(|one| one.text.as_str()).collect()
    }

    const TOKEN: &str = "rfa_f51d1f1161f08134aeb2c8c955ce58de42d66d9f9db25546f12c83afab247782";

    #[test]
    fn what_was_found_is_marked_where_it_was() {
        let text = json!(format!("see {TOKEN} now\u{202e}!"));
        let (clean_text, findings) = cleaned(&text);
        let shown = raw(&text, &findings);
        assert_eq!(whole(&shown), text.as_str().unwrap());
        assert_eq!(marks(&shown), [TOKEN, "\u{202e}"]);
        let shown = clean(&clean_text, &findings);
        assert_eq!(whole(&shown), clean_text.as_str().unwrap());
        assert_eq!(marks(&shown).len(), 1, "what was removed cannot be marked: {shown:?}");

        let value = json!({ "k\u{200b}": "plain", "a/b": [{ "t": TOKEN }], "n": 1 });
        let (_, findings) = cleaned(&value);
        let shown = raw(&value, &findings);
        assert_eq!(
            marks(&shown),
            [TOKEN],
            "what was found in a key is not marked in its value: {findings:?}"
        );
        assert_eq!(serde_json::from_str::<Value>(&whole(&shown)).unwrap(), value);
    }

    #[test]
    fn places_that_are_none_are_passed_over() {
        let finding = |start, end| FindingSeen { start, end, ..FindingSeen::default() };
        let findings =
            [finding(1, 2), finding(0, 3), finding(2, 1), finding(9, 99), finding(3, 4), finding(4, 5)];
        let text = json!("xüyz");
        let shown = raw(&text, &findings);
        assert_eq!(whole(&shown), "xüyz");
        assert_eq!(marks(&shown), ["xü", "y", "z"]);
    }
}
