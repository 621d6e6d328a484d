//! Lists where tables belong.
//!
//! The types would read such a list as the fields of the table in their order, which nobody who writes a policy means.

use serde_json::Value;
use toml::Spanned;
use toml::de::DeValue;

use super::{Kind, TOOLBOX, Table};

/// A value of a document, in either language.
pub(crate) trait Node: Sized {
    /// The entries of a table.
    fn entries(&self) -> Option<impl Iterator<Item = (&str, &Self)>>;

    /// The elements of a list.
    fn elements(&self) -> Option<&[Self]>;
}

/// Returns the first entry of a toolbox that is a list and should be a table, with its key.
pub(crate) fn list_for_table<N: Node>(toolbox: &N) -> Option<(&'static str, &N)> {
    in_table(&TOOLBOX, toolbox)
}

fn in_table<'n, N: Node>(table: &'static Table, value: &'n N) -> Option<(&'static str, &'n N)> {
    value.entries()?.find_map(|(name, value)| {
        let key = table.keys.iter().find(|key| key.name == name || key.aliases.contains(&name))?;
        in_kind(key.name, &key.kind, value)
    })
}

fn in_kind<'n, N: Node>(
    key: &'static str,
    kind: &'static Kind,
    value: &'n N,
) -> Option<(&'static str, &'n N)> {
    let elements = value.elements();
    match kind {
        Kind::Either(kinds) => {
            let is_list = |kind: &Kind| matches!(kind, Kind::Command | Kind::List(_) | Kind::Tables(_));
            let may_be_list = elements.is_some() && kinds.iter().any(is_list);
            kinds
                .iter()
                .filter(|kind| !may_be_list || is_list(kind))
                .find_map(|kind| in_kind(key, kind, value))
        }
        Kind::List(kind) => elements?.iter().find_map(|element| in_kind(key, kind, element)),
        Kind::Map(_, kind) => value.entries()?.find_map(|(_, value)| in_kind(key, kind, value)),
        Kind::Table(_) if elements.is_some() => Some((key, value)),
        Kind::Table(table) => in_table(table, value),
        Kind::Tables(table) => elements?.iter().find_map(|element| match element.elements() {
            Some(_) => Some((key, element)),
            None => in_table(table, element),
        }),
        Kind::Choice(_) | Kind::Command | Kind::Flag | Kind::Number(_) | Kind::Object | Kind::Word(_) => None,
    }
}

impl Node for Value {
    fn entries(&self) -> Option<impl Iterator<Item = (&str, &Self)>> {
        Some(self.as_object()?.iter().map(|(key, value)| (key.as_str(), value)))
    }

    fn elements(&self) -> Option<&[Self]> {
        self.as_array().map(Vec::as_slice)
    }
}

impl Node for Spanned<DeValue<'_>> {
    fn entries(&self) -> Option<impl Iterator<Item = (&str, &Self)>> {
        let table = self.get_ref().as_table()?;
        Some(table.iter().map(|(key, value)| (key.get_ref().as_ref(), value)))
    }

    fn elements(&self) -> Option<&[Self]> {
        self.get_ref().as_array().map(|array| &array[..])
    }
}
