//! The table against the types that read files: each type is asked which keys and words it takes.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::schema::value_of;
use super::{Absent, Key, Kind, Rule, Standing, TOOLBOX, Table};
use crate::Toolbox;

/// A key that no table has.
const ODD: &str = "no-such-key";

/// Puts a table at its place in a whole file.
type Around<'a> = &'a dyn Fn(Value) -> Value;

/// Visits every table with the file around it, wherever it may stand.
fn visit(table: &'static Table, around: Around<'_>, each: &mut dyn FnMut(&'static Table, Around<'_>)) {
    each(table, around);
    for key in table.keys {
        let inner = |value: Value| around(with(&base(table, key), key.name, value));
        place(&key.kind, &inner, each);
    }
}

fn place(kind: &'static Kind, around: Around<'_>, each: &mut dyn FnMut(&'static Table, Around<'_>)) {
    match kind {
        Kind::Either(kinds) => kinds.iter().for_each(|kind| place(kind, around, each)),
        Kind::List(kind) => place(kind, &|value| around(json!([value])), each),
        Kind::Map(_, kind) => place(kind, &|value| around(json!({ "some": value })), each),
        Kind::Table(table) => visit(table, around, each),
        Kind::Tables(table) => visit(table, &|value| around(json!([value])), each),
        Kind::Choice(_) | Kind::Command | Kind::Flag | Kind::Number(_) | Kind::Object | Kind::Word(_) => {}
    }
}

fn everywhere(each: &mut dyn FnMut(&'static Table, Around<'_>)) {
    visit(&TOOLBOX, &|value| value, each);
}

fn sample(text: &str) -> Map<String, Value> {
    let table: toml::Table = toml::from_str(text).unwrap();
    serde_json::to_value(table).unwrap().as_object().unwrap().clone()
}

/// A whole table into which a key fits, without it.
fn base(table: &Table, key: &Key) -> Map<String, Value> {
    if table.rules.iter().any(|rule| matches!(rule, Rule::Single)) {
        return Map::new();
    }
    let samples: Vec<_> = table.samples.iter().map(|text| sample(text)).collect();
    let own = samples.iter().find(|own| own.contains_key(key.name)).or(samples.first()).unwrap();
    let mut own = own.clone();
    own.shift_remove(key.name);
    own
}

fn with(table: &Map<String, Value>, key: &str, value: Value) -> Value {
    let mut table = table.clone();
    table.insert(key.to_owned(), value);
    Value::Object(table)
}

fn read(file: &Value) -> Result<Toolbox, String> {
    Toolbox::from_json(&file.to_string()).map_err(|error| error.message)
}

/// The names in backticks behind "expected".
fn expected(message: &str) -> BTreeSet<String> {
    let (_, list) = message.split_once("expected").unwrap_or_else(|| panic!("{message}"));
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn each_table_has_the_keys_that_its_type_takes() {
    let mut seen = BTreeSet::new();
    everywhere(&mut |table, around| {
        let file = around(json!({ ODD: 1 }));
        let message = read(&file).unwrap_err();
        let odd = [format!("unknown field `{ODD}`"), format!("unknown variant `{ODD}`")];
        assert!(odd.iter().any(|odd| message.starts_with(odd)), "{}: {message}", table.name);
        let own: BTreeSet<String> = table.keys.iter().flat_map(Key::spellings).map(str::to_owned).collect();
        assert_eq!(own, expected(&message), "{}", table.name);
        seen.insert(table.name);
    });
    let all: BTreeSet<_> = TOOLBOX.all().iter().map(|table| table.name).collect();
    assert_eq!(seen, all);
    assert_eq!(all.len(), TOOLBOX.all().len(), "each name is used once");
}

#[test]
fn each_choice_has_the_words_that_its_type_takes() {
    type Check<'a> = dyn FnMut(&[(&str, &str)], Around<'_>) + 'a;
    fn choices(kind: &'static Kind, around: Around<'_>, check: &mut Check<'_>) {
        match kind {
            Kind::Choice(words) => check(words, around),
            Kind::Map(_, kind) => choices(kind, &|value| around(json!({ "some": value })), check),
            _ => {}
        }
    }
    let mut count = 0;
    everywhere(&mut |table, around| {
        for key in table.keys {
            let inner = |value: Value| around(with(&base(table, key), key.name, value));
            choices(&key.kind, &inner, &mut |words, around| {
                let message = read(&around(json!(ODD))).unwrap_err();
                let own: BTreeSet<String> = words.iter().map(|(word, _)| (*word).to_owned()).collect();
                assert_eq!(own, expected(&message), "{}.{}: {message}", table.name, key.name);
                count += 1;
            });
        }
    });
    assert!(count > 20, "{count}");
}

#[test]
fn each_example_is_read_and_each_sample_too() {
    everywhere(&mut |table, around| {
        for text in table.samples {
            let file = around(Value::Object(sample(text)));
            assert!(read(&file).is_ok(), "{}: {text}: {:?}", table.name, read(&file));
        }
        for key in table.keys {
            let value = value_of(key.example).unwrap_or_else(|| panic!("{}.{}", table.name, key.name));
            let old_network = key.name == "network" && table.name == "personality";
            let mut own = base(table, key);
            if old_network {
                own.shift_remove("safety");
            }
            for name in key.spellings() {
                let file = around(with(&own, name, value.clone()));
                assert!(read(&file).is_ok(), "{}.{name}: {:?}", table.name, read(&file));
            }
        }
    });
}

#[test]
fn what_is_absent_is_what_the_table_says() {
    let (mut required, mut defaults) = (0, 0);
    everywhere(&mut |table, around| {
        for key in table.keys {
            let own = base(table, key);
            let without = read(&around(Value::Object(own.clone())));
            match key.absent {
                Absent::Refused => {
                    let message = without.unwrap_err();
                    assert!(message.contains("missing field"), "{}.{}: {message}", table.name, key.name);
                    required += 1;
                }
                Absent::Value(value) => {
                    let with = read(&around(with(&own, key.name, value_of(value).unwrap()))).unwrap();
                    let without =
                        without.unwrap_or_else(|error| panic!("{}.{}: {error}", table.name, key.name));
                    assert_eq!(format!("{without:?}"), format!("{with:?}"), "{}.{}", table.name, key.name);
                    defaults += 1;
                }
                // Where rules hold between keys, one may need another.
                Absent::Means(_) => {
                    assert!(
                        without.is_ok() || !table.rules.is_empty(),
                        "{}.{}: {without:?}",
                        table.name,
                        key.name
                    );
                }
            }
        }
    });
    assert!(required >= 10 && defaults >= 40, "{required} {defaults}");
}

#[test]
fn every_key_is_explained_in_one_sentence_without_a_line_break() {
    for table in TOOLBOX.all() {
        for key in table.keys {
            let meaning = key.meaning;
            assert!(
                meaning.ends_with('.') && !meaning.contains('\n') && meaning.len() > 5,
                "{}.{}",
                table.name,
                key.name
            );
            assert!(key.standing == Standing::Current || key.name == "safety");
        }
    }
}

/// A list of what a table says would be read as its fields in their order.
#[test]
fn no_list_stands_for_a_table() {
    let mut tried = 0;
    everywhere(&mut |table, around| {
        if std::ptr::eq(table, &TOOLBOX) {
            return;
        }
        for own in table.samples.iter().map(|text| sample(text)) {
            let list = around(Value::Array(own.values().cloned().collect()));
            let told = Toolbox::from_json(&list.to_string()).unwrap_err().message;
            assert!(told.contains("expected a table") || told.contains("invalid type"), "{list}: {told}");
            tried += 1;
        }
    });
    assert!(tried > 30, "{tried}");
}
