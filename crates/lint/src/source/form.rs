//! Paths and types of the parser, as plain data.

use syn::ext::IdentExt;
use syn::{GenericArgument, GenericParam, Generics, PathArguments, ReturnType, Type, TypeParamBound};

use super::model::{Form, Route};

/// Returns a path without a subject.
pub(crate) fn route(path: &syn::Path) -> Route {
    qualified(None, path)
}

/// Returns a path, with the type of `<Type as Trait>::rest` where it has one.
pub(crate) fn qualified(subject: Option<&syn::QSelf>, path: &syn::Path) -> Route {
    let mut given = Vec::new();
    for segment in &path.segments {
        let own = arguments(&segment.arguments);
        if !own.is_empty() {
            given = own;
        }
    }
    Route {
        segments: path.segments.iter().map(|segment| segment.ident.unraw().to_string()).collect(),
        global: path.leading_colon.is_some(),
        subject: subject.map(|subject| (Box::new(form(&subject.ty)), subject.position)),
        arguments: given,
    }
}

/// Returns the types among generic arguments.
pub(crate) fn given(arguments: &syn::AngleBracketedGenericArguments) -> Vec<Form> {
    arguments
        .args
        .iter()
        .filter_map(|argument| match argument {
            GenericArgument::Type(one) => Some(form(one)),
            GenericArgument::AssocType(one) => Some(form(&one.ty)),
            _ => None,
        })
        .collect()
}

fn arguments(arguments: &PathArguments) -> Vec<Form> {
    match arguments {
        PathArguments::AngleBracketed(list) => given(list),
        PathArguments::None | PathArguments::Parenthesized(_) => Vec::new(),
    }
}

/// Returns a type.
pub(crate) fn form(written: &Type) -> Form {
    match written {
        Type::Array(array) => Form::List(Box::new(form(&array.elem))),
        Type::Group(group) => form(&group.elem),
        Type::ImplTrait(opaque) => Form::Opaque(bounds(opaque.bounds.iter())),
        Type::Paren(paren) => form(&paren.elem),
        Type::Path(path) => Form::Route(qualified(path.qself.as_ref(), &path.path)),
        Type::Ptr(pointer) => form(&pointer.elem),
        Type::Reference(reference) => form(&reference.elem),
        Type::Slice(slice) => Form::List(Box::new(form(&slice.elem))),
        Type::TraitObject(object) => Form::Dynamic(bounds(object.bounds.iter())),
        Type::Tuple(tuple) => Form::Tuple(tuple.elems.iter().map(form).collect()),
        _ => Form::Unknown,
    }
}

/// Returns what a function returns; of an async one, what it resolves to.
pub(crate) fn output(written: &ReturnType) -> Form {
    match written {
        ReturnType::Default => Form::Tuple(Vec::new()),
        ReturnType::Type(_, written) => form(written),
    }
}

/// Returns the traits among bounds.
pub(crate) fn bounds<'a>(bounds: impl Iterator<Item = &'a TypeParamBound>) -> Vec<Route> {
    bounds
        .filter_map(|bound| match bound {
            TypeParamBound::Trait(bound) => Some(route(&bound.path)),
            _ => None,
        })
        .collect()
}

/// Returns generic parameters with what bounds them, where clauses included.
pub(crate) fn generics(generics: &Generics) -> Vec<(String, Vec<Route>)> {
    let mut found: Vec<(String, Vec<Route>)> = generics
        .params
        .iter()
        .filter_map(|parameter| match parameter {
            GenericParam::Type(one) => Some((one.ident.unraw().to_string(), bounds(one.bounds.iter()))),
            _ => None,
        })
        .collect();
    for predicate in generics.where_clause.iter().flat_map(|clause| &clause.predicates) {
        let syn::WherePredicate::Type(one) = predicate else { continue };
        let Form::Route(bounded) = form(&one.bounded_ty) else { continue };
        let [name] = bounded.segments.as_slice() else { continue };
        if let Some((_, known)) = found.iter_mut().find(|(own, _)| own == name) {
            known.extend(bounds(one.bounds.iter()));
        }
    }
    found
}
