//! Whether patterns cover another: exact inclusion of what they match.
//!
//! A pattern is a small automaton over bytes. The narrow one is walked state by state beside the set of states the
//! wide ones can be in; a path that the narrow one accepts and no wide one does is a witness. Bytes that no pattern
//! writes behave alike, so one representative of each kind stands for all. Paths are `/name/name`, the root is the
//! empty string, and names that no path has (empty, `.`, `..`) are cut off the search.
//!
//! INVARIANT: the answer "covered" is proven; beyond [`MAX_STATES`] the answer is "not covered".

use std::collections::HashSet;

use super::glob::is_continuation;
use super::normal::is_within;
use super::pattern::PathPattern;

/// How many states are visited before giving up.
pub(super) const MAX_STATES: usize = 20_000;

/// Tells whether every path that `narrow` admits is admitted by one of `wide`.
pub(super) fn covers(wide: &[PathPattern], narrow: &PathPattern) -> bool {
    let (variable, _) = narrow.parts();
    let wide = || wide.iter().filter(|pattern| pattern.parts().0 == variable);
    // A literal covers by its root alone: any wildcard outside it reaches a name that is not below it.
    let below_literal = |pattern: &PathPattern| {
        pattern.is_literal() && is_within(bytes(narrow.root()), bytes(pattern.root()))
    };
    if variable.is_none() && wide().any(below_literal) {
        return true;
    }
    let mut steps = Vec::new();
    let starts: Vec<usize> = wide().map(|pattern| compile(pattern.parts().1, &mut steps)).collect();
    let wide = Machine { steps, starts };
    wide.includes(&Machine::of(narrow))
}

fn bytes(path: &std::path::Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// One state of a pattern's automaton; the next state is the next step unless said otherwise.
#[derive(Clone, Copy)]
enum Step {
    /// The pattern is used up.
    Accept,
    /// Any number of any bytes, slashes included.
    Anything,
    /// This byte.
    Byte(u8),
    /// The first byte of a character.
    CharacterStart,
    /// Any number of continuation bytes.
    CharacterTail,
    /// Nothing, or a slash and then the next step ([`Step::Anything`]).
    Deep,
    /// Any number of bytes that are not a slash.
    Star,
}

/// Appends the automaton of `text` (empty or `/`, or `/` and components) and returns its first state.
fn compile(text: &str, steps: &mut Vec<Step>) -> usize {
    let start = steps.len();
    let literal = !text.contains(['*', '?']);
    for component in text.split('/').filter(|component| !component.is_empty()) {
        if component == "**" {
            steps.extend([Step::Deep, Step::Anything]);
            continue;
        }
        steps.push(Step::Byte(b'/'));
        for byte in component.bytes() {
            match byte {
                b'*' => steps.push(Step::Star),
                b'?' => steps.extend([Step::CharacterStart, Step::CharacterTail]),
                byte => steps.push(Step::Byte(byte)),
            }
        }
    }
    if literal {
        steps.extend([Step::Deep, Step::Anything]);
    }
    steps.push(Step::Accept);
    start
}

/// The automaton of patterns, of which one must match.
pub(super) struct Machine {
    steps: Vec<Step>,
    starts: Vec<usize>,
}

/// What the name being read looks like so far; only an ordinary one may end.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub(super) enum Name {
    Dot,
    DotDot,
    None,
    Ordinary,
    Started,
}

impl Name {
    pub(super) const fn after(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Self::None | Self::Ordinary, b'/') => Some(Self::Started),
            (_, b'/') | (Self::None, _) => None,
            (Self::Started, b'.') => Some(Self::Dot),
            (Self::Dot, b'.') => Some(Self::DotDot),
            _ => Some(Self::Ordinary),
        }
    }

    pub(super) const fn may_end(self) -> bool {
        matches!(self, Self::None | Self::Ordinary)
    }
}

impl Machine {
    /// Returns the automaton of one pattern, below its variable.
    pub(super) fn of(pattern: &PathPattern) -> Self {
        let mut steps = Vec::new();
        let starts = vec![compile(pattern.parts().1, &mut steps)];
        Self { steps, starts }
    }

    /// Returns the states before the first byte.
    pub(super) fn start(&self) -> Vec<usize> {
        self.settle(self.starts.clone())
    }

    fn includes(&self, narrow: &Self) -> bool {
        let alphabet = alphabet([self, narrow]);
        let mut seen = HashSet::new();
        let mut open = Vec::new();
        let all = self.start();
        for state in narrow.start() {
            open.push((state, all.clone(), Name::None));
        }
        while let Some((state, all, name)) = open.pop() {
            if !seen.insert((state, all.clone(), name)) {
                continue;
            }
            if seen.len() > MAX_STATES {
                return false;
            }
            if narrow.accepts(&[state]) && name.may_end() && !self.accepts(&all) {
                return false;
            }
            for &byte in &alphabet {
                let Some(name) = name.after(byte) else { continue };
                let next = narrow.after(&[state], byte);
                if next.is_empty() {
                    continue;
                }
                let all = self.after(&all, byte);
                open.extend(next.into_iter().map(|state| (state, all.clone(), name)));
            }
        }
        true
    }

    pub(super) fn accepts(&self, states: &[usize]) -> bool {
        states.iter().any(|&state| matches!(self.steps.get(state), Some(Step::Accept)))
    }

    /// Returns the states after one byte, settled.
    pub(super) fn after(&self, states: &[usize], byte: u8) -> Vec<usize> {
        let step = |&state: &usize| {
            let next = match self.steps.get(state)? {
                Step::Accept => return None,
                Step::Anything => state,
                Step::Byte(wanted) => (byte == *wanted).then_some(state + 1)?,
                Step::CharacterStart => (byte != b'/' && !is_continuation(byte)).then_some(state + 1)?,
                Step::CharacterTail => is_continuation(byte).then_some(state)?,
                Step::Deep => (byte == b'/').then_some(state + 1)?,
                Step::Star => (byte != b'/').then_some(state)?,
            };
            Some(next)
        };
        self.settle(states.iter().filter_map(step).collect())
    }

    /// Adds the states that are reached without a byte; sorted, each once.
    fn settle(&self, mut states: Vec<usize>) -> Vec<usize> {
        let mut at = 0;
        while let Some(&state) = states.get(at) {
            let skip = match self.steps.get(state) {
                Some(Step::Anything | Step::CharacterTail | Step::Star) => Some(state + 1),
                Some(Step::Deep) => Some(state + 2),
                Some(Step::Accept | Step::Byte(_) | Step::CharacterStart) | None => None,
            };
            states.extend(skip.filter(|next| !states.contains(next)));
            at += 1;
        }
        states.sort_unstable();
        states.dedup();
        states
    }
}

/// Returns every byte the patterns write, `/`, `.`, and one byte of each kind that they do not write.
pub(super) fn alphabet<'a>(machines: impl IntoIterator<Item = &'a Machine>) -> Vec<u8> {
    let mut written: Vec<u8> = vec![b'.', b'/'];
    let steps = machines.into_iter().flat_map(|machine| &machine.steps);
    written.extend(steps.filter_map(|step| match step {
        Step::Byte(byte) => Some(*byte),
        _ => None,
    }));
    written.sort_unstable();
    written.dedup();
    let unwritten = |byte: &u8| *byte != 0 && written.binary_search(byte).is_err();
    let kinds = [
        (0..=u8::MAX).filter(unwritten).find(|byte| is_continuation(*byte)),
        (0..=u8::MAX).filter(unwritten).find(|byte| !is_continuation(*byte)),
    ];
    written.extend(kinds.into_iter().flatten());
    written
}
