//! Macros among items: conditions, included files, and macros that are not expanded but read for what is in them.
//!
//! INVARIANT: items that are given to a macro are left out only when the macro does nothing but put a false condition on them.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::Token;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;

use super::body::BodyReader;
use super::condition::Truth;
use super::model::{Body, Form, Function, Item, Owner, Sort};
use super::reader::Reader;
use super::token;
use crate::Effect;

impl Reader<'_> {
    /// Reads the use or the definition of a macro among items.
    pub(super) fn item_macro(&mut self, module: usize, one: &syn::ItemMacro) {
        let name = one.mac.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        match (name.as_str(), &one.ident) {
            ("macro_rules", Some(ident)) => self.macro_rules(module, ident, &one.mac.tokens),
            ("cfg_if", None) => {
                let parts = (|input: ParseStream<'_>| self.branches(input)).parse2(one.mac.tokens.clone());
                match parts {
                    Ok(items) => items.iter().for_each(|item| self.item(module, item)),
                    Err(_) => self.loose(module, one.mac.tokens.clone()),
                }
            }
            ("include", None) => self.include(module, one),
            ("global_asm", None) => {
                let spot = self.spot(one.mac.path.span());
                self.unit.holds.push((Effect::Asm, "global_asm!".to_owned(), spot));
            }
            ("compile_error", None) => {}
            (name, _) if self.gates.get(name) == Some(&Truth::No) => {}
            _ => match Self::items(&one.mac.tokens) {
                Some(items) if !items.is_empty() => items.iter().for_each(|item| self.item(module, item)),
                _ => {
                    self.loose(module, one.mac.tokens.clone());
                    if self.makers.contains(name.as_str()) {
                        self.made(module, &one.mac);
                    }
                }
            },
        }
    }

    fn include(&mut self, module: usize, one: &syn::ItemMacro) {
        let spot = self.spot(one.mac.path.span());
        match syn::parse2::<syn::LitStr>(one.mac.tokens.clone()) {
            Ok(path) => {
                let file = self.folders.0.join(path.value());
                let children = self.folders.1.clone();
                self.file(module, &file, children);
            }
            Err(_) => {
                self.gap(module, "includes a file that the build makes", spot);
                if self.package.links.is_some() {
                    self.unit.holds.push((Effect::NativeAddon, "extern".to_owned(), spot));
                }
            }
        }
    }

    /// Returns the items of the branches of `cfg_if!` that may hold.
    fn branches(&self, input: ParseStream<'_>) -> syn::Result<Vec<syn::Item>> {
        let mut found = Vec::new();
        let mut is_open = true;
        while !input.is_empty() {
            let mut truth = Truth::Yes;
            if input.peek(Token![if]) {
                input.parse::<Token![if]>()?;
                truth = self.conditions().holds(&syn::Attribute::parse_outer(input)?);
            }
            let block;
            syn::braced!(block in input);
            let items: TokenStream = block.parse()?;
            if is_open && truth != Truth::No {
                found.extend(syn::parse2::<syn::File>(items)?.items);
                is_open = truth == Truth::Maybe;
            }
            if input.peek(Token![else]) {
                input.parse::<Token![else]>()?;
            }
        }
        Ok(found)
    }

    fn macro_rules(&mut self, module: usize, ident: &syn::Ident, tokens: &TokenStream) {
        let name = ident.unraw().to_string();
        let number =
            self.scanned(module, name.clone(), Sort::Macro, ident.span(), Owner::Module, tokens.clone());
        self.define(module, &name, Item::Macro(number));
        let truth = gate(tokens).map_or(Truth::Yes, |attributes| self.conditions().holds(&attributes));
        if token::makes_functions(tokens) {
            self.makers.insert(name.clone());
        }
        self.gates.insert(name, truth);
    }

    /// Adds something whose tokens are only scanned.
    pub(super) fn scanned(
        &mut self,
        module: usize,
        name: String,
        sort: Sort,
        span: proc_macro2::Span,
        owner: Owner,
        tokens: TokenStream,
    ) -> usize {
        let spot = self.spot(span);
        let number = self.reserve(Function {
            name,
            sort,
            module,
            owner,
            generics: Vec::new(),
            output: Form::Unknown,
            is_method: owner != Owner::Module,
            has_body: true,
            body: Body::default(),
        });
        let mut reader = BodyReader::new(self, module, spot, "");
        reader.tokens(tokens);
        let (module, body) = (reader.module, reader.body);
        self.finish(number, module, body);
        number
    }

    /// Reads tokens that are no items: every `fn` in them is one, and does what its tokens name.
    pub(super) fn loose(&mut self, module: usize, tokens: TokenStream) {
        for (ident, body) in token::functions(tokens) {
            let name = ident.unraw().to_string();
            let number =
                self.scanned(module, name.clone(), Sort::Function, ident.span(), Owner::Module, body);
            self.define(module, &name, Item::Function(number));
        }
    }

    pub(super) fn loose_methods(&mut self, module: usize, implementation: usize, tokens: TokenStream) {
        for (ident, body) in token::functions(tokens) {
            let owner = Owner::Implementation(implementation);
            let number =
                self.scanned(module, ident.unraw().to_string(), Sort::Function, ident.span(), owner, body);
            if let Some(known) = self.unit.implementations.get_mut(implementation) {
                known.functions.push(number);
            }
        }
    }

    /// Makes every name that is given to a macro a function that does what the macro does, for macros that define functions.
    fn made(&mut self, module: usize, one: &syn::Macro) {
        let mut after_colon = false;
        let mut tokens = one.tokens.clone().into_iter().peekable();
        while let Some(token) = tokens.next() {
            let is_colon =
                |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ':');
            let is_path =
                std::mem::replace(&mut after_colon, is_colon(&token)) || tokens.peek().is_some_and(is_colon);
            let TokenTree::Ident(ident) = token else { continue };
            if is_path {
                continue;
            }
            let mut call = TokenStream::new();
            call.extend(quoted(&one.path));
            let name = ident.unraw().to_string();
            let number =
                self.scanned(module, name.clone(), Sort::Function, ident.span(), Owner::Module, call);
            self.define(module, &name, Item::Function(number));
        }
    }
}

/// Writes the use of a macro, for a scan to find.
fn quoted(path: &syn::Path) -> TokenStream {
    let name = path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>().join("::");
    format!("{name}!()").parse().unwrap_or_default()
}

/// Returns the attributes that a macro of the shape `($($item:item)*) => { $(#[attribute] $item)* }` puts on its items.
fn gate(rules: &TokenStream) -> Option<Vec<syn::Attribute>> {
    let mut rules = rules.clone().into_iter();
    let (Some(TokenTree::Group(matcher)), Some(_), Some(_), Some(TokenTree::Group(body))) =
        (rules.next(), rules.next(), rules.next(), rules.next())
    else {
        return None;
    };
    let is_end = |token: Option<TokenTree>| match token {
        None => true,
        Some(TokenTree::Punct(mark)) => mark.as_char() == ';',
        Some(_) => false,
    };
    if !is_end(rules.next()) || rules.next().is_some() {
        return None;
    }
    let takes_items =
        repeated(matcher.stream())?.into_iter().last().is_some_and(|last| last.to_string() == "item");
    let mut inner: Vec<TokenTree> = repeated(body.stream())?.into_iter().collect();
    let (_variable, mark) = (inner.pop()?, inner.pop()?);
    let attributes = syn::Attribute::parse_outer.parse2(inner.into_iter().collect()).ok()?;
    (takes_items && mark.to_string() == "$").then_some(attributes)
}

/// Returns what is inside `$(...)*`, where that is all there is.
fn repeated(tokens: TokenStream) -> Option<TokenStream> {
    let mut tokens = tokens.into_iter();
    match (tokens.next()?, tokens.next()?, tokens.next()?, tokens.next()) {
        (TokenTree::Punct(_), TokenTree::Group(group), TokenTree::Punct(star), None)
            if group.delimiter() == Delimiter::Parenthesis && star.as_char() == '*' =>
        {
            Some(group.stream())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_macro_that_does_nothing_else_is_a_gate() {
        #[rustfmt::skip]
        let cases = [
            ("($($item:item)*) => { $(#[cfg(feature = \"x\")] $item)* }",                    true),
            ("($($i:item)*) => { $(#[cfg(a)] #[cfg_attr(docsrs, doc(cfg(a)))] $i)* };",       true),
            ("($($item:item)*) => { $($item)* }",                                           true),
            ("($($t:tt)*) => { #[cfg(any())] fn x() {} $($t)* }",                           false),
            ("($($t:tt)*) => { $(#[cfg(any())] $t)* }",                                     false),
            ("($($item:item)*) => { $(#[cfg(any())] $item)* fn more() {} }",                false),
            ("($($item:item)*) => { $(#[cfg(any())] const X: u8 = 0; $item)* }",            false),
            ("() => {}; ($($item:item)*) => { $(#[cfg(any())] $item)* }",                   false),
        ];
        for (text, wanted) in cases {
            assert_eq!(gate(&text.parse().unwrap()).is_some(), wanted, "{text}");
        }
    }
}
