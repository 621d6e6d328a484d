//! Macros: what is in their tokens, without expanding them.
//!
//! Tokens that read as expressions, statements or items are read as such. Other tokens are scanned: every path in them, every
//! name before parentheses and every method name counts as used.

use std::sync::Arc;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Expr, Token};

use super::body::BodyReader;
use super::form;
use super::model::{Manner, Mention, Route, Value};
use crate::Effect;

/// Macros that write nothing as text.
const SILENT: &[&str] = &["matches", "vec"];

/// Macros that expand to nothing that runs.
const INERT: &[&str] = &[
    "cfg",
    "column",
    "compile_error",
    "concat",
    "env",
    "file",
    "include_bytes",
    "include_str",
    "line",
    "module_path",
    "option_env",
    "stringify",
];

impl BodyReader<'_, '_> {
    /// Reads the use of a macro inside a body.
    pub(crate) fn invocation(&mut self, one: &syn::Macro) {
        let route = form::route(&one.path);
        let name = route.last().to_owned();
        let spot = self.spot(one.path.segments.last().map_or_else(Span::call_site, |last| last.ident.span()));
        if matches!(name.as_str(), "asm" | "global_asm" | "naked_asm") {
            self.direct(Effect::Asm, format!("{name}!"), spot);
        }
        if name == "include" {
            self.direct(Effect::Unanalyzed, "include!".to_owned(), spot);
            return;
        }
        if INERT.contains(&name.as_str()) {
            return;
        }
        let names = names(&one.tokens);
        self.mention(Mention::Macro { route, names, spot });
        if let Ok(parts) = Parser::parse2(expressions, one.tokens.clone()) {
            parts.iter().for_each(|expression| self.visit_expr(expression));
            if !SILENT.contains(&name.as_str()) {
                parts.iter().for_each(|part| self.shown(part));
            }
        } else if let Ok(statements) = Parser::parse2(syn::Block::parse_within, one.tokens.clone()) {
            let block = syn::Block { brace_token: syn::token::Brace::default(), stmts: statements };
            self.visit_block(&block);
        } else {
            self.tokens(one.tokens.clone());
        }
    }

    /// Notes that a value may be written as text, and the variables that a text names in braces.
    fn shown(&mut self, part: &Expr) {
        let value = self.value(part, 0);
        self.runs(value, &["fmt"], part.span());
        if let Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = part {
            let text_value = text.value();
            for piece in text_value.split('{').skip(1) {
                let name: String =
                    piece.chars().take_while(|one| one.is_alphanumeric() || *one == '_').collect();
                match self.local(&name) {
                    Some(number) => self.runs(Value::Local(number), &["fmt"], text.span()),
                    None if name.starts_with(|first: char| first.is_alphabetic()) => {
                        let route = Route { segments: vec![name], ..Route::default() };
                        let (arguments, spot) = (Arc::from([]), self.spot(text.span()));
                        self.mention(Mention::Route { route, arguments, spot, manner: Manner::Passed });
                    }
                    None => {}
                }
            }
        }
    }

    /// Scans tokens that read as nothing in particular.
    pub(crate) fn tokens(&mut self, tokens: TokenStream) {
        for found in scan(tokens) {
            match found {
                Found::Method(name, span) => {
                    let spot = self.spot(span);
                    let arguments = Arc::from([]);
                    self.mention(Mention::Method { receiver: Value::Unknown, name, arguments, spot });
                }
                Found::Macro(route, span) => {
                    let spot = self.spot(span);
                    if matches!(route.last(), "asm" | "global_asm" | "naked_asm") {
                        self.direct(Effect::Asm, format!("{}!", route.last()), spot);
                    }
                    self.mention(Mention::Macro { route, names: Vec::new(), spot });
                }
                Found::Prefix(route) => self.body.prefixes.push(route),
                Found::Route { route, span, called } => {
                    let is_variable =
                        matches!(route.segments.as_slice(), [name] if self.local(name).is_some());
                    if !is_variable {
                        let spot = self.spot(span);
                        let manner = if called { Manner::Called } else { Manner::Scanned };
                        self.mention(Mention::Route { route, arguments: Arc::from([]), spot, manner });
                    }
                }
            }
        }
    }
}

/// Reads `a, b, name = c; d`, as the macros that format, assert and collect take it.
fn expressions(input: ParseStream<'_>) -> syn::Result<Vec<Expr>> {
    let mut found = Vec::new();
    while !input.is_empty() {
        if input.peek(syn::Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]) {
            input.parse::<syn::Ident>()?;
            input.parse::<Token![=]>()?;
        }
        found.push(input.parse::<Expr>()?);
        if input.is_empty() {
            break;
        }
        if input.peek(Token![;]) {
            input.parse::<Token![;]>()?;
        } else {
            input.parse::<Token![,]>()?;
            // What follows the comma of `matches!(value, pattern)` may read as no expression.
            if found.len() == 1 && input.fork().parse::<Expr>().is_err() {
                syn::Pat::parse_multi_with_leading_vert(input)?;
                if input.peek(Token![if]) {
                    input.parse::<Token![if]>()?;
                }
            }
        }
    }
    Ok(found)
}

/// What a scan finds.
pub(crate) enum Found {
    Macro(Route, Span),
    Method(String, Span),
    /// A path that goes on with a variable of the macro.
    Prefix(Route),
    Route {
        route: Route,
        span: Span,
        called: bool,
    },
}

const KEYWORDS: &[&str] = &[
    "as", "async", "await", "break", "const", "continue", "dyn", "else", "enum", "extern", "false", "fn",
    "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return",
    "static", "struct", "trait", "true", "type", "union", "unsafe", "use", "where", "while", "yield",
];

/// Scans tokens for paths, macros and methods, groups included.
pub(crate) fn scan(tokens: TokenStream) -> Vec<Found> {
    let mut found = Vec::new();
    let mut open = vec![tokens];
    while let Some(tokens) = open.pop() {
        let mut tokens = tokens.into_iter().peekable();
        let mut before = ' ';
        let mut fresh = true;
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(group) => {
                    open.push(group.stream());
                    before = ' ';
                    fresh = true;
                }
                TokenTree::Punct(mark) => {
                    before = mark.as_char();
                    fresh = true;
                }
                TokenTree::Literal(_) => before = ' ',
                TokenTree::Ident(name) => {
                    let first = name.to_string();
                    let first = first.strip_prefix("r#").unwrap_or(&first).to_owned();
                    let is_keyword = KEYWORDS.contains(&first.as_str());
                    if is_keyword || !fresh {
                        before = ' ';
                        fresh = true;
                        continue;
                    }
                    let is_method = before == '.';
                    let is_crate = before == '$' && first == "crate";
                    let mut segments = vec![if is_crate { "$crate".to_owned() } else { first }];
                    let mut span = name.span();
                    continue_path(&mut tokens, &mut segments, &mut span);
                    let mut route = Route { segments, ..Route::default() };
                    if before == '$' && !is_crate {
                        // A variable of the macro: what it stands for is in the tokens that are given.
                        if route.segments.len() == 1 {
                            before = ' ';
                            continue;
                        }
                        route.segments.remove(0);
                    }
                    before = ' ';
                    if is_open(&tokens) {
                        found.push(Found::Prefix(route));
                        continue;
                    }
                    match tokens.peek() {
                        Some(TokenTree::Punct(mark)) if mark.as_char() == '!' && !is_method => {
                            found.push(Found::Macro(route, span));
                        }
                        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
                            found.push(match is_method {
                                true => Found::Method(route.last().to_owned(), span),
                                false => Found::Route { route, span, called: true },
                            });
                        }
                        _ if route.segments.len() > 1 => {
                            found.push(Found::Route { route, span, called: false });
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    found
}

/// Says whether `::$` follows.
fn is_open(tokens: &std::iter::Peekable<proc_macro2::token_stream::IntoIter>) -> bool {
    let marks: String = tokens
        .clone()
        .take(3)
        .map_while(|token| match token {
            TokenTree::Punct(mark) => Some(mark.as_char()),
            _ => None,
        })
        .collect();
    marks == "::$"
}

/// Returns the first names in tokens, which a macro may end a path with.
fn names(tokens: &TokenStream) -> Vec<String> {
    let idents = tokens.clone().into_iter().take(16).filter_map(|token| match token {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        _ => None,
    });
    idents.filter(|name| !KEYWORDS.contains(&name.as_str())).take(4).collect()
}

/// Takes the `::name` that follow, generic arguments between them left out.
fn continue_path(
    tokens: &mut std::iter::Peekable<proc_macro2::token_stream::IntoIter>,
    segments: &mut Vec<String>,
    span: &mut Span,
) {
    loop {
        let mut ahead = tokens.clone();
        let colon =
            |token: Option<TokenTree>| matches!(token, Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
        if !colon(ahead.next()) || !colon(ahead.next()) {
            return;
        }
        match ahead.next() {
            Some(TokenTree::Ident(name)) => {
                segments.push(name.to_string().trim_start_matches("r#").to_owned());
                *span = name.span();
            }
            Some(TokenTree::Punct(mark)) if mark.as_char() == '<' => {
                let mut depth = 1_usize;
                while depth > 0 {
                    match ahead.next() {
                        Some(TokenTree::Punct(mark)) if mark.as_char() == '<' => depth += 1,
                        Some(TokenTree::Punct(mark)) if mark.as_char() == '>' => depth -= 1,
                        Some(_) => {}
                        None => return,
                    }
                }
            }
            _ => return,
        }
        *tokens = ahead;
    }
}

/// Returns the names after `fn` anywhere in tokens, with the tokens of the body that follows.
pub(crate) fn functions(tokens: TokenStream) -> Vec<(proc_macro2::Ident, TokenStream)> {
    let mut found = Vec::new();
    let mut open = vec![tokens];
    while let Some(tokens) = open.pop() {
        let mut name = None;
        let mut is_next = false;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if is_next => {
                    name = Some(ident);
                    is_next = false;
                }
                TokenTree::Ident(ident) => is_next = ident == "fn",
                TokenTree::Group(group) => {
                    if group.delimiter() == Delimiter::Brace
                        && let Some(name) = name.take()
                    {
                        found.push((name, group.stream()));
                    }
                    open.push(group.stream());
                    is_next = false;
                }
                TokenTree::Punct(mark) => {
                    if mark.as_char() == ';' {
                        name = None;
                    }
                    is_next = false;
                }
                TokenTree::Literal(_) => is_next = false,
            }
        }
    }
    found
}

/// Says whether a macro defines functions by names that it is given: `fn $name`.
pub(crate) fn makes_functions(tokens: &TokenStream) -> bool {
    let mut open = vec![tokens.clone()];
    while let Some(tokens) = open.pop() {
        let mut is_next = false;
        for token in tokens {
            match token {
                TokenTree::Punct(mark) if mark.as_char() == '$' && is_next => return true,
                TokenTree::Ident(ident) => is_next = ident == "fn",
                TokenTree::Group(group) => {
                    open.push(group.stream());
                    is_next = false;
                }
                _ => is_next = false,
            }
        }
    }
    false
}
