//! What the host said no with.
//!
//! INVARIANT: the sentence is the host's own, so that a model reads the same words from every runtime.

/// Why the host refused, such as `SECRET_NOT_DECLARED: …`.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{sentence}")]
pub struct Refusal {
    sentence: String,
}

impl Refusal {
    pub(crate) fn new(sentence: String) -> Self {
        Self { sentence }
    }

    /// Returns the stable code before the first colon, where there is one.
    pub fn code(&self) -> Option<&str> {
        let (code, _) = self.sentence.split_once(':')?;
        let is_code = |letter: u8| letter.is_ascii_uppercase() || letter == b'_';
        (!code.is_empty() && code.bytes().all(is_code)).then_some(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_a_code_only_where_there_is_one() {
        #[rustfmt::skip]
        let cases = [
            ("SECRET_NOT_DECLARED: no such secret", Some("SECRET_NOT_DECLARED")),
            ("the store is gone: try later",        None),
            (": nothing",                           None),
            ("NOT_AVAILABLE",                       None),
        ];
        for (sentence, code) in cases {
            let refusal = Refusal::new(sentence.to_owned());
            assert_eq!(refusal.code(), code, "{sentence}");
            assert_eq!(refusal.to_string(), sentence);
        }
    }
}
