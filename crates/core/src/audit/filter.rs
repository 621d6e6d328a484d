//! Entries of the log as they are handed out, and how they are asked for.
//!
//! INVARIANT: an entry fits a filter when it fits everything that the filter gives.

/// Which entries to return: those that fit everything that is given.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Filter {
    /// `approval`, `approver`, `call`, `connection`, `console`, `policy`, `server` or `settlement`.
    pub kind: Option<String>,
    /// The run.
    pub run: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// The code of what was not done.
    pub code: Option<String>,
    /// The class of the tool that was called.
    pub class: Option<String>,
    /// The host that was reached or refused.
    pub host: Option<String>,
    /// The person, or whoever proposed the call.
    pub principal: Option<String>,
    /// From when on, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// Until before when, in milliseconds since 1970.
    pub until_ms: Option<u64>,
    /// The lowest index.
    pub from: Option<u64>,
    /// Only indexes smaller than this.
    pub below: Option<u64>,
    /// The record holds this text, byte for byte. Nothing is filed by it: every entry that fits the rest is read, so that
    /// whoever gives it bounds it with `from` and `below`.
    pub text: Option<String>,
    /// For lists: entries come without their outputs, and without records larger than [`Filter::LIGHT`] bytes, which are empty
    /// texts then.
    pub light: bool,
}

impl Filter {
    /// The largest record that a list is given.
    pub const LIGHT: usize = 64 << 10;

    /// Says whether no entry can fit, whatever the log holds: only calls have a class, only connections and servers a host,
    /// and only calls and connections a code.
    pub fn is_vain(&self) -> bool {
        let of = |given: &Option<String>, kinds: &[&str]| {
            given.is_none() || self.kind.as_deref().is_none_or(|kind| kinds.contains(&kind))
        };
        let fits = of(&self.class, &["call"])
            && of(&self.host, &["connection", "server"])
            && of(&self.code, &["call", "connection"])
            && !(self.host.is_some() && (self.class.is_some() || self.principal.is_some()));
        !fits
    }
}

/// One entry as it is stored.
///
/// The tree is over `record` alone. The fields beside it are for finding it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Stored {
    /// Its place in the log.
    pub index: u64,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// `approval`, `approver`, `call`, `connection`, `console`, `policy`, `server` or `settlement`.
    pub kind: String,
    /// The run it belongs to.
    pub run: Option<String>,
    /// The tool it is about.
    pub tool: Option<String>,
    /// The code of what was not done.
    pub code: Option<String>,
    /// The class of the tool that was called.
    pub class: Option<String>,
    /// The host that was reached or refused.
    pub host: Option<String>,
    /// The person, or whoever proposed the call.
    pub principal: Option<String>,
    /// The record, as one line of JSON.
    pub record: String,
    /// What the tool returned, if cleaning changed it and it is still kept. It may hold credentials.
    pub raw: Option<String>,
    /// What the caller saw.
    pub clean: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_no_entry_can_be() {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        #[rustfmt::skip]
        let cases = [
            // kind          class   host    code         principal  vain
            ("",             "",     "",     "",          "",        false),
            ("call",         "read", "",     "FORBIDDEN", "agent",   false),
            ("",             "read", "",     "FORBIDDEN", "agent",   false),
            ("connection",   "",     "a.io", "FORBIDDEN", "",        false),
            ("server",       "",     "a.io", "",          "",        false),
            ("",             "read", "a.io", "",          "",        true),
            ("",             "",     "a.io", "",          "ada",     true),
            ("call",         "",     "a.io", "",          "",        true),
            ("connection",   "read", "",     "",          "",        true),
            ("console",      "",     "",     "FORBIDDEN", "",        true),
        ];
        for (kind, class, host, code, principal, vain) in cases {
            let filter = Filter {
                kind: text(kind),
                class: text(class),
                host: text(host),
                code: text(code),
                principal: text(principal),
                ..Filter::default()
            };
            assert_eq!(filter.is_vain(), vain, "{filter:?}");
        }
    }
}
