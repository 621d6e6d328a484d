//! What can be said of a message that is too long to be kept: its id, wherever it stands, and whether it is a request.
//!
//! INVARIANT: memory does not grow with the message; at most [`MOST_MESSAGES`] messages of a batch are told apart.

use crate::message::Id;

/// How many messages of a batch are looked at.
const MOST_MESSAGES: usize = 256;
/// The longest name of a member that matters, and the longest id.
const MOST_NAME: usize = 16;
const MOST_ID: usize = 128;

/// What is known of one message that was too long.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Oversize {
    /// Its id, where it has one that can be read.
    pub(crate) id: Option<Id>,
    /// Whether it has a method: it is a request or a notification, not an answer.
    pub(crate) has_method: bool,
}

/// Where in a message the scan is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Place {
    /// Before a name or behind a value, or somewhere that does not matter.
    #[default]
    Elsewhere,
    /// In a name of a member of the message itself.
    Name,
    /// In the value of its `id`.
    Id,
}

/// Reads a message piece by piece, and keeps only what is asked of it.
#[derive(Debug, Default)]
pub(crate) struct OversizeScan {
    depth: usize,
    /// The depth of members of a message: 1, and 2 in a batch.
    members: usize,
    is_batch: bool,
    in_text: bool,
    is_escaped: bool,
    /// Whether the next text at the depth of members is a name.
    expects_name: bool,
    place: Place,
    taken: Vec<u8>,
    messages: Vec<Oversize>,
    current: Oversize,
}

impl OversizeScan {
    /// Takes the next bytes of the message.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// Returns what was found, a message each. A message that never ended is among them.
    pub(crate) fn finish(mut self) -> Vec<Oversize> {
        if self.depth >= self.members && self.members > 0 {
            self.end_message();
        }
        self.messages
    }

    fn step(&mut self, byte: u8) {
        if self.in_text {
            return self.step_in_text(byte);
        }
        match byte {
            b'"' => {
                self.in_text = true;
                if self.is_at_members() && self.expects_name {
                    self.place = Place::Name;
                    self.taken.clear();
                } else {
                    self.keep(byte);
                }
            }
            b'{' | b'[' => self.open(byte),
            b'}' | b']' => self.close(),
            b',' if self.is_at_members() => {
                self.end_value();
                self.expects_name = true;
            }
            b':' if self.is_at_members() && self.expects_name => self.begin_value(),
            _ if byte.is_ascii_whitespace() => {}
            _ => self.keep(byte),
        }
    }

    fn step_in_text(&mut self, byte: u8) {
        if self.is_escaped {
            self.is_escaped = false;
        } else if byte == b'\\' {
            self.is_escaped = true;
        } else if byte == b'"' {
            self.in_text = false;
            if self.place == Place::Id {
                self.keep(byte);
            }
            return;
        }
        self.keep(byte);
    }

    const fn is_at_members(&self) -> bool {
        self.depth > 0 && self.depth == self.members
    }

    /// Keeps a byte of a name or of an id, as far as it can matter.
    fn keep(&mut self, byte: u8) {
        let most = match self.place {
            Place::Elsewhere => return,
            Place::Name => MOST_NAME,
            Place::Id => MOST_ID,
        };
        // One byte more than that shows that it is too long.
        if self.taken.len() <= most {
            self.taken.push(byte);
        }
    }

    fn open(&mut self, byte: u8) {
        if self.depth == 0 {
            self.is_batch = byte == b'[';
            self.members = if self.is_batch { 2 } else { 1 };
        }
        if self.place == Place::Id {
            // An id is neither an object nor a list.
            self.place = Place::Elsewhere;
            self.taken.clear();
        }
        self.depth += 1;
        if self.is_at_members() {
            self.expects_name = byte == b'{';
        }
    }

    fn close(&mut self) {
        if self.is_at_members() {
            self.end_value();
            self.end_message();
            self.expects_name = false;
        }
        self.depth = self.depth.saturating_sub(1);
    }

    fn begin_value(&mut self) {
        self.expects_name = false;
        // A name may be written with escapes, and then only a reader of JSON knows what it is.
        let mut quoted = vec![b'"'];
        quoted.append(&mut self.taken);
        quoted.push(b'"');
        let name: Option<String> = serde_json::from_slice(&quoted).ok();
        self.place = match name.as_deref() {
            Some("id") => Place::Id,
            Some("method") => {
                self.current.has_method = true;
                Place::Elsewhere
            }
            _ => Place::Elsewhere,
        };
    }

    fn end_value(&mut self) {
        if self.place == Place::Id && self.taken.len() <= MOST_ID {
            let text = std::str::from_utf8(&self.taken).ok();
            self.current.id = text.and_then(Id::parse);
        }
        self.place = Place::Elsewhere;
        self.taken.clear();
    }

    fn end_message(&mut self) {
        let ended = std::mem::take(&mut self.current);
        if self.messages.len() < MOST_MESSAGES {
            self.messages.push(ended);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, step: usize) -> Vec<(Option<i64>, bool)> {
        let mut scan = OversizeScan::default();
        for piece in text.as_bytes().chunks(step) {
            scan.take(piece);
        }
        let number = |id: Option<Id>| match id {
            Some(Id::Number(number)) => Some(number),
            _ => None,
        };
        scan.finish().into_iter().map(|one| (number(one.id), one.has_method)).collect()
    }

    #[test]
    fn an_id_is_found_wherever_it_stands() {
        #[rustfmt::skip]
        let cases = [
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,                                vec![(Some(7), false)]),
            (r#"{"result":{"id":1,"x":["id",{"id":2}],"t":"\"id\":3"},"id" : 7 }"#,    vec![(Some(7), false)]),
            (r#"{"result":"{\"id\":1}","id":7}"#,                                      vec![(Some(7), false)]),
            (r#"{"\u0069d":7,"result":1}"#,                                            vec![(Some(7), false)]),
            (r#"{"id":7,"result":"never ends"#,                                        vec![(Some(7), false)]),
            (r#"{"id":7,"method":"x","params":{}}"#,                                   vec![(Some(7), true)]),
            (r#"{"method":"x","params":{"id":7}}"#,                                    vec![(None, true)]),
            (r#"{"id":{"id":7},"result":1}"#,                                          vec![(None, false)]),
            (r#"{"id":"7","result":1}"#,                                               vec![(None, false)]),
            (r#"{"id":null,"result":1}"#,                                              vec![(None, false)]),
            (r#"[{"id":1,"result":[{"id":9}]},{"result":{"id":9},"id":2}]"#,           vec![(Some(1), false), (Some(2), false)]),
            ("no message at all {",                                                    vec![(None, false)]),
            ("nothing",                                                                vec![]),
        ];
        for (text, wanted) in cases {
            for step in [1, 3, 4096] {
                assert_eq!(found(text, step), wanted, "{text} by {step}");
            }
        }
    }

    #[test]
    fn a_long_id_is_none_and_costs_nothing() {
        let long = format!(r#"{{"id":{},"result":1}}"#, "1".repeat(1 << 16));
        let mut scan = OversizeScan::default();
        scan.take(long.as_bytes());
        assert!(scan.taken.capacity() < 1 << 10);
        assert_eq!(scan.finish(), [Oversize::default()]);
    }
}
