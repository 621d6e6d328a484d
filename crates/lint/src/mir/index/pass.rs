//! What crates pass on: the paths that a path may mean because a crate makes something of another its own.

use std::collections::{HashMap, HashSet};

use super::Index;
use crate::mir::runs::Traits;
use crate::mir::summary::Summary;

impl Index<'_> {
    /// Returns the paths that a path of a crate may mean because the crate passes something on, each with the crate it starts in;
    /// those of the standard library start in none.
    fn passed_on(&self, unit: usize, rest: &str) -> Vec<(Option<usize>, String)> {
        let mut found = Vec::new();
        let Some(passed) = self.passed.get(unit) else { return found };
        let names: Vec<&str> = rest.split("::").collect();
        for (at, name) in names.iter().enumerate() {
            let after = |at: usize| {
                names.get(at..).unwrap_or(&[]).iter().fold(String::new(), |text, name| text + "::" + name)
            };
            let named = passed.get(name).into_iter().flatten().map(|path| format!("{path}{}", after(at + 1)));
            // Of everything that std has below a path, only what is known to matter is worth a guess.
            let all = passed.get("*").into_iter().flatten().map(|path| format!("{path}{}", after(at)));
            let all = all.filter(|path| {
                let standard = ["std::", "core::", "alloc::"].iter().any(|root| path.starts_with(root));
                !standard
                    || !crate::catalog::of_path(path).is_empty()
                    || !Traits::one(path.rsplit("::").next().unwrap_or("")).is_empty()
            });
            for path in named.chain(all) {
                let Some((first, below)) = path.split_once("::") else { continue };
                match first {
                    "std" | "core" | "alloc" => found.push((None, path)),
                    "crate" | "self" | "super" => {}
                    _ => found.extend(
                        self.heads.crates(unit, first).iter().map(|unit| (Some(*unit), below.to_owned())),
                    ),
                }
            }
        }
        found
    }

    /// Returns the path of the standard library that a path means, by whatever other path it is reached.
    pub(in crate::mir) fn standard_path(&self, unit: usize, plain: &str) -> Option<String> {
        let (first, rest) = plain.split_once("::")?;
        let mut open: Vec<(usize, String)> =
            self.heads.crates(unit, first).iter().map(|unit| (*unit, rest.to_owned())).collect();
        let mut seen = HashSet::new();
        while let Some((unit, rest)) = open.pop() {
            if !seen.insert((unit, rest.clone())) || seen.len() > 64 {
                continue;
            }
            for (next, path) in self.passed_on(unit, &rest) {
                match next {
                    Some(next) => open.push((next, path)),
                    None => return Some(path),
                }
            }
        }
        None
    }
}

/// Returns for each name that a crate passes something on under what it may stand for.
pub(super) fn passed(summary: &Summary) -> HashMap<&str, Vec<&str>> {
    let mut found: HashMap<&str, Vec<&str>> = HashMap::new();
    for (name, path) in &summary.source.passed {
        let (name, path) = (summary.text(*name), summary.text(*path));
        found.entry(name).or_default().push(path);
        // The compiler prints some under the name they had before.
        if let Some(before) = path.rsplit("::").next().filter(|before| name != "*" && *before != name) {
            found.entry(before).or_default().push(path);
        }
    }
    found
}
