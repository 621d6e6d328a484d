//! What the source says and MIR does not: the headers of impls, the names of foreign functions, assembly outside functions.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::lex::{Kind, Token, tokens};
use super::path::{Type, balanced_end};
use super::summary::{Block, Source, Spot, Words};

/// The files of one crate, read when they are needed.
#[derive(Debug)]
pub(super) struct Files {
    root: PathBuf,
    texts: HashMap<String, Option<String>>,
}

impl Files {
    /// Reads names that are not absolute below `root`.
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.into(), texts: HashMap::new() }
    }

    /// Returns the text of a file, if it can be read.
    fn text(&mut self, file: &str) -> Option<&str> {
        let root = &self.root;
        self.texts
            .entry(file.to_owned())
            .or_insert_with(|| std::fs::read_to_string(root.join(file)).ok())
            .as_deref()
    }

    /// Returns what stands between two places: `src/lib.rs:4:32: 4:65`.
    fn between(&mut self, span: &str) -> Option<&str> {
        let (start, end) = span.rsplit_once(": ")?;
        let (rest, column) = start.rsplit_once(':')?;
        let (file, line) = rest.rsplit_once(':')?;
        let (end_line, end_column) = end.split_once(':')?;
        let text = self.text(file)?;
        let from = offset(text, line.parse().ok()?, column.parse().ok()?)?;
        let to = offset(text, end_line.parse().ok()?, end_column.parse().ok()?)?;
        text.get(from..to)
    }
}

/// Finds a line and column, both from 1, the column in characters.
fn offset(text: &str, line: usize, column: usize) -> Option<usize> {
    let mut start = 0;
    for _ in 1..line {
        start += text.get(start..)?.find('\n')? + 1;
    }
    let rest = text.get(start..)?;
    Some(start + rest.char_indices().nth(column.checked_sub(1)?).map_or(rest.len(), |(at, _)| at))
}

/// Reads the header of the impl at a span.
pub(super) fn block(span: &str, files: &mut Files, words: &mut Words) -> Block {
    files.between(span).and_then(|text| header(text, words)).unwrap_or_default()
}

/// Reads a header, or what stands in a derive: the name of the trait alone.
fn header(text: &str, words: &mut Words) -> Option<Block> {
    let text = text.trim();
    let Some(rest) =
        ["impl", "unsafe impl", "default impl"].iter().find_map(|start| text.strip_prefix(start))
    else {
        let name = text.rsplit("::").next()?.trim();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        return is_name.then(|| Block { known: true, of: Some(words.word(name)), ..Block::default() });
    };
    let mut block = Block { known: true, ..Block::default() };
    let mut rest = rest.trim_start();
    if let Some(inside) = rest.strip_prefix('<') {
        let end = balanced_end(inside, |_| false);
        block.parameters = parameters(inside.get(..end)?).map(|name| words.word(name)).collect();
        rest = inside.get(end + 1..)?.trim_start();
    }
    let head = rest.split(" where ").next()?.trim();
    let (of, subject) = match split_for(head) {
        Some((of, subject)) => (Some(of.trim_start_matches('!').trim()), subject),
        None => (None, head),
    };
    if let Some(of) = of {
        if of.contains('$') {
            block.known = false;
        } else {
            block.of = Some(words.word(of));
        }
    }
    block.subject = (!subject.contains('$')).then(|| words.word(subject.trim()));
    Some(block)
}

fn split_for(text: &str) -> Option<(&str, &str)> {
    let mut from = 0;
    loop {
        let at = from + balanced_end(text.get(from..)?, char::is_whitespace);
        let here = text.get(at..)?;
        if let Some(after) =
            here.trim_start().strip_prefix("for").filter(|after| after.starts_with(char::is_whitespace))
        {
            return Some((text.get(..at)?, after));
        }
        from = at + here.chars().next()?.len_utf8();
    }
}

/// Returns the names of generic parameters.
fn parameters(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while !rest.trim().is_empty() {
            let end = balanced_end(rest, |c| c == ',');
            let one = rest.get(..end).unwrap_or("").trim();
            rest = rest.get(end + 1..).unwrap_or("");
            let name = one.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
            if !one.starts_with('\'') && !name.is_empty() && name != "const" {
                return Some(name);
            }
        }
        None
    })
}

/// Reads what else the files say.
pub(super) fn scan(names: &[String], files: &mut Files, words: &mut Words) -> Source {
    let mut source = Source::default();
    for name in names {
        let Some(text) = files.text(name) else { continue };
        let found = tokens(text);
        let mut scan = Scan { text, name, tokens: &found, source: &mut source, words };
        for at in 0..found.len() {
            scan.look(at);
        }
    }
    for list in [&mut source.traits, &mut source.types] {
        list.sort_unstable();
        list.dedup();
    }
    source
}

struct Scan<'a> {
    text: &'a str,
    name: &'a str,
    tokens: &'a [Token<'a>],
    source: &'a mut Source,
    words: &'a mut Words,
}

impl<'a> Scan<'a> {
    fn word(&self, at: usize) -> Option<&'a str> {
        self.tokens.get(at).filter(|token| token.kind == Kind::Word).map(|token| token.text)
    }

    fn sign(&self, at: usize, sign: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == Kind::Sign && token.text == sign)
    }

    fn look(&mut self, at: usize) {
        let Some(word) = self.word(at) else { return };
        match word {
            "trait" => {
                if let Some(name) = self.word(at + 1) {
                    self.source.traits.push(self.words.word(name));
                }
            }
            "struct" | "enum" | "union" => {
                if let Some(name) = self.word(at + 1) {
                    self.source.types.push(self.words.word(name));
                }
            }
            "link_name" | "export_name" if self.sign(at + 1, "=") => {
                let other = self
                    .tokens
                    .get(at + 2)
                    .filter(|token| token.kind == Kind::String)
                    .map(|token| token.text);
                if let (Some(other), Some(name)) = (other, self.named_after(at)) {
                    let pair = (self.words.word(name), self.words.word(other));
                    if word == "link_name" {
                        self.source.renamed.push(pair);
                    } else {
                        self.source.exported.push((pair.1, pair.0));
                    }
                }
            }
            "use" if at > 0 && self.word(at - 1) == Some("pub") => {
                self.passed(at + 1, String::new());
            }
            "link_section" => {
                let section = self
                    .tokens
                    .get(at + 2)
                    .filter(|token| token.kind == Kind::String)
                    .map_or("", |token| token.text);
                let runs = ["init_array", "fini_array", "preinit_array", "ctors", "dtors", "mod_init_func"]
                    .iter()
                    .any(|name| section.contains(name));
                if let Some(name) = self.named_after(at).filter(|_| runs) {
                    self.source.always.push(self.words.word(name));
                }
            }
            "link" if self.sign(at + 1, "(") && at > 0 && self.sign(at - 1, "[") => self.linked(at),
            "no_mangle" => {
                if let Some(name) = self.named_after(at) {
                    let name = self.words.word(name);
                    self.source.exported.push((name, name));
                }
            }
            "global_asm" if self.sign(at + 1, "!") => {
                let before = self.text.get(..self.tokens.get(at).map_or(0, |token| token.at)).unwrap_or("");
                let line = before.matches('\n').count() + 1;
                let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
                let spot = Spot(
                    self.words.word(self.name),
                    u32::try_from(line).unwrap_or(0),
                    u32::try_from(column).unwrap_or(0),
                );
                self.source.assembly.get_or_insert(spot);
            }
            "impl"
                if at == 0
                    || ["}", ";", "]", "{", ")"].iter().any(|sign| self.sign(at - 1, sign))
                    || matches!(self.word(at - 1), Some("unsafe" | "default")) =>
            {
                self.associated(at);
            }
            _ => {}
        }
    }

    /// Notes the functions of a block that is linked to a library of its own: their names say nothing.
    fn linked(&mut self, at: usize) {
        let end = self.tokens.len().min(at + 24);
        let named = (at..end).find(|at| self.word(*at) == Some("name") && self.sign(at + 1, "="));
        let library = named.and_then(|at| self.tokens.get(at + 2)).map_or("", |token| token.text);
        if matches!(library, "" | "c" | "m" | "pthread" | "dl" | "rt" | "util" | "gcc_s") {
            return;
        }
        let Some(open) = (at..self.tokens.len().min(at + 64)).find(|at| self.sign(*at, "{")) else { return };
        let mut depth = 0_u32;
        for at in open..self.tokens.len() {
            if self.sign(at, "{") {
                depth += 1;
            } else if self.sign(at, "}") {
                depth -= 1;
                if depth == 0 {
                    return;
                }
            } else if matches!(self.word(at), Some("fn" | "static"))
                && let Some(name) = self.word(at + 1)
            {
                let pair = (self.words.word(name), self.words.word(&format!("{library}:{name}")));
                self.source.renamed.push(pair);
            }
        }
    }

    /// Notes what a `pub use` passes on, from the start of one of its trees; returns where the tree ends.
    fn passed(&mut self, mut at: usize, mut path: String) -> usize {
        let mut last = "";
        while let Some(token) = self.tokens.get(at) {
            match (token.kind, token.text) {
                (Kind::Word, "as") => {
                    if let Some(name) = self.word(at + 1) {
                        last = name;
                    }
                    at += 1;
                }
                (Kind::Word, name) => {
                    if !path.is_empty() {
                        path.push_str("::");
                    }
                    path.push_str(name);
                    last = name;
                }
                (Kind::Sign, "*") => last = "*",
                (Kind::Sign, "{") => {
                    at += 1;
                    while at < self.tokens.len() && !self.sign(at, "}") {
                        at = self.passed(at, path.clone());
                        if self.sign(at, ",") {
                            at += 1;
                        } else if !self.sign(at, "}") {
                            return at;
                        }
                    }
                    return at + 1;
                }
                (Kind::Sign, "," | "}" | ";") => break,
                _ => {}
            }
            at += 1;
        }
        if last == "self" {
            path = path.strip_suffix("::self").unwrap_or(&path).to_owned();
            last = path.rsplit("::").next().unwrap_or("");
        }
        if !last.is_empty() {
            let pair = (self.words.word(last), self.words.word(&path));
            self.source.passed.push(pair);
        }
        at
    }

    /// Returns the name of the function or static that an attribute stands before.
    fn named_after(&self, at: usize) -> Option<&'a str> {
        let end = at + 64;
        (at..end).find_map(|at| match self.word(at)? {
            "fn" => self.word(at + 1),
            "static" => self.word(at + 1).filter(|name| *name != "mut").or_else(|| self.word(at + 2)),
            _ => None,
        })
    }

    /// Notes the associated types of an impl.
    fn associated(&mut self, at: usize) {
        let mut depth = 0_u32;
        let mut from = None;
        let mut subject = None;
        for at in at..self.tokens.len() {
            let Some(token) = self.tokens.get(at) else { return };
            match (token.kind, token.text) {
                (Kind::Sign, "{") => {
                    if depth == 0 {
                        let start = self.tokens.get(at).map_or(0, |token| token.at);
                        let head = self.text.get(self.start(at, start)..start).unwrap_or("");
                        subject = split_for(head.split("where").next().unwrap_or(""))
                            .map(|(_, subject)| subject.trim().to_owned());
                        match split_for(head.split("where").next().unwrap_or("")) {
                            Some((of, subject)) => {
                                let pair = (self.words.word(of.trim()), self.words.word(subject.trim()));
                                self.source.implemented.push(pair);
                            }
                            None => return,
                        }
                    }
                    depth += 1;
                }
                (Kind::Sign, "}") => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return;
                    }
                }
                (Kind::Sign, ";") if depth == 0 => return,
                (Kind::Word, "type") if depth == 1 => from = Some(at),
                (Kind::Sign, ";") if depth == 1 => {
                    if let (Some(start), Some(subject)) = (from.take(), &subject)
                        && let Some(text) =
                            self.tokens.get(start).and_then(|start| self.text.get(start.at..token.at))
                        && let Some((_, found)) = text.split_once('=')
                    {
                        let pair = (self.words.word(subject), self.words.word(found.trim()));
                        self.source.associated.push(pair);
                    }
                }
                _ => {}
            }
        }
    }

    /// Finds where the header that ends at a brace starts: behind the generic parameters of its `impl`.
    fn start(&self, at: usize, end: usize) -> usize {
        let begin = (0..at)
            .rev()
            .find(|at| self.word(*at) == Some("impl"))
            .and_then(|at| self.tokens.get(at))
            .map_or(end, |token| token.at + 4);
        let rest = self.text.get(begin..end).unwrap_or("");
        match rest.trim_start().strip_prefix('<') {
            Some(inside) => end - inside.len() + (balanced_end(inside, |_| false) + 1).min(inside.len()),
            None => begin,
        }
    }
}

/// Returns the files that a crate was made from, as the compiler noted them beside the MIR; those of spans if it did not.
pub(super) fn names(mir: &Path, seen: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: BTreeMap<String, ()> =
        seen.filter(|name| !name.starts_with("/rustc/")).map(|name| (name, ())).collect();
    if let Ok(text) = std::fs::read_to_string(mir.with_extension("d")) {
        for line in text.lines() {
            if let Some(name) = line.strip_suffix(':').filter(|name| name.ends_with(".rs")) {
                names.insert(name.replace("\\ ", " "), ());
            }
        }
    }
    names.into_keys().collect()
}

/// Says whether a type of a header is one of its parameters, references left aside.
pub(super) fn is_parameter(subject: &str, parameters: &[&str]) -> bool {
    match Type::read(subject).behind() {
        Type::Path(path) => {
            path.qualified.is_none() && path.segments.len() == 1 && parameters.contains(&path.tail())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_name_trait_and_type() {
        #[rustfmt::skip]
        let cases = [
            ("impl Drop for D",                                   true,  Some("Drop"),           Some("D"),       ""),
            ("impl<'a, T: X<Y>, const N: usize> a::Tr<T> for V<T>", true,  Some("a::Tr<T>"),     Some("V<T>"),    "T"),
            ("unsafe impl<T> Send for T where T: X",              true,  Some("Send"),           Some("T"),       "T"),
            ("impl m::S",                                         true,  None,                   Some("m::S"),    ""),
            ("impl Act for $t",                                   true,  Some("Act"),            None,            ""),
            ("impl $tr for u8",                                   false, None,                   Some("u8"),      ""),
            ("impl<F> Tr for F where F: for<'a> Fn(&'a u8)",      true,  Some("Tr"),             Some("F"),       "F"),
            ("impl<F: Fn(u8) -> u8, G> Tr for (F, G)",            true,  Some("Tr"),             Some("(F, G)"),  "F G"),
            ("impl\n    Tr\n    for X",                           true,  Some("Tr"),             Some("X"),       ""),
            ("serde::Serialize",                                  true,  Some("Serialize"),      None,            ""),
        ];
        for (text, known, of, subject, parameters) in cases {
            let mut words = Words::default();
            let block = header(text, &mut words).unwrap();
            let show = |word: Option<u32>| word.map(|word| words.text(word).to_owned());
            assert_eq!(
                (block.known, show(block.of).as_deref(), show(block.subject).as_deref()),
                (known, of, subject),
                "{text}"
            );
            let names: Vec<&str> = block.parameters.iter().map(|word| words.text(*word)).collect();
            assert_eq!(names.join(" "), parameters, "{text}");
        }
        assert!(header("#[async_trait]", &mut Words::default()).is_none());
    }

    #[test]
    fn the_source_tells_of_names_and_assembly() {
        let text = "
            pub trait T { type A; }
            struct S; // struct No;
            #[link(name = \"other\")] unsafe extern \"C\" { fn strlen(); }
            unsafe extern \"C\" { #[link_name = \"system\"] fn harmless(); }
            #[unsafe(no_mangle)] pub extern \"C\" fn out() {}
            impl<X: T<A = u8>> T for S where X: Y { fn f() { let x = 1; } type A = Vec<S>; }
            core::arch::global_asm!(\"nop\");
            pub use std::{fs::{self, read as innocent}, env::*};
        ";
        let mut files = Files::new(Path::new("."));
        files.texts.insert("a.rs".into(), Some(text.into()));
        let mut words = Words::default();
        let found = scan(&["a.rs".to_owned()], &mut files, &mut words);
        let list = |list: &[u32]| list.iter().map(|word| words.text(*word)).collect::<Vec<_>>().join(" ");
        let pairs = |pairs: &[(u32, u32)]| {
            pairs
                .iter()
                .map(|(a, b)| format!("{}={}", words.text(*a), words.text(*b)))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!((list(&found.traits), list(&found.types)), ("T".into(), "S".into()));
        assert_eq!(pairs(&found.renamed), "strlen=other:strlen harmless=system");
        assert_eq!(pairs(&found.exported), "out=out");
        assert_eq!(pairs(&found.passed), "fs=std::fs innocent=std::fs::read *=std::env");
        assert_eq!(pairs(&found.associated), "S=Vec<S>");
        assert_eq!(found.assembly.map(|spot| spot.1), Some(8));
    }
}
