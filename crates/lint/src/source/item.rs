//! Reading items: functions, types, traits, implementations, imports, modules and the macros that stand among them.

use std::path::PathBuf;

use syn::Meta;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::visit::Visit;

use super::body::BodyReader;
use super::condition::Truth;
use super::form;
use super::model::{
    Body, Form, Function, Implementation, Import, Item, Owner, Route, Sort, TraitItem, TypeItem, Value,
};
use super::reader::Reader;
use crate::Effect;

impl Reader<'_> {
    /// Reads one item into a module.
    pub(crate) fn item(&mut self, module: usize, item: &syn::Item) {
        match item {
            syn::Item::Const(one) if !self.is_out(&one.attrs) => {
                self.constant(module, &one.ident, &one.ty, Some(&one.expr));
            }
            syn::Item::Enum(one) if !self.is_out(&one.attrs) => {
                let named = |variant: &syn::Variant| {
                    let own = variant.ident.unraw().to_string();
                    fields(&variant.fields)
                        .into_iter()
                        .map(move |(name, form)| (format!("{own}.{name}"), form))
                };
                let fields = one.variants.iter().flat_map(named).collect();
                let variants = one.variants.iter().map(|variant| variant.ident.unraw().to_string()).collect();
                self.type_item(module, &one.ident, &one.generics, fields, variants, None);
            }
            syn::Item::ExternCrate(one) if !self.is_out(&one.attrs) => {
                let name = one.rename.as_ref().map_or(&one.ident, |(_, rename)| rename).unraw().to_string();
                let route =
                    Route { segments: vec![one.ident.unraw().to_string()], global: true, ..Route::default() };
                let is_public = is_public(&one.vis);
                self.import(module, Import { route, name: Some(name), is_public });
            }
            syn::Item::Fn(one) if !self.is_out(&one.attrs) => {
                let number = self.function(module, Owner::Module, &[], &one.sig, Some(&one.block));
                self.define(module, &one.sig.ident.unraw().to_string(), Item::Function(number));
            }
            syn::Item::ForeignMod(one) if !self.is_out(&one.attrs) => self.foreign(module, one),
            syn::Item::Impl(one) if !self.is_out(&one.attrs) => self.implementation(module, one),
            syn::Item::Macro(one) if !self.is_out(&one.attrs) => self.item_macro(module, one),
            syn::Item::Mod(one) if !self.is_out(&one.attrs) => self.mod_item(module, one),
            syn::Item::Static(one) if !self.is_out(&one.attrs) => {
                self.constant(module, &one.ident, &one.ty, Some(&one.expr));
            }
            syn::Item::Struct(one) if !self.is_out(&one.attrs) => {
                self.type_item(module, &one.ident, &one.generics, fields(&one.fields), Vec::new(), None);
            }
            syn::Item::Trait(one) if !self.is_out(&one.attrs) => self.trait_item(module, one),
            syn::Item::Type(one) if !self.is_out(&one.attrs) => {
                let alias = Some(form::form(&one.ty));
                self.type_item(module, &one.ident, &one.generics, Vec::new(), Vec::new(), alias);
            }
            syn::Item::Union(one) if !self.is_out(&one.attrs) => {
                self.type_item(module, &one.ident, &one.generics, Vec::new(), Vec::new(), None);
            }
            syn::Item::Use(one) if !self.is_out(&one.attrs) => {
                let start = Route { global: one.leading_colon.is_some(), ..Route::default() };
                self.use_tree(module, &start, &one.tree, is_public(&one.vis));
            }
            syn::Item::Verbatim(tokens) => self.loose(module, tokens.clone()),
            _ => {}
        }
    }

    fn import(&mut self, module: usize, import: Import) {
        if let Some(module) = self.unit.modules.get_mut(module) {
            module.imports.push(import);
        }
    }

    fn use_tree(&mut self, module: usize, start: &Route, tree: &syn::UseTree, is_public: bool) {
        let longer = |ident: &syn::Ident| {
            let mut route = start.clone();
            route.segments.push(ident.unraw().to_string());
            route
        };
        match tree {
            syn::UseTree::Path(one) => self.use_tree(module, &longer(&one.ident), &one.tree, is_public),
            syn::UseTree::Group(one) => {
                one.items.iter().for_each(|inner| self.use_tree(module, start, inner, is_public));
            }
            syn::UseTree::Glob(_) => {
                self.import(module, Import { route: start.clone(), name: None, is_public });
            }
            syn::UseTree::Name(one) if one.ident == "self" => {
                self.import(
                    module,
                    Import { route: start.clone(), name: Some(start.last().to_owned()), is_public },
                );
            }
            syn::UseTree::Rename(one) if one.ident == "self" && !start.segments.is_empty() => {
                let name = Some(one.rename.unraw().to_string());
                self.import(module, Import { route: start.clone(), name, is_public });
            }
            syn::UseTree::Name(one) => {
                let name = Some(one.ident.unraw().to_string());
                self.import(module, Import { route: longer(&one.ident), name, is_public });
            }
            syn::UseTree::Rename(one) => {
                let name = Some(one.rename.unraw().to_string());
                self.import(module, Import { route: longer(&one.ident), name, is_public });
            }
        }
    }

    fn type_item(
        &mut self,
        module: usize,
        ident: &syn::Ident,
        generics: &syn::Generics,
        fields: Vec<(String, Form)>,
        variants: Vec<String>,
        alias: Option<Form>,
    ) {
        let name = ident.unraw().to_string();
        let generics = form::generics(generics).into_iter().map(|(name, _)| name).collect();
        self.unit.types.push(TypeItem { name: name.clone(), module, fields, generics, variants, alias });
        self.define(module, &name, Item::Type(self.unit.types.len() - 1));
    }

    fn constant(
        &mut self,
        module: usize,
        ident: &syn::Ident,
        written: &syn::Type,
        value: Option<&syn::Expr>,
    ) {
        let number = self.value(module, Owner::Module, &[], ident, written, value);
        if ident != "_" {
            self.define(module, &ident.unraw().to_string(), Item::Function(number));
        }
    }

    fn value(
        &mut self,
        module: usize,
        owner: Owner,
        generics: &[(String, Vec<Route>)],
        ident: &syn::Ident,
        written: &syn::Type,
        value: Option<&syn::Expr>,
    ) -> usize {
        let spot = self.spot(ident.span());
        let number = self.reserve(Function {
            name: ident.unraw().to_string(),
            sort: Sort::Value,
            module,
            owner,
            generics: generics.to_vec(),
            output: form::form(written),
            is_method: false,
            has_body: value.is_some(),
            body: Body::default(),
        });
        let mut reader = BodyReader::new(self, module, spot, &ident.unraw().to_string());
        if let Some(value) = value {
            reader.visit_expr(value);
        }
        let (module, body) = (reader.module, reader.body);
        self.finish(number, module, body);
        number
    }

    /// Adds a function before its body is read, so that numbers follow the order of the text.
    pub(super) fn reserve(&mut self, function: Function) -> usize {
        self.unit.functions.push(function);
        self.unit.functions.len() - 1
    }

    pub(super) fn finish(&mut self, number: usize, module: usize, body: Body) {
        if let Some(function) = self.unit.functions.get_mut(number) {
            function.module = module;
            function.body = body;
        }
    }

    fn function(
        &mut self,
        module: usize,
        owner: Owner,
        generics: &[(String, Vec<Route>)],
        signature: &syn::Signature,
        block: Option<&syn::Block>,
    ) -> usize {
        let spot = self.spot(signature.ident.span());
        let mut known = form::generics(&signature.generics);
        known.extend_from_slice(generics);
        let number = self.reserve(Function {
            name: signature.ident.unraw().to_string(),
            sort: Sort::Function,
            module,
            owner,
            generics: known,
            output: form::output(&signature.output),
            is_method: matches!(signature.inputs.first(), Some(syn::FnArg::Receiver(_))),
            has_body: block.is_some(),
            body: Body::default(),
        });
        let mut reader = BodyReader::new(self, module, spot, &signature.ident.unraw().to_string());
        for input in &signature.inputs {
            match input {
                syn::FnArg::Receiver(one) => reader.receiver(match &one.kind {
                    syn::ReceiverKind::Typed(_, written) => form::form(written),
                    _ => Form::Route(Route { segments: vec!["Self".into()], ..Route::default() }),
                }),
                syn::FnArg::Typed(one) => {
                    let value = Value::Typed(form::form(&one.ty));
                    reader.parameter(&one.pat, &value);
                    if !matches!(*one.ty, syn::Type::Reference(_) | syn::Type::Ptr(_)) {
                        reader.runs(value, &["drop"], one.ty.span());
                    }
                }
            }
        }
        if let syn::ReturnType::Type(_, written) = &signature.output {
            reader.returned(form::form(written), written.span());
        }
        if let Some(block) = block {
            reader.visit_block(block);
        }
        let (module, body) = (reader.module, reader.body);
        self.finish(number, module, body);
        number
    }

    fn trait_item(&mut self, module: usize, one: &syn::ItemTrait) {
        let name = one.ident.unraw().to_string();
        let generics = form::generics(&one.generics);
        let parents = form::bounds(one.supertraits.iter());
        self.unit.traits.push(TraitItem { name: name.clone(), module, functions: Vec::new(), parents });
        let number = self.unit.traits.len() - 1;
        self.define(module, &name, Item::Trait(number));
        for item in &one.items {
            let function = match item {
                syn::TraitItem::Fn(function) if !self.is_out(&function.attrs) => self.function(
                    module,
                    Owner::Trait(number),
                    &generics,
                    &function.sig,
                    function.default.as_ref(),
                ),
                syn::TraitItem::Const(one) if !self.is_out(&one.attrs) => {
                    let value = one.default.as_ref().map(|(_, value)| value);
                    self.value(module, Owner::Trait(number), &generics, &one.ident, &one.ty, value)
                }
                _ => continue,
            };
            if let Some(known) = self.unit.traits.get_mut(number) {
                known.functions.push(function);
            }
        }
    }

    fn implementation(&mut self, module: usize, one: &syn::ItemImpl) {
        let generics = form::generics(&one.generics);
        self.unit.implementations.push(Implementation {
            module,
            form: form::form(&one.self_ty),
            of: one.trait_.as_ref().map(|(path, _)| form::route(path)),
            target: one.items.iter().find_map(|item| match item {
                syn::ImplItem::Type(one) if one.ident == "Target" => Some(form::form(&one.ty)),
                _ => None,
            }),
            generics: generics.clone(),
            functions: Vec::new(),
            spot: self.spot(one.self_ty.span()),
        });
        let number = self.unit.implementations.len() - 1;
        for item in &one.items {
            let function = match item {
                syn::ImplItem::Fn(function) if !self.is_out(&function.attrs) => {
                    let owner = Owner::Implementation(number);
                    self.function(module, owner, &generics, &function.sig, Some(&function.block))
                }
                syn::ImplItem::Const(one) if !self.is_out(&one.attrs) => {
                    let owner = Owner::Implementation(number);
                    self.value(module, owner, &generics, &one.ident, &one.ty, Some(&one.expr))
                }
                syn::ImplItem::Macro(one) if !self.is_out(&one.attrs) => {
                    self.loose_methods(module, number, one.mac.tokens.clone());
                    continue;
                }
                _ => continue,
            };
            if let Some(known) = self.unit.implementations.get_mut(number) {
                known.functions.push(function);
            }
        }
    }

    fn foreign(&mut self, module: usize, one: &syn::ItemForeignMod) {
        for item in &one.items {
            let (ident, attributes) = match item {
                syn::ForeignItem::Fn(function) => (&function.sig.ident, &function.attrs),
                syn::ForeignItem::Static(value) => (&value.ident, &value.attrs),
                _ => continue,
            };
            if self.is_out(attributes) {
                continue;
            }
            let linked = self.conditions().applied(attributes).iter().find_map(|meta| match meta {
                Meta::NameValue(pair) if pair.path.is_ident("link_name") => match &pair.value {
                    syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(name), .. }) => Some(name.value()),
                    _ => None,
                },
                _ => None,
            });
            let name = ident.unraw().to_string();
            if matches!(item, syn::ForeignItem::Fn(_)) {
                self.unit.foreign.push((linked.unwrap_or_else(|| name.clone()), self.spot(ident.span())));
                self.define(module, &name, Item::Foreign(self.unit.foreign.len() - 1));
            }
        }
        let is_static = self.conditions().applied(&one.attrs).iter().any(|meta| match meta {
            Meta::List(list) if list.path.is_ident("link") => {
                let text = list.tokens.to_string();
                text.contains("static") && text.contains("kind")
            }
            _ => false,
        });
        let has_functions = one.items.iter().any(|item| matches!(item, syn::ForeignItem::Fn(_)));
        if is_static || (has_functions && self.package.links.is_some()) {
            let spot = self.spot(one.abi.span());
            self.unit.holds.push((Effect::NativeAddon, "extern".to_owned(), spot));
        }
    }

    fn mod_item(&mut self, module: usize, one: &syn::ItemMod) {
        let name = one.ident.unraw().to_string();
        let inner = self.module(module, name.clone(), false);
        self.define(module, &name, Item::Module(inner));
        let written = self.conditions().applied(&one.attrs).into_iter().find_map(|meta| match meta {
            Meta::NameValue(pair) if pair.path.is_ident("path") => match pair.value {
                syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) => {
                    Some(PathBuf::from(path.value()))
                }
                _ => None,
            },
            _ => None,
        });
        let (folder, children) = self.folders.clone();
        let base = if self.is_inline { &children } else { &folder };
        match (&one.content, written) {
            (Some((_, items)), written) => {
                let inside = written.map_or_else(|| children.join(&name), |path| base.join(path));
                let is_inline = std::mem::replace(&mut self.is_inline, true);
                self.folders.1 = inside;
                items.iter().for_each(|item| self.item(inner, item));
                self.folders.1 = children;
                self.is_inline = is_inline;
            }
            (None, Some(path)) => {
                let file = base.join(path);
                let inside = file.parent().map(PathBuf::from).unwrap_or_default();
                self.file(inner, &file, inside);
            }
            (None, None) => {
                let inside = children.join(&name);
                let (flat, nested) = (children.join(format!("{name}.rs")), inside.join("mod.rs"));
                if flat.is_file() {
                    self.file(inner, &flat, inside);
                } else if nested.is_file() {
                    self.file(inner, &nested, inside);
                } else if self.conditions().holds(&one.attrs) == Truth::Yes {
                    let spot = self.spot(one.ident.span());
                    self.gap(inner, &format!("the file of the module `{name}` is missing"), spot);
                }
            }
        }
    }
}

fn is_public(visibility: &syn::Visibility) -> bool {
    matches!(visibility, syn::Visibility::Public(_))
}

fn fields(fields: &syn::Fields) -> Vec<(String, Form)> {
    let named = |(index, field): (usize, &syn::Field)| {
        let name = field.ident.as_ref().map_or_else(|| index.to_string(), |ident| ident.unraw().to_string());
        (name, form::form(&field.ty))
    };
    fields.iter().enumerate().map(named).collect()
}
