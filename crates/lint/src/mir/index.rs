//! Every item of every crate, under the names by which others reach it.

use std::collections::{HashMap, HashSet};

use super::Unit;
use super::head::{Head, Heads, Inside};
use super::path::{Path, Type};
use super::runs::Traits;
use super::source::is_parameter;
use super::summary::{Block, Item, Summary};

/// An item of the program, by its number.
pub(super) type Node = u32;

/// A name, by its number.
pub(super) type Name = u32;

/// A trait, absent if it could not be read, and a method.
type Wanted = (Option<Name>, Name);

/// An item with its crate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) unit: usize,
    pub(super) item: &'a Item,
    pub(super) name: &'a str,
}

/// A method or constant in an impl of a trait.
#[derive(Clone, Debug)]
pub(super) struct Method {
    /// The trait; absent if it could not be read, then it may be any.
    pub(super) of: Option<Name>,
    /// Which trait of the standard library it may be.
    pub(super) standard: Traits,
    /// Whether it may be a trait of the program.
    pub(super) program: bool,
    pub(super) name: Name,
    pub(super) node: Node,
    /// For an impl on a type of std: the types of the program in the trait's arguments, one of which must be there for it to be meant.
    given: std::rc::Rc<[Head]>,
}

/// All items.
#[derive(Debug)]
pub(super) struct Index<'a> {
    pub(super) units: &'a [Unit],
    pub(super) summaries: &'a [Summary],
    pub(super) heads: Heads<'a>,
    pub(super) entries: Vec<Entry<'a>>,
    names: HashMap<String, Name>,
    /// Items outside impls: by crate and path, by the last two names, by the last name.
    plain: HashMap<(usize, String), Vec<Node>>,
    pairs: HashMap<(Name, Name), Vec<Node>>,
    last: HashMap<(usize, Name), Vec<Node>>,
    pub(super) inherent: HashMap<(Head, Name), Vec<Node>>,
    pub(super) methods: HashMap<Head, Vec<Method>>,
    by_trait: HashMap<Wanted, Vec<(Head, Node)>>,
    blanket: HashMap<Wanted, Vec<Node>>,
    with_trait: HashMap<Name, Vec<Head>>,
    /// The methods that a type in the arguments of a trait leads to.
    pub(super) givers: HashMap<Head, Vec<Node>>,
    pub(super) closures: HashMap<&'a str, Vec<Node>>,
    pub(super) children: Vec<Vec<Node>>,
    pub(super) parents: HashMap<Node, Node>,
    /// The type and trait of each item in an impl, for its name.
    pub(super) subjects: HashMap<Node, (Head, Option<&'a str>)>,
    pub(super) parts: HashMap<Head, Vec<Head>>,
    pub(super) associated: HashMap<Head, Vec<Head>>,
    pub(super) exported: HashMap<&'a str, Vec<Node>>,
    /// What runs in every program: its allocator, and what the system runs before and after.
    pub(super) always: Vec<Node>,
    traits: Vec<HashSet<&'a str>>,
    passed: Vec<HashMap<&'a str, Vec<&'a str>>>,
}

impl<'a> Index<'a> {
    pub(super) fn new(units: &'a [Unit], summaries: &'a [Summary]) -> Self {
        let mut index = Self {
            units,
            summaries,
            heads: Heads::new(units, summaries),
            entries: Vec::new(),
            names: HashMap::new(),
            plain: HashMap::new(),
            pairs: HashMap::new(),
            last: HashMap::new(),
            inherent: HashMap::new(),
            methods: HashMap::new(),
            by_trait: HashMap::new(),
            blanket: HashMap::new(),
            with_trait: HashMap::new(),
            givers: HashMap::new(),
            closures: HashMap::new(),
            children: Vec::new(),
            parents: HashMap::new(),
            subjects: HashMap::new(),
            parts: HashMap::new(),
            associated: HashMap::new(),
            exported: HashMap::new(),
            always: Vec::new(),
            passed: summaries.iter().map(passed).collect(),
            traits: summaries
                .iter()
                .map(|summary| summary.source.traits.iter().map(|word| summary.text(*word)).collect())
                .collect(),
        };
        for (unit, summary) in summaries.iter().enumerate() {
            index.add(unit, summary);
        }
        index
    }

    fn add(&mut self, unit: usize, summary: &'a Summary) {
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

    /// Says whether a method can be meant by a call with some types.
    pub(super) fn is_given(&self, method: &Method, among: &[Head]) -> bool {
        method.given.is_empty() || method.given.iter().any(|head| among.contains(head))
    }

    /// Finds the type of an impl: `None` if it is a parameter, so that the impl is for every type.
    fn subject(
        &mut self,
        unit: usize,
        summary: &'a Summary,
        block: &'a Block,
        entry: Entry<'a>,
    ) -> Option<Vec<Head>> {
        let receiver = entry
            .item
            .inputs
            .first()
            .filter(|_| entry.item.method)
            .map(|word| Type::read(summary.text(*word)));
        let Some(text) = block.subject.map(|word| summary.text(word)) else {
            return self.made_subject(unit, summary, receiver, entry);
        };
        let parameters: Vec<&str> = block.parameters.iter().map(|word| summary.text(*word)).collect();
        if is_parameter(text, &parameters) {
            return None;
        }
        let written = Type::read(text);
        let Type::Path(path) = written.behind() else {
            return Some(match self.heads.unnamed(written.behind()) {
                Some(head) => vec![head],
                None => self
                    .heads
                    .inside(unit, written.behind(), Inside::Mentioned)
                    .heads
                    .into_iter()
                    .take(1)
                    .collect(),
            });
        };
        // The compiler's own name for the type is better than the one that is written.
        let signature =
            entry.item.inputs.iter().chain([&entry.item.output]).map(|word| Type::read(summary.text(*word)));
        for ty in receiver.into_iter().chain(signature) {
            if let Some(full) = find(&ty, path.tail()) {
                let named = self.heads.named(unit, full);
                if !named.heads.is_empty() {
                    return Some(named.heads.clone());
                }
            }
        }
        let module =
            entry.name.split("::<impl at").next().filter(|module| !module.starts_with('<')).unwrap_or("");
        Some(self.heads.written(unit, module, path))
    }

    /// Finds the type of an impl that a macro or a derive made.
    fn made_subject(
        &mut self,
        unit: usize,
        summary: &'a Summary,
        receiver: Option<Type<'a>>,
        entry: Entry<'a>,
    ) -> Option<Vec<Head>> {
        if let Some(receiver) = receiver {
            let mut ty = receiver.behind().clone();
            while let Type::Path(path) = &ty
                && path.tail() == "Pin"
                && let Some(inner) = path.segments.last().and_then(|segment| segment.args.first())
            {
                ty = inner.behind().clone();
            }
            if let Type::Path(path) = &ty {
                let named = self.heads.named(unit, path);
                if named.parameter {
                    return None;
                }
                let mut heads = named.heads.clone();
                if matches!(path.tail(), "Box" | "Rc" | "Arc")
                    && let Some(Type::Path(inner)) =
                        path.segments.last().and_then(|segment| segment.args.first())
                {
                    heads.extend(&self.heads.named(unit, inner).heads);
                }
                return Some(heads);
            }
            return Some(self.heads.inside(unit, &ty, Inside::Mentioned).heads);
        }
        // Without a receiver it is one of the crate's own types in what it gives or takes; if there is none, it may be any type.
        let own = format!("{unit}:");
        for word in [&entry.item.output].into_iter().chain(&entry.item.inputs) {
            let mut heads =
                self.heads.inside(unit, &Type::read(summary.text(*word)), Inside::Mentioned).heads;
            heads.retain(|head| self.heads.text(*head).starts_with(&own));
            if !heads.is_empty() {
                return Some(heads);
            }
        }
        None
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
                    let mut found = super::head::Found::default();
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

    /// Returns the paths that a path of a crate may mean because the crate passes something on, each with the crate it starts in;
    /// those of the standard library start in none.
    pub(super) fn passed_on(&self, unit: usize, rest: &str) -> Vec<(Option<usize>, String)> {
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
    pub(super) fn standard_path(&self, unit: usize, plain: &str) -> Option<String> {
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

    /// Says whether a crate, or one below those that a path may start in, defines a trait of that name.
    pub(super) fn defines_trait(&self, unit: usize, path: &Path<'_>) -> bool {
        let tail = path.tail();
        let first = path.segments.first().map_or("", |first| first.name);
        let starts = self.heads.crates(unit, first);
        let own = [unit];
        let starts = if path.segments.len() > 1 && !starts.is_empty() { starts } else { &own[..] };
        starts
            .iter()
            .flat_map(|unit| self.heads.below.get(*unit).into_iter().flatten())
            .any(|unit| self.traits.get(*unit).is_some_and(|traits| traits.contains(tail)))
    }

    /// Returns the number of a name.
    pub(super) fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.get(text) {
            return *name;
        }
        let name = Name::try_from(self.names.len()).unwrap_or(Name::MAX);
        self.names.insert(text.to_owned(), name);
        name
    }

    /// Returns the items of a crate with that very path outside impls.
    pub(super) fn exact(&self, unit: usize, path: &str) -> &[Node] {
        self.plain.get(&(unit, path.to_owned())).map_or(&[], |nodes| nodes)
    }

    /// Returns the items of a crate whose last name it is, outside impls.
    pub(super) fn with_last(&self, unit: usize, name: Name) -> &[Node] {
        self.last.get(&(unit, name)).map_or(&[], |nodes| nodes)
    }

    /// Returns what a trait itself says for a method.
    pub(super) fn default_of(&self, of: Name, method: Name) -> &[Node] {
        self.pairs.get(&(of, method)).map_or(&[], |nodes| nodes)
    }

    /// Returns the methods of all types that have a trait, those of impls whose trait could not be read among them.
    pub(super) fn implementors(&self, of: Name, method: Name) -> impl Iterator<Item = (Head, Node)> {
        [Some(of), None]
            .into_iter()
            .flat_map(move |of| self.by_trait.get(&(of, method)).into_iter().flatten().copied())
    }

    /// Returns the types that have a trait.
    pub(super) fn types_with(&self, of: Name) -> Vec<Head> {
        self.with_trait.get(&of).cloned().unwrap_or_default()
    }

    /// Says whether a type is an object of a trait.
    pub(super) fn is_object_of(&mut self, head: Head, of: Name) -> bool {
        self.object(head) == Some(of)
    }

    /// Returns all methods that some types have for a trait.
    pub(super) fn all_methods(&self, heads: &[Head], of: Name) -> Vec<Node> {
        heads
            .iter()
            .filter_map(|head| self.methods.get(head))
            .flatten()
            .filter(|method| method.of == Some(of))
            .map(|method| method.node)
            .collect()
    }

    /// Says whether an item stands in an impl with parameters.
    pub(super) fn is_generic(&self, node: Node) -> bool {
        let Some(entry) = self.entries.get(node as usize) else { return false };
        let block =
            entry.item.block.and_then(|block| self.summaries.get(entry.unit)?.blocks.get(block as usize));
        block.is_some_and(|block| !block.parameters.is_empty() || !block.known)
    }

    /// Returns the methods of impls for every type.
    pub(super) fn for_all(&self, of: Name, method: Name) -> impl Iterator<Item = Node> {
        [Some(of), None]
            .into_iter()
            .flat_map(move |of| self.blanket.get(&(of, method)).into_iter().flatten().copied())
    }
}

fn passed(summary: &Summary) -> HashMap<&str, Vec<&str>> {
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

/// How many types one written name may mean and still be taken for them.
const MAX_MEANT: usize = 3;

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

/// Finds a type with that last name in a type.
fn find<'p, 'a>(ty: &'p Type<'a>, tail: &str) -> Option<&'p Path<'a>> {
    match ty {
        Type::Path(path) if path.tail() == tail && !super::head::is_projection(path) => Some(path),
        Type::Path(path) => {
            path.segments.iter().flat_map(|segment| &segment.args).find_map(|ty| find(ty, tail))
        }
        Type::List(inner) | Type::Pointer(inner) | Type::Reference(inner) => find(inner, tail),
        Type::Tuple(items) => items.iter().find_map(|ty| find(ty, tail)),
        _ => None,
    }
}
