//! JSON as a page shows it: over several lines, with what is long folded away until somebody looks.
//!
//! INVARIANT: every fold that is opened is closed, and the texts outside of summaries are the whole value.

use serde_json::Value;

use super::json::{compact, visible};

/// How long a string may be before it is folded, and how much of it is shown then.
const LONG_TEXT: usize = 240;
const SHOWN: usize = 100;
/// How many items a list or an object may have before it is folded.
const LONG_LIST: usize = 20;

/// A part of a value that is shown.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Piece {
    /// Here a fold ends.
    End,
    /// Here a fold begins, which is closed at first and says this.
    Fold(String),
    /// A text.
    Text(String),
}

/// Writes a value in pieces.
pub(crate) fn fold(value: &Value) -> Vec<Piece> {
    let mut writer = Writer::default();
    writer.value(value, 0, "");
    writer.flush();
    writer.pieces
}

#[derive(Default)]
struct Writer {
    pieces: Vec<Piece>,
    text: String,
}

impl Writer {
    /// Writes a value and what stands behind it.
    fn value(&mut self, value: &Value, depth: usize, behind: &str) {
        match value {
            Value::String(text) if text.len() > LONG_TEXT => {
                let start: String = text.chars().take(SHOWN).collect();
                let start = compact(&Value::String(start));
                let start = start.strip_suffix('"').unwrap_or(&start);
                self.open(format!("{start}…  {} characters", text.chars().count()));
                self.text.push_str(&compact(value));
                self.text.push_str(behind);
                self.close();
            }
            Value::Array(items) if !items.is_empty() => {
                let is_long = depth > 0 && items.len() > LONG_LIST;
                if is_long {
                    self.open(format!("[ … {} items ]{behind}", items.len()));
                }
                self.text.push_str("[\n");
                for (place, item) in items.iter().enumerate() {
                    self.indent(depth + 1);
                    self.value(item, depth + 1, if place + 1 < items.len() { "," } else { "" });
                    self.line();
                }
                self.indent(depth);
                self.text.push(']');
                self.text.push_str(behind);
                if is_long {
                    self.close();
                }
            }
            Value::Object(fields) if !fields.is_empty() => {
                // What is asked is never folded away as a whole.
                let is_long = depth > 0 && fields.len() > LONG_LIST;
                if is_long {
                    self.open(format!("{{ … {} fields }}{behind}", fields.len()));
                }
                self.text.push_str("{\n");
                for (place, (key, value)) in fields.iter().enumerate() {
                    self.indent(depth + 1);
                    self.text.push_str(&visible(&Value::from(key.as_str()).to_string()));
                    self.text.push_str(": ");
                    self.value(value, depth + 1, if place + 1 < fields.len() { "," } else { "" });
                    self.line();
                }
                self.indent(depth);
                self.text.push('}');
                self.text.push_str(behind);
                if is_long {
                    self.close();
                }
            }
            other => {
                self.text.push_str(&compact(other));
                self.text.push_str(behind);
            }
        }
    }

    fn indent(&mut self, depth: usize) {
        self.text.extend(std::iter::repeat_n("  ", depth));
    }

    /// Ends a line; a fold that has just been closed ends one by itself.
    fn line(&mut self) {
        if !self.text.is_empty() || self.pieces.last() != Some(&Piece::End) {
            self.text.push('\n');
        }
    }

    fn open(&mut self, says: String) {
        self.flush();
        self.pieces.push(Piece::Fold(says));
    }

    fn close(&mut self) {
        self.flush();
        self.pieces.push(Piece::End);
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.pieces.push(Piece::Text(std::mem::take(&mut self.text)));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Puts the texts together again.
    fn whole(pieces: &[Piece]) -> String {
        let texts = pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::End => Some("\n"),
            Piece::Fold(_) => None,
        });
        texts.collect()
    }

    #[test]
    fn what_is_long_is_folded_and_whole() {
        #[rustfmt::skip]
        let cases = [
            // value                                        folds
            (json!(null),                                   0),
            (json!({ "a": [1, { "b": [] }], "c": {} }),     0),
            (json!("x".repeat(241)),                        1),
            (json!("x".repeat(240)),                        0),
            (json!({ "l": (0..21).collect::<Vec<_>>() }),    1),
            (json!((0..21).collect::<Vec<_>>()),            0),
            (json!((0..20).collect::<Vec<_>>()),            0),
            (json!({ "t": "ü\u{202e}\"".repeat(100), "l": vec!["y".repeat(300); 30], "z": 1 }), 32),
        ];
        for (value, folds) in cases {
            let pieces = fold(&value);
            assert_eq!(serde_json::from_str::<Value>(&whole(&pieces)).unwrap(), value);
            let mut open = 0_i32;
            for piece in &pieces {
                match piece {
                    Piece::Fold(says) => {
                        assert!(says.chars().count() < 400 && !says.contains('\u{202e}'), "{says}");
                        open += 1;
                    }
                    Piece::End => open -= 1,
                    Piece::Text(_) => {}
                }
                assert!(open >= 0);
            }
            assert_eq!(open, 0);
            assert_eq!(
                pieces.iter().filter(|piece| matches!(piece, Piece::Fold(_))).count(),
                folds,
                "{value}"
            );
        }
    }
}
