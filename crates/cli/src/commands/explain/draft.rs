//! A policy file with a small change, everything else as it was written.
//!
//! INVARIANT: a draft is only a text. Whoever makes one reads it again and judges the call by it before anybody is told of it.

use ringfence::policy::{JsonAsToml, ListKind};
use toml_edit::{Array, ArrayOfTables, Decor, DocumentMut, InlineTable, Item, RawString, Table, Value};

use super::case::Form;

/// Whose entry is changed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Owner {
    Personality,
    Server(String),
    Tool(String),
}

/// One small change.
#[derive(Clone, Debug)]
pub(super) enum Edit {
    /// Adds an entry to a list.
    Add { owner: Owner, kind: ListKind, entry: String },
    /// Adds a name or an address to what the personality lets through the floor of addresses.
    AddPrivate(String),
    /// Sets a field, each part of whose way may have several spellings.
    Set { owner: Owner, way: Vec<Vec<String>>, setting: Setting },
    /// Takes an entry out of a list.
    Take { owner: Owner, way: Vec<Vec<String>>, entry: String },
}

/// What a field is set to.
#[derive(Clone, Debug)]
pub(super) enum Setting {
    Flag(bool),
    Number(u32),
    Text(String),
}

/// How a list is called inside of a table that stands where a list may stand too.
const INSIDE: &[&str] = &["allow", "allowedHosts", "allowed_hosts", "allowedBinaries", "allowed_binaries"];

/// A policy file that is changed.
pub(super) struct Draft {
    document: DocumentMut,
    /// Whether it is JSON, which stands in the document as TOML.
    is_json: bool,
    /// Whether its last line has an end, which a document always writes.
    is_ended: bool,
}

impl Draft {
    /// Reads a text; nothing where it would not be written back as it is.
    pub(super) fn of(text: &str, form: &Form) -> Option<Self> {
        let (text, is_json) = match form {
            Form::Json(json) => (json.as_str(), true),
            Form::OtherJson => return None,
            Form::Toml => (text, false),
        };
        let draft = Self { document: text.parse().ok()?, is_json, is_ended: text.ends_with('\n') };
        (draft.written() == text).then_some(draft)
    }

    /// Makes a change; nothing where there is no place for it.
    pub(super) fn change(&mut self, edit: &Edit) -> Option<()> {
        match edit {
            Edit::Add { owner, kind, entry } => self.add(owner, *kind, entry),
            Edit::AddPrivate(entry) => {
                let network = member(self.owner(&Owner::Personality)?, &["network"])?;
                listed(member(network, &["private"])?, entry)
            }
            Edit::Set { owner, way, setting } => {
                let place = along(self.owner(owner)?, way)?;
                let mut value = match setting {
                    Setting::Flag(flag) => Value::from(*flag),
                    Setting::Number(number) => Value::from(i64::from(*number)),
                    Setting::Text(text) => Value::from(text.as_str()),
                };
                *value.decor_mut() = match place.as_value() {
                    Some(old) => old.decor().clone(),
                    None => Decor::new(" ", ""),
                };
                *place = Item::Value(value);
                Some(())
            }
            Edit::Take { owner, way, entry } => {
                let list = along(self.owner(owner)?, way)?.as_array_mut()?;
                let before = list.len();
                list.retain(|value| value.as_str() != Some(entry));
                list.fmt();
                (list.len() < before).then_some(())
            }
        }
    }

    /// Returns the text; nothing where it cannot be written in its form.
    pub(super) fn text(&self) -> Option<String> {
        let text = self.written();
        if self.is_json { JsonAsToml::back(&text) } else { Some(text) }
    }

    fn written(&self) -> String {
        let mut text = self.document.to_string();
        if !self.is_ended && text.ends_with('\n') {
            text.pop();
        }
        text
    }

    fn root(&mut self) -> Option<&mut Item> {
        if self.is_json { self.document.get_mut(JsonAsToml::KEY) } else { Some(self.document.as_item_mut()) }
    }

    fn owner(&mut self, owner: &Owner) -> Option<&mut Item> {
        let (tables, name) = match owner {
            Owner::Personality if self.is_json => return member(self.root()?, &["personality"]),
            Owner::Personality => {
                let personality = self.document.entry("personality");
                return Some(personality.or_insert_with(|| {
                    let mut table = Table::new();
                    table.decor_mut().set_prefix("\n");
                    Item::Table(table)
                }));
            }
            Owner::Server(name) => (["server", "servers"], name),
            Owner::Tool(name) => (["tool", "tools"], name),
        };
        let root = self.root()?;
        let key = tables.into_iter().find(|key| root.get(key).is_some())?;
        let all = root.get(key)?;
        let count =
            all.as_array().map(Array::len).or_else(|| all.as_array_of_tables().map(ArrayOfTables::len))?;
        let is_named = |place: &usize| {
            all.get(*place).and_then(|own| own.get("name")?.as_str()).is_some_and(|own| own == name)
        };
        let place = (0..count).find(is_named)?;
        root.get_mut(key)?.get_mut(place)
    }

    fn add(&mut self, owner: &Owner, kind: ListKind, entry: &str) -> Option<()> {
        let start = self.owner(owner)?;
        let is_tool = *owner != Owner::Personality;
        let start = if is_tool { member(start, &["capabilities"])? } else { start };
        let (place, inside) = match kind {
            ListKind::Read | ListKind::Write => {
                let reach = member(start, &["fs_reach", "fsReach"])?;
                let name = if kind == ListKind::Read { "read" } else { "write" };
                return listed(member(reach, &[name])?, entry);
            }
            ListKind::Tools => return listed(member(start, &["tools", "toolset"])?, entry),
            ListKind::Hosts => {
                let is_seeds = start.get("network").is_none() && start.get("safety").is_some();
                let start = if is_seeds { member(start, &["safety"])? } else { start };
                (member(start, &["network"])?, if is_tool { "allowedHosts" } else { "allow" })
            }
            ListKind::Binaries => {
                (member(start, &["process"])?, if is_tool { "allowedBinaries" } else { "allow" })
            }
            ListKind::Environment => (member(start, &["environment"])?, "allow"),
            ListKind::Secrets => (member(start, &["secrets"])?, "allow"),
        };
        let is_plain = is_tool && matches!(kind, ListKind::Environment | ListKind::Secrets);
        if place.is_array() || (place.is_none() && is_plain) {
            return listed(place, entry);
        }
        let known = INSIDE.iter().find(|name| place.get(**name).is_some());
        listed(member(place, &[known.copied().unwrap_or(inside)])?, entry)
    }
}

/// Goes along a way, and makes what is missing of it but for its end.
fn along<'t>(start: &'t mut Item, way: &[Vec<String>]) -> Option<&'t mut Item> {
    way.iter().try_fold(start, |place, names| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        member(place, &names)
    })
}

/// Returns the member of a table by the first of its names that is written, or a new one under the first name. What is nothing
/// yet becomes a table.
fn member<'t>(place: &'t mut Item, names: &[&str]) -> Option<&'t mut Item> {
    if place.is_none() {
        *place = Item::Value(Value::InlineTable(InlineTable::new()).decorated(" ", ""));
    }
    let known = names.iter().find(|name| place.get(**name).is_some());
    let name = known.or(names.first())?;
    if known.is_none()
        && let Some(inline) = place.as_inline_table_mut()
    {
        // A value must stand there before what is there can be something else; it is replaced at once.
        set_apart(inline, name);
        let added = place.get_mut(*name)?;
        *added = Item::None;
        return Some(added);
    }
    let table = place.as_table_like_mut()?;
    Some(table.entry(name).or_insert(Item::None))
}

/// Adds a member to a table on one line or on several, set apart as the ones before it are.
fn set_apart(table: &mut InlineTable, name: &str) {
    let written = |raw: Option<&RawString>| raw.and_then(RawString::as_str).map(str::to_owned);
    let mut end = " ".to_owned();
    let mut around = None;
    if let Some((key, last)) = table.iter_mut().last() {
        let decor = key.leaf_decor();
        // The first on the line has another distance than the next.
        let prefix = written(decor.prefix()).filter(|prefix| prefix.contains('\n'));
        around =
            Some((prefix.unwrap_or_else(|| " ".to_owned()), written(decor.suffix()).unwrap_or_default()));
        end = written(last.decor().suffix()).unwrap_or(end);
        last.decor_mut().set_suffix("");
    }
    table.insert(name, Value::from(false));
    if !table.trailing_comma() {
        table.set_trailing(end);
    }
    if let (Some((prefix, suffix)), Some(mut key)) = (around, table.key_mut(name)) {
        *key.leaf_decor_mut() = Decor::new(prefix, suffix);
    }
}

/// Adds an entry to a list, set apart as the ones before it are.
fn listed(place: &mut Item, entry: &str) -> Option<()> {
    if place.is_none() {
        *place = Item::Value(Value::Array(Array::from_iter([entry])).decorated(" ", ""));
        return Some(());
    }
    let list = place.as_array_mut()?;
    let mut added = Value::from(entry);
    let is_first = list.len() < 2;
    if let Some(last) = list.len().checked_sub(1).and_then(|last| list.get_mut(last)) {
        let prefix = last.decor().prefix().and_then(|raw| raw.as_str()).unwrap_or_default().to_owned();
        let suffix = last.decor().suffix().and_then(|raw| raw.as_str()).unwrap_or_default().to_owned();
        last.decor_mut().set_suffix("");
        let prefix = if is_first && !prefix.contains('\n') { " ".to_owned() } else { prefix };
        added = added.decorated(prefix, suffix);
    }
    list.push_formatted(added);
    Some(())
}

#[cfg(test)]
mod tests;
