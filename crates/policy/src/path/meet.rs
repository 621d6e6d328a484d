//! Whether paths that two patterns admit together are covered: exact inclusion of intersections.
//!
//! Globs are not closed under intersection, so a grant keeps both sides. To compare grants, both automata are walked at once
//! beside those that may cover them.
//!
//! INVARIANT: as in [`cover`](super::cover): "covered" is proven, and beyond a number of states the answer is "not covered".

use std::collections::HashSet;

use super::cover::{MAX_STATES, Machine, Name, alphabet};
use super::pattern::PathPattern;

/// The paths that each of its patterns admits; one or two.
pub(crate) type Meet = Vec<PathPattern>;

/// Tells whether every path of `narrow` is one of some `wide`.
///
/// Where the patterns of a meet start with different variables, nobody knows what lies in both: such a meet is covered by
/// itself and by what covers one of its sides.
pub(crate) fn covers_meet(wide: &[Meet], narrow: &Meet) -> bool {
    if wide.contains(narrow) {
        return true;
    }
    let Some(variable) = narrow.first().map(|pattern| pattern.parts().0) else { return false };
    let is_alike = |meet: &&Meet| meet.iter().all(|pattern| pattern.parts().0 == variable);
    if !is_alike(&narrow) {
        let side_of = |own: &PathPattern| narrow.iter().any(|side| own.covers(side));
        let alone = |side: &PathPattern| covers_meet(wide, &vec![side.clone()]);
        return wide.iter().any(|meet| meet.iter().all(side_of)) || narrow.iter().any(alone);
    }
    let machines = |meet: &Meet| meet.iter().map(Machine::of).collect::<Vec<_>>();
    let wide: Vec<Vec<Machine>> = wide.iter().filter(is_alike).map(machines).collect();
    includes(&wide, &machines(narrow))
}

/// Tells whether no path is in both patterns. What starts with different variables may be anywhere.
pub(crate) fn are_disjoint(one: &PathPattern, other: &PathPattern) -> bool {
    are_comparable(one, other) && covers_meet(&[], &vec![one.clone(), other.clone()])
}

/// Tells whether two patterns start with the same variable, or both with none, so that they can be compared.
pub(crate) fn are_comparable(one: &PathPattern, other: &PathPattern) -> bool {
    one.parts().0 == other.parts().0
}

/// The states of each machine of each meet.
type States = Vec<Vec<Vec<usize>>>;

fn includes(wide: &[Vec<Machine>], narrow: &[Machine]) -> bool {
    let everything: Vec<&[Machine]> = std::iter::once(narrow).chain(wide.iter().map(Vec::as_slice)).collect();
    let alphabet = alphabet(everything.iter().copied().flatten());
    let start: States = everything.iter().map(|meet| meet.iter().map(Machine::start).collect()).collect();
    let mut seen = HashSet::new();
    let mut open = vec![(start, Name::None)];
    while let Some((states, name)) = open.pop() {
        if !seen.insert((states.clone(), name)) {
            continue;
        }
        if seen.len() > MAX_STATES {
            return false;
        }
        let mut accepted = everything
            .iter()
            .zip(&states)
            .map(|(meet, states)| meet.iter().zip(states).all(|(machine, states)| machine.accepts(states)));
        if accepted.next() == Some(true) && name.may_end() && !accepted.any(|accepts| accepts) {
            return false;
        }
        for &byte in &alphabet {
            let Some(name) = name.after(byte) else { continue };
            let next: States = everything
                .iter()
                .zip(&states)
                .map(|(meet, states)| {
                    meet.iter().zip(states).map(|(machine, states)| machine.after(states, byte)).collect()
                })
                .collect();
            // Where one side has given up, nothing is in both any more.
            if next.first().is_some_and(|own| own.iter().all(|states| !states.is_empty())) {
                open.push((next, name));
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meet(text: &str) -> Meet {
        text.split(" & ").map(|pattern| pattern.parse().unwrap()).collect()
    }

    #[test]
    fn covers_what_is_in_both() {
        #[rustfmt::skip]
        let cases: &[(&[&str], &str, bool)] = &[
            // wide                            narrow                          covered
            (&["/a"],                          "/a/b & /a",                    true),
            (&["/a/b"],                        "/a & /a/b",                    true),
            (&["/a/b"],                        "/a/*.md & /a/b*",              false),
            (&["/a/b*.md"],                    "/a/*.md & /a/b*",              true),
            (&["/a/*.md & /a/b*"],             "/a/b*.md",                     true),
            (&["/a/*.md & /a/b*"],             "/a/*.md",                      false),
            (&["/a/*.md & /a/b*", "/a/*.md"],  "/a/*.md",                      true),
            (&[],                              "/a & /b",                      true),
            (&[],                              "/a/*.md & /a/*.rs",            true),
            (&[],                              "/a/* & /a/b",                  false),
            (&["${workspace}"],                "${workspace}/a & ${workspace}", true),
            (&["${workspace}"],                "${workspace}/a & /srv",        true),
            (&["/srv & ${workspace}"],         "/srv/x & ${workspace}/y",      true),
            (&["/srv/x & ${workspace}"],       "/srv & ${workspace}",          false),
            (&["/srv"],                        "${workspace}",                 false),
        ];
        for (wide, narrow, covered) in cases {
            let set: Vec<Meet> = wide.iter().map(|text| meet(text)).collect();
            assert_eq!(covers_meet(&set, &meet(narrow)), *covered, "{wide:?} ⊇ {narrow}");
        }
    }

    #[test]
    fn what_cannot_be_known_is_not_disjoint() {
        let cases = [("/a", "/b", true), ("/a", "/a/b", false), ("/a", "~", false), ("~/a", "~/b", true)];
        for (one, other, disjoint) in cases {
            let found = are_disjoint(&one.parse().unwrap(), &other.parse().unwrap());
            assert_eq!(found, disjoint, "{one} {other}");
        }
    }
}
