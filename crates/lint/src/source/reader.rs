//! Reading one library or program: its files, its modules and what conditions leave of them.
//!
//! INVARIANT: what could not be read is a gap of its module and an `unanalyzed` of its package, never nothing.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::Attribute;
use syn::parse::discouraged::Speculative;
use syn::parse::{ParseStream, Parser};

use super::condition::{Conditions, Truth};
use super::model::{Item, Module, Spot, Unit};
use crate::{Effect, Project, SourcePackage, Target};

/// How large a source file may be.
const MAX_FILE: u64 = 32 << 20;
/// How deep brackets may be nested.
const MAX_NESTING: usize = 256;
/// How many tokens may follow each other without a comma, a semicolon or braces.
const MAX_STRETCH: usize = 20_000;
/// How many files a unit may have.
const MAX_FILES: usize = 20_000;

/// Reads one unit.
pub(crate) struct Reader<'p> {
    pub(crate) project: &'p Project,
    pub(crate) package: &'p SourcePackage,
    pub(crate) unit: Unit,
    conditions: Conditions<'p>,
    file: u32,
    /// The condition that a macro puts on the items it is given.
    pub(crate) gates: HashMap<String, Truth>,
    /// The macros that define functions by names they are given.
    pub(crate) makers: HashSet<String>,
    /// The folder of the file, and the folder that modules without a path of their own are in.
    pub(crate) folders: (PathBuf, PathBuf),
    pub(crate) is_inline: bool,
}

/// Reads a unit of a package.
pub(crate) fn read(project: &Project, package: usize, target: &Target) -> Unit {
    let unit = Unit {
        package,
        name: target.name.clone(),
        kind: target.kind,
        edition: target.edition,
        files: Vec::new(),
        modules: vec![Module::default()],
        functions: Vec::new(),
        types: Vec::new(),
        traits: Vec::new(),
        implementations: Vec::new(),
        foreign: Vec::new(),
        holds: Vec::new(),
    };
    let Some(of) = project.packages.get(package) else { return unit };
    let mut reader = Reader {
        project,
        package: of,
        unit,
        conditions: Conditions::new(&project.cfg, of),
        file: 0,
        gates: HashMap::new(),
        makers: HashSet::new(),
        folders: (PathBuf::new(), PathBuf::new()),
        is_inline: false,
    };
    let folder = target.source.parent().map(Path::to_path_buf).unwrap_or_default();
    reader.file(0, &target.source, folder);
    proc_macro2::extra::invalidate_current_thread_spans();
    reader.unit
}

impl Reader<'_> {
    /// Reads a file into a module whose children are in `children`.
    pub(crate) fn file(&mut self, module: usize, path: &Path, children: PathBuf) {
        let number = u32::try_from(self.unit.files.len()).unwrap_or(u32::MAX);
        self.unit.files.push(self.project.display(self.package, path));
        let before = std::mem::replace(&mut self.file, number);
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let folders = std::mem::replace(&mut self.folders, (folder, children));
        let is_inline = std::mem::replace(&mut self.is_inline, false);
        match self.parsed(path) {
            Ok((file, _)) if self.is_out(&file.attrs) => {}
            Ok((file, rest)) => {
                file.items.iter().for_each(|item| self.item(module, item));
                for tokens in rest {
                    let start =
                        tokens.clone().into_iter().next().map_or_else(Span::call_site, |token| token.span());
                    self.gap(module, "an item that is not understood", self.spot(start));
                    self.loose(module, tokens);
                }
            }
            Err(reason) => self.gap(module, &reason, Spot { file: number, line: 1, column: 1 }),
        }
        self.is_inline = is_inline;
        self.folders = folders;
        self.file = before;
    }

    /// Reads a file, and what of it reads as no item.
    fn parsed(&self, path: &Path) -> Result<(syn::File, Vec<TokenStream>), String> {
        if self.unit.files.len() > MAX_FILES {
            return Err(format!("more than {MAX_FILES} files"));
        }
        let size = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
        if size > MAX_FILE {
            return Err(format!("larger than {MAX_FILE} bytes"));
        }
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let is_script =
            text.starts_with("#!") && !text.trim_start_matches("#!").trim_start().starts_with('[');
        let start = if is_script { text.find('\n').unwrap_or(text.len()) } else { 0 };
        let said = |line: usize, error: &dyn std::fmt::Display| format!("line {line}: {error}");
        let tokens: TokenStream = text
            .get(start..)
            .unwrap_or_default()
            .parse()
            .map_err(|error: proc_macro2::LexError| said(error.span().start().line, &error))?;
        if let Some(reason) = excess(&tokens) {
            return Err(reason);
        }
        if let Ok(file) = syn::parse2(tokens.clone()) {
            return Ok((file, Vec::new()));
        }
        Parser::parse2(piecewise, tokens).map_err(|error| said(error.span().start().line, &error))
    }

    /// Says whether a condition certainly leaves something out.
    pub(crate) fn is_out(&self, attributes: &[Attribute]) -> bool {
        self.conditions.holds(attributes) == Truth::No
    }

    pub(crate) fn conditions(&self) -> Conditions<'_> {
        self.conditions
    }

    pub(crate) fn spot(&self, span: Span) -> Spot {
        let start = span.start();
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Spot { file: self.file, line: number(start.line), column: number(start.column + 1) }
    }

    /// Adds a module and returns its number.
    pub(crate) fn module(&mut self, parent: usize, name: String, is_body: bool) -> usize {
        self.unit.modules.push(Module { name, parent: Some(parent), is_body, ..Module::default() });
        self.unit.modules.len() - 1
    }

    pub(crate) fn define(&mut self, module: usize, name: &str, item: Item) {
        if let Some(module) = self.unit.modules.get_mut(module) {
            module.items.push((name.to_owned(), item));
        }
    }

    /// Notes that something of a module was not read.
    pub(crate) fn gap(&mut self, module: usize, reason: &str, spot: Spot) {
        if let Some(module) = self.unit.modules.get_mut(module) {
            module.gap = Some(reason.to_owned());
        }
        self.unit.holds.push((Effect::Unanalyzed, reason.to_owned(), spot));
    }

    /// Reads tokens as items, `static ref` and a missing last semicolon included.
    pub(crate) fn items(tokens: &TokenStream) -> Option<Vec<syn::Item>> {
        if let Ok(file) = syn::parse2::<syn::File>(tokens.clone()) {
            return Some(file.items);
        }
        let mut plain: Vec<proc_macro2::TokenTree> = Vec::new();
        for token in tokens.clone() {
            let is_ref = matches!(&token, proc_macro2::TokenTree::Ident(name) if name == "ref");
            let after_static =
                matches!(plain.last(), Some(proc_macro2::TokenTree::Ident(name)) if name == "static");
            if !(is_ref && after_static) {
                plain.push(token);
            }
        }
        let ended =
            matches!(plain.last(), Some(proc_macro2::TokenTree::Punct(mark)) if mark.as_char() == ';');
        if !ended {
            plain.push(proc_macro2::Punct::new(';', proc_macro2::Spacing::Alone).into());
        }
        syn::parse2::<syn::File>(plain.into_iter().collect()).ok().map(|file| file.items)
    }
}

/// Says why tokens are too much for a parser that recurses.
fn excess(tokens: &TokenStream) -> Option<String> {
    let mut open = vec![(tokens.clone().into_iter(), 0_usize)];
    while let Some((inner, stretch)) = open.last_mut() {
        let Some(token) = inner.next() else {
            open.pop();
            continue;
        };
        *stretch += 1;
        let is_end = match &token {
            TokenTree::Punct(mark) => matches!(mark.as_char(), ';' | ','),
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        if is_end {
            *stretch = 0;
        }
        if *stretch > MAX_STRETCH {
            return Some(format!("more than {MAX_STRETCH} tokens without an end"));
        }
        if let TokenTree::Group(group) = token {
            open.push((group.stream().into_iter(), 0));
        }
        if open.len() > MAX_NESTING {
            return Some(format!("nested deeper than {MAX_NESTING} levels"));
        }
    }
    None
}

/// Reads items one by one, and sets aside the tokens of those that are not understood, each up to its semicolon or braces.
fn piecewise(input: ParseStream<'_>) -> syn::Result<(syn::File, Vec<TokenStream>)> {
    let attrs = input.call(Attribute::parse_inner)?;
    let mut items = Vec::new();
    let mut rest = Vec::new();
    while !input.is_empty() {
        let ahead = input.fork();
        if let Ok(item) = ahead.parse::<syn::Item>() {
            input.advance_to(&ahead);
            items.push(item);
            continue;
        }
        let mut tokens = Vec::new();
        while !input.is_empty() {
            let token: TokenTree = input.parse()?;
            let is_end = match &token {
                TokenTree::Punct(mark) => mark.as_char() == ';',
                TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                _ => false,
            };
            tokens.push(token);
            if is_end {
                break;
            }
        }
        rest.push(tokens.into_iter().collect());
    }
    Ok((syn::File { shebang: None, frontmatter: None, attrs, items }, rest))
}
