//! The fields of a schema that say `"format": "path"`, found again in a value.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;

use super::graph::{Graph, Node, PathMark};

/// Goes through a value beside its schema.
#[derive(Debug)]
pub(crate) struct PathFields(Graph);

/// The subschemas that apply at one place of a value, sorted. Mostly one list of the graph itself.
pub(crate) type Place<'a> = Cow<'a, [usize]>;

impl PathFields {
    pub(super) const fn new(graph: Graph) -> Self {
        Self(graph)
    }

    /// Returns the subschemas that apply to the whole value.
    pub(crate) fn root(&self) -> Place<'_> {
        self.closed(Cow::Borrowed(&[0]))
    }

    /// Returns the mark at a place. Where marks differ, the first that names a direction counts.
    pub(crate) fn mark(&self, place: &Place<'_>) -> Option<PathMark> {
        let marks = || place.iter().filter_map(|&id| self.0.nodes.get(id)?.path);
        marks().find(|mark| matches!(mark, PathMark::One(_))).or_else(|| marks().next())
    }

    /// Returns the subschemas that apply to a property.
    pub(crate) fn property(&self, place: &Place<'_>, name: &str) -> Place<'_> {
        self.below(place, |node| node.properties.get(name).unwrap_or(&node.any_property))
    }

    /// Returns the subschemas that apply to an array item.
    pub(crate) fn item(&self, place: &Place<'_>, index: usize) -> Place<'_> {
        self.below(place, |node| match node.prefix.get(index) {
            Some(target) => std::slice::from_ref(target),
            None => &node.any_item,
        })
    }

    fn below<'a>(&'a self, place: &Place<'_>, targets: impl Fn(&'a Node) -> &'a [usize]) -> Place<'a> {
        let mut lists = place.iter().filter_map(|&id| self.0.nodes.get(id)).map(targets);
        let first = lists.next().unwrap_or_default();
        let mut rest = lists.flatten().peekable();
        self.closed(match rest.peek() {
            None => Cow::Borrowed(first),
            Some(_) => first.iter().chain(rest).copied().collect(),
        })
    }

    /// Adds what is judged in the same place.
    fn closed<'a>(&'a self, place: Place<'a>) -> Place<'a> {
        let in_place = |id: usize| self.0.nodes.get(id).map_or(&[][..], |node| &node.in_place);
        if place.is_sorted() && place.iter().all(|&id| in_place(id).is_empty()) {
            return place;
        }
        let mut reached: BTreeSet<usize> = place.iter().copied().collect();
        let mut pending = place.into_owned();
        while let Some(id) = pending.pop() {
            pending.extend(in_place(id).iter().filter(|&&target| reached.insert(target)));
        }
        reached.into_iter().collect()
    }
}

/// Calls `visit` for every string and key of a value, with the mark of the place it stands at.
pub(crate) fn for_each_string<E>(
    value: &Value,
    fields: Option<&PathFields>,
    visit: &mut impl FnMut(&str, Option<PathMark>) -> Result<(), E>,
) -> Result<(), E> {
    walk(value, fields.map(|fields| (fields, fields.root())), visit)
}

fn walk<E>(
    value: &Value,
    at: Option<(&PathFields, Place<'_>)>,
    visit: &mut impl FnMut(&str, Option<PathMark>) -> Result<(), E>,
) -> Result<(), E> {
    match value {
        Value::String(text) => visit(text, at.and_then(|(fields, place)| fields.mark(&place))),
        Value::Array(list) => {
            list.iter().enumerate().filter(|(_, item)| may_hold(item)).try_for_each(|(index, item)| {
                walk(item, at.as_ref().map(|(fields, place)| (*fields, fields.item(place, index))), visit)
            })
        }
        // A key may be a path too, as in a table of files and their contents.
        Value::Object(map) => map.iter().try_for_each(|(name, item)| {
            visit(name, None)?;
            if !may_hold(item) {
                return Ok(());
            }
            walk(item, at.as_ref().map(|(fields, place)| (*fields, fields.property(place, name))), visit)
        }),
        Value::Bool(_) | Value::Null | Value::Number(_) => Ok(()),
    }
}

/// Says whether there may be a string in a value, so that the place of a number is not worked out for nothing.
const fn may_hold(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_) | Value::String(_))
}
