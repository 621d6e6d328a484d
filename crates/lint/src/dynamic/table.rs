//! A table of what a library does, written as lines of text.
//!
//! A line is an effect, a colon, and paths. `os.system` is a function, `socket.socket().connect` a method of what a call gives,
//! `random.*` everything below; `a.{b,c}` is `a.b` and `a.c`.
//!
//! INVARIANT: a line whose effect is unknown is dropped by [`Table::parse`] and found by the test of every table, which demands
//! that none is.

use std::collections::{HashMap, HashSet};

use crate::{Effect, EffectSet};

/// What paths do, and which paths lead to one that does something.
#[derive(Debug, Default)]
pub(crate) struct Table {
    exact: HashMap<String, EffectSet>,
    below: HashMap<String, EffectSet>,
    prefixes: HashSet<String>,
    /// Lines that say nothing.
    pub(crate) refused: Vec<String>,
}

impl Table {
    /// Reads a table.
    pub(crate) fn parse(text: &str) -> Self {
        let mut table = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let parsed = line
                .split_once(": ")
                .and_then(|(effect, paths)| Some((effect.parse::<Effect>().ok()?, paths)));
            let Some((effect, paths)) = parsed else {
                table.refused.push(line.into());
                continue;
            };
            paths.split_whitespace().flat_map(spelled_out).for_each(|path| table.insert(&path, effect));
        }
        table
    }

    fn insert(&mut self, path: &str, effect: Effect) {
        let (map, path) = match path.strip_suffix(".*") {
            Some(root) => (&mut self.below, root),
            None => (&mut self.exact, path),
        };
        map.entry(path.to_owned()).or_default().insert(effect);
        let mut end = path;
        loop {
            self.prefixes.insert(end.to_owned());
            end = match (end.strip_suffix("()"), end.rfind('.')) {
                (Some(called), _) => called,
                (None, Some(at)) => end.get(..at).unwrap_or(""),
                (None, None) => break,
            };
        }
    }

    /// Returns what calling a path does.
    pub(crate) fn effects(&self, path: &str) -> EffectSet {
        if let Some(known) = self.exact.get(path) {
            return *known;
        }
        self.root_below(path).unwrap_or(EffectSet::NONE)
    }

    /// Says whether the path does something or leads to one that does.
    pub(crate) fn leads(&self, path: &str) -> bool {
        self.prefixes.contains(path) || self.root_below(path).is_some()
    }

    fn root_below(&self, path: &str) -> Option<EffectSet> {
        let mut end = path;
        while let Some(at) = end.rfind('.') {
            end = end.get(..at)?;
            if let Some(known) = self.below.get(end) {
                return Some(*known);
            }
        }
        None
    }
}

/// Spells out the braces of a path; there is at most one pair.
fn spelled_out(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.to_owned()] };
    let Some((choices, after)) = rest.split_once('}') else { return vec![path.to_owned()] };
    choices.split(',').map(|choice| format!("{before}{choice}{after}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_knows_paths_and_what_leads_to_them() {
        let table =
            Table::parse("exec: os.system sub.{run,call}\nnet.connect: s.s().connect web.*\nnothing: x\n");
        assert_eq!(table.refused, ["nothing: x"]);
        #[rustfmt::skip]
        let cases = [
            // path              effect                      leads
            ("os",               None,                       true),
            ("os.system",        Some(Effect::Exec),         true),
            ("os.systemd",       None,                       false),
            ("sub.call",         Some(Effect::Exec),         true),
            ("s.s",              None,                       true),
            ("s.s()",            None,                       true),
            ("s.s().connect",    Some(Effect::NetConnect),   true),
            ("web.get",          Some(Effect::NetConnect),   true),
            ("web.a().b",        Some(Effect::NetConnect),   true),
            ("webs.get",         None,                       false),
        ];
        for (path, effect, leads) in cases {
            assert_eq!(table.effects(path), effect.into_iter().collect(), "{path}");
            assert_eq!(table.leads(path), leads, "{path}");
        }
    }
}
