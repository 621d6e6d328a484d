//! Takes the items of one crate into the index, and what its types are made of.

use std::collections::{HashMap, HashSet};

use super::{Entry, Index, Method, Node};
use crate::mir::head::{Found, Head, Inside};
use crate::mir::path::{Path, Type};
use crate::mir::runs::Traits;
use crate::mir::summary::{Block, Summary};

/// How many types one written name may mean and still be taken for them.
const MAX_MEANT: usize = 3;

impl<'a> Index<'a> {
    pub(super) fn add(&mut self, unit: usize, summary: &'a Summary) {
        let mut named: HashMap<&str, Vec<Node>> = HashMap::new();
        let mut orphans = Vec::new();
        for item in &summary.items {
            let node = Node::try_from(self.entries.len()).unwrap_or(Node::MAX);
            let name = summary.text(item.name);
            self.entries.push(Entry { unit, item, name });
            self.children.push(Vec::new());
            match parent(name) {
                // The same name comes more than once where a macro makes several impls: the nearest before is the parent.
                Some(parent) => match named.get(parent).and_then(|nodes| nodes.last()) {
                    Some(parent) => self.adopt(*parent, node),
                    None => orphans.push((parent, node)),
                },
                None => match item.block.and_then(|block| summary.blocks.get(block as usize)) {
                    Some(block) if is_member(name) => self.member(unit, summary, block, node),
                    _ => self.outside(unit, name, node),
                },
            }
            if let Some(Type::Closure(place)) =
                item.inputs.first().map(|word| closure_of(summary.text(*word)))
            {
                self.closures.entry(place).or_default().push(node);
            }
            named.entry(name).or_default().push(node);
        }
        for (parent, node) in orphans {
            for parent in named.get(parent).cloned().unwrap_or_default() {
                self.adopt(parent, node);
            }
        }
        self.contents(unit, summary);
        let always: HashSet<&str> = summary.source.always.iter().map(|word| summary.text(*word)).collect();
        for (name, nodes) in &named {
            let last = name.rsplit("::").next().unwrap_or("");
            if always.contains(last)
                || last.starts_with("__rust_alloc")
                || last.starts_with("__rust_realloc")
                || last.starts_with("__rust_dealloc")
            {
                self.always.extend(nodes);
            }
        }
        for (linked, name) in &summary.source.exported {
            let name = summary.text(*name);
            let nodes = named
                .iter()
                .filter(|(path, _)| path.rsplit("::").next() == Some(name))
                .flat_map(|(_, nodes)| nodes.clone());
            let nodes: Vec<Node> = nodes.collect();
            // The standard library calls the functions of C by name, and then gets this one.
            if crate::catalog::of_foreign(summary.text(*linked)).is_some() {
                self.always.extend(&nodes);
            }
            self.exported.entry(summary.text(*linked)).or_default().extend(nodes);
        }
    }

    fn adopt(&mut self, parent: Node, child: Node) {
        if let Some(children) = self.children.get_mut(parent as usize) {
            children.push(child);
        }
        self.parents.insert(child, parent);
        // A closure of a method is shown with the type of the method.
        if let Some(subject) = self.subjects.get(&parent).copied() {
            self.subjects.insert(child, subject);
        }
    }

    /// Notes an item outside impls.
    fn outside(&mut self, unit: usize, name: &'a str, node: Node) {
        let name = name.replace("r#", "");
        let mut back = name.rsplit("::");
        let last = back.next().unwrap_or("").to_owned();
        let last = self.name(&last);
        if let Some(before) = back.next().filter(|before| !before.is_empty()) {
            let before = self.name(before);
            self.pairs.entry((before, last)).or_default().push(node);
        }
        self.last.entry((unit, last)).or_default().push(node);
        self.plain.entry((unit, name)).or_default().push(node);
    }

    /// Notes an item of an impl.
    fn member(&mut self, unit: usize, summary: &'a Summary, block: &'a Block, node: Node) {
        let Some(entry) = self.entries.get(node as usize).copied() else { return };
        let name = self.name(entry.name.rsplit("::").next().unwrap_or("").trim_start_matches("r#"));
        let heads = self.subject(unit, summary, block, entry);
        let of_text = block.of.map(|word| Path::read(summary.text(word)));
        let inherent = block.known && block.of.is_none();
        let of_tail = of_text.as_ref().map(Path::tail);
        let of = of_tail.map(|tail| self.name(tail));
        let own = |head: &&Head| self.heads.text(**head).starts_with(&format!("{unit}:"));
        if let Some(head) = heads.as_ref().and_then(|heads| heads.iter().find(own).or_else(|| heads.first()))
        {
            self.subjects.insert(node, (*head, of_tail));
        }
        if block.known && block.subject.is_none() {
            // A derive may make methods that belong to no trait.
            for head in heads.iter().flatten() {
                self.inherent.entry((*head, name)).or_default().push(node);
            }
        }
        if inherent {
            for head in heads.unwrap_or_default() {
                self.inherent.entry((head, name)).or_default().push(node);
            }
            return;
        }
        let standard = match of_tail {
            Some(tail) => Traits::one(tail),
            None => Traits::with_method(entry.name.rsplit("::").next().unwrap_or("")),
        };
        let program = of_tail.is_none_or(|tail| {
            self.heads.below.get(unit).is_some_and(|below| {
                below.iter().any(|below| self.traits.get(*below).is_some_and(|traits| traits.contains(tail)))
            })
        }) || standard.is_empty();
        let Some(heads) = heads else {
            self.blanket.entry((of, name)).or_default().push(node);
            return;
        };
        let mut given: Vec<Head> = Vec::new();
        if let Some(of) = &of_text
            && !standard.is_empty()
        {
            for word in of.segments.last().map_or(&[][..], |segment| &segment.args) {
                self.given(unit, module_of(entry.name), word, &mut given);
            }
        }
        let given: std::rc::Rc<[Head]> = given.into();
        let none: std::rc::Rc<[Head]> = std::rc::Rc::from([]);
        for head in heads {
            // What is not of the program can have a trait of std only with a type of the program in the trait's arguments.
            let outside = !self.heads.text(head).starts_with(|c: char| c.is_ascii_digit());
            if outside {
                for head in given.iter() {
                    self.givers.entry(*head).or_default().push(node);
                }
            }
            let given = if outside { std::rc::Rc::clone(&given) } else { std::rc::Rc::clone(&none) };
            self.methods.entry(head).or_default().push(Method { of, standard, program, name, node, given });
            self.by_trait.entry((of, name)).or_default().push((head, node));
            if let Some(of) = of.filter(|_| program) {
                let types = self.with_trait.entry(of).or_default();
                if types.last() != Some(&head) && !types.contains(&head) {
                    types.push(head);
                }
            }
        }
    }

    /// Adds the types of the program in a written type.
    fn given(&mut self, unit: usize, module: &str, ty: &Type<'_>, given: &mut Vec<Head>) {
        match ty {
            Type::Path(path) => {
                let heads = self.heads.written(unit, module, path);
                given.extend(
                    heads
                        .into_iter()
                        .filter(|head| self.heads.text(*head).starts_with(|c: char| c.is_ascii_digit())),
                );
                for ty in path.segments.iter().flat_map(|segment| &segment.args) {
                    self.given(unit, module, ty, given);
                }
            }
            Type::List(inner) | Type::Pointer(inner) | Type::Reference(inner) => {
                self.given(unit, module, inner, given);
            }
            Type::Tuple(items) => items.iter().for_each(|ty| self.given(unit, module, ty, given)),
            _ => {}
        }
    }

    /// Notes what the types of a crate are made of.
    fn contents(&mut self, unit: usize, summary: &'a Summary) {
        for (made, part) in &summary.parts {
            let made = Type::read(summary.text(*made));
            let mut outer = Vec::new();
            let mut given = Vec::new();
            match &made {
                Type::Closure(place) => outer.push(self.heads.head(format!("closure:{place}"))),
                Type::Path(path) if !self.heads.is_standard(unit, path) => {
                    outer.extend(&self.heads.named(unit, path).heads);
                    // The path of a variant is that of its type with one more name.
                    let mut shorter = path.clone();
                    shorter.segments.pop();
                    if !shorter.segments.is_empty() {
                        outer.extend(&self.heads.named(unit, &shorter).heads);
                    }
                    let mut found = Found::default();
                    self.heads.arguments(unit, path, Inside::Mentioned, &mut found);
                    given = found.heads;
                }
                _ => continue,
            }
            let inner = self.heads.inside(unit, &Type::read(summary.text(*part)), Inside::Owned).heads;
            for outer in outer {
                let list = self.parts.entry(outer).or_default();
                for head in &inner {
                    if *head != outer && !given.contains(head) && !list.contains(head) {
                        list.push(*head);
                    }
                }
            }
        }
        for (of, subject) in &summary.source.implemented {
            let (of, Type::Path(subject)) =
                (Path::read(summary.text(*of)), Type::read(summary.text(*subject)).behind().clone())
            else {
                continue;
            };
            let of = self.name(of.tail());
            for head in self.heads.written(unit, "", &subject) {
                let types = self.with_trait.entry(of).or_default();
                if !types.contains(&head) {
                    types.push(head);
                }
            }
        }
        for (subject, found) in &summary.source.associated {
            let (Type::Path(subject), found) =
                (Type::read(summary.text(*subject)).behind().clone(), Type::read(summary.text(*found)))
            else {
                continue;
            };
            let mut values = Vec::new();
            self.given(unit, "", &found, &mut values);
            let subjects = self.heads.written(unit, "", &subject);
            // A name that may mean many types tells nothing of any of them.
            if values.is_empty() || values.len() > MAX_MEANT || subjects.len() > MAX_MEANT {
                continue;
            }
            for head in subjects {
                let list = self.associated.entry(head).or_default();
                list.extend(values.iter().copied());
                list.sort_unstable();
                list.dedup();
            }
        }
    }
}

/// Returns the module that an item of an impl stands in.
fn module_of(name: &str) -> &str {
    name.split("::<impl at").next().filter(|module| !module.starts_with('<')).unwrap_or("")
}

/// Returns the name of the item that a closure, an inner constant or a promoted value belongs to.
fn parent(name: &str) -> Option<&str> {
    let (before, last) = name.rsplit_once("::")?;
    (last.starts_with('{') || last.starts_with("promoted[")).then_some(before)
}

/// Says whether an item stands directly in an impl.
fn is_member(name: &str) -> bool {
    name.rsplit_once("::").is_some_and(|(before, _)| before.ends_with('>'))
}

/// Finds the closure that a first parameter holds.
fn closure_of(text: &str) -> Type<'_> {
    match Type::read(text) {
        Type::Path(path) if path.tail() == "Pin" => path
            .segments
            .last()
            .and_then(|segment| segment.args.first())
            .map_or(Type::Other, |inner| inner.behind().clone()),
        ty => ty.behind().clone(),
    }
}
