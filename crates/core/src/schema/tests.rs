use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;

/// How long an answer may take. The traps below would take hours, so minutes tell the two apart on any machine.
const ANSWER: Duration = Duration::from_secs(120);

fn compile(document: &Value) -> Result<Schema, SchemaError> {
    let started = Instant::now();
    let compiled = Schema::compile(document);
    assert!(started.elapsed() < ANSWER, "compiling took {:?}", started.elapsed());
    compiled
}

fn nested(keyword: &str, depth: usize) -> Value {
    (0..depth).fold(json!({}), |inner, _| json!({ keyword: inner }))
}

/// `levels` definitions, each of which refers to the next one `fan` times through `wrap`.
fn fan_out(levels: usize, fan: usize, wrap: impl Fn(Value) -> Value) -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        let branches: Vec<Value> = (0..fan).map(|_| wrap(next.clone())).collect();
        definitions.insert(format!("l{level}"), json!({"allOf": branches}));
    }
    definitions.insert(format!("l{levels}"), json!({"type": "object"}));
    json!({"$ref": "#/$defs/l0", "$defs": definitions})
}

#[test]
fn refuses_schemas_that_are_traps() {
    let chain: serde_json::Map<String, Value> =
        (0..2_000).map(|n| (format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)}))).collect();
    #[rustfmt::skip]
    let cases = [
        (json!({"$ref": "#"}),                                       "refers to itself without end"),
        (json!({"anyOf": [{"type": "string"}, {"$ref": "#"}]}),      "refers to itself without end"),
        (json!({"not": {"$ref": "#/not"}}),                          "refers to itself without end"),
        (json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}), "refers to itself without end"),
        (json!({"$recursiveRef": "#"}),                              "refers to itself without end"),
        (json!({"$dynamicAnchor": "x", "$dynamicRef": "#x"}),        "refers to itself without end"),
        (json!({"if": true, "then": {"$ref": "#"}}),                 "refers to itself without end"),
        (fan_out(30, 4, |next| next),                                "multiply"),
        (json!({"$ref": "https://example.com/schema.json"}),         "nothing is fetched"),
        (json!({"$ref": "file:///etc/passwd"}),                      "nothing is fetched"),
        (json!({"properties": {"a": {"$ref": "other.json"}}}),       "nothing is fetched"),
        (json!({"$ref": "#/$defs/missing"}),                         "nothing is fetched"),
        (json!({"$ref": "#missing"}),                                "nothing is fetched"),
        (json!({"$ref": "//evil/x"}),                                "nothing is fetched"),
        (json!({"$defs": chain, "$ref": "#/$defs/d0"}),              "not in the schema"),
        (json!("string"),                                            "neither an object nor a boolean"),
        (json!(null),                                                "neither an object nor a boolean"),
        (json!([]),                                                  "neither an object nor a boolean"),
        (json!(7),                                                   "neither an object nor a boolean"),
        (json!({"items": "x"}),                                      "neither an object nor a boolean"),
        (json!({"properties": {"a": {"maxLength": -1}}}),            "not valid"),
        (json!({"type": "strnig"}),                                  "not valid"),
        (json!({"type": "string", "pattern": "("}),                  "not valid"),
        (json!({"type": "string", "pattern": "((a{1000}){1000}){1000}"}), "not valid"),
        (json!({"type": "string", "pattern": "(?=a)b"}),             "look-around"),
        (json!({"required": "a"}),                                   "not valid"),
        (json!({"minimum": "1"}),                                    "not valid"),
        (nested("items", 200),                                       "nested deeper"),
        (nested("not", 100),                                         "references nested deeper"),
        (json!({"format": "path", "direction": "up"}),               "neither `read` nor `write`"),
    ];
    for (document, part) in cases {
        let error = compile(&document).map(|_| ()).unwrap_err().to_string();
        assert!(
            error.contains(part),
            "{}: {error}",
            document.to_string().chars().take(120).collect::<String>()
        );
    }
}

/// Wraps an empty schema `levels` times.
fn wrapped(levels: usize, wrap: impl Fn(Value) -> Value) -> Value {
    (0..levels).fold(json!({}), |inner, _| wrap(inner))
}

#[test]
fn what_is_evaluated_again_is_counted_again() {
    let cases: [fn(Value) -> Value; 5] = [
        |inner| json!({"allOf": [inner], "unevaluatedProperties": {}}),
        |inner| json!({"oneOf": [inner], "unevaluatedProperties": {}}),
        |inner| json!({"if": inner, "then": {}, "else": {}, "unevaluatedProperties": {}}),
        |inner| json!({"anyOf": [inner.clone(), inner], "unevaluatedProperties": false}),
        |inner| json!({"allOf": [inner], "unevaluatedItems": {}}),
    ];
    for wrap in cases {
        assert_eq!(compile(&wrapped(11, wrap)).map(|_| ()), Err(SchemaError::Explodes));
        let schema = compile(&wrapped(3, wrap)).unwrap();
        let started = Instant::now();
        let _verdict = schema.check(&json!({"a": 1}));
        assert!(started.elapsed() < ANSWER);
    }
}

#[test]
fn identifiers_that_two_readers_could_understand_differently() {
    let ladder = |name: fn(usize) -> Value, reference: fn(usize) -> String| {
        let levels = 30;
        let mut definitions = serde_json::Map::new();
        for level in 0..levels {
            let next = json!({"$ref": reference(level + 1)});
            let mut schema = name(level);
            schema["allOf"] = json!(vec![next; 4]);
            definitions.insert(format!("l{level}"), schema);
        }
        definitions.insert(format!("l{levels}"), name(levels));
        json!({"$ref": reference(0), "$defs": definitions})
    };
    let by_id = ladder(|n| json!({"$id": format!("http://x/l{n}")}), |n| format!("http://x/l{n}"));
    let by_anchor = ladder(|n| json!({"$anchor": format!("l{n}")}), |n| format!("#l{n}"));
    assert_eq!(compile(&by_id).map(|_| ()), Err(SchemaError::Explodes));
    assert_eq!(compile(&by_anchor).map(|_| ()), Err(SchemaError::Explodes));
    let mut shadowed = by_id;
    shadowed["zz"] = json!({"l0": {"$id": "http://x/l0"}, "l1": {"$id": "http://x/l1"}});
    assert_eq!(compile(&shadowed).map(|_| ()), Err(SchemaError::Explodes));
    let mut shadowed = by_anchor;
    shadowed["examples"] = json!([{"$anchor": "l0"}, {"$anchor": "l1"}]);
    assert_eq!(compile(&shadowed).map(|_| ()), Err(SchemaError::Explodes));

    #[rustfmt::skip]
    let cases = [
        (json!({"$defs": {"a": {"$id": "http://x/a", "$ref": "http://x/a"}, "b": {"$id": "http://x/a"}}, "$ref": "http://x/a"}), "given twice"),
        (json!({"$defs": {"a": {"$anchor": "a"}, "b": {"$anchor": "a"}}}),                     "given twice"),
        (json!({"allOf": [{"id": "http://x/a", "$ref": "#/$defs/h", "$defs": {"h": {}}}], "$defs": {"h": {"$ref": "#"}}}), "without end"),
        (json!({"x": {"$id": "http://x/a", "y": {"type": "string"}}, "$ref": "#/x/y"}),        "where no draft looks"),
        (json!({"x": {"$id": "http://x/a"}, "$ref": "#/x"}),                                   "where no draft looks"),
        (json!({"$schema": ""}),                                                               "not a known draft"),
        (json!({"$schema": "http://169.254.169.254/"}),                                        "not a known draft"),
        (json!({"$schema": 7}),                                                                "not a known draft"),
        (json!({"items": {"$schema": "http://json-schema.org/draft-07/schema#"}}),             "not a known draft"),
        (json!({"$dynamicAnchor": "meta", "allOf": [{"$ref": "https://json-schema.org/draft/2020-12/schema"}]}), "dynamic anchor"),
        (json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "$id": "http://x/root", "$recursiveAnchor": true, "$ref": "http://x/c#/$defs/x",
                "$defs": {"c": {"$id": "http://x/c", "$recursiveAnchor": true, "$defs": {"x": {"$recursiveRef": "#"}}}}}), "without end"),
        (json!({"type": "string", "pattern": "(?i)a"}),                                        "inline flags"),
        (json!({"patternProperties": {"[]]": true}}),                                          "empty class"),
    ];
    for (document, part) in cases {
        let error = compile(&document).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(part), "{document}: {error}");
    }
}

#[test]
fn large_schemas_compile_quickly_or_are_refused() {
    // Ten times as many properties take about ten times as long. If each looked at all others it would be a hundred.
    let fastest = |properties: usize, attempts: usize| {
        let properties: serde_json::Map<String, Value> =
            (0..properties).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
        let document = json!({"properties": properties});
        let attempt = |_| {
            let started = Instant::now();
            compile(&document).unwrap();
            started.elapsed()
        };
        (0..attempts).map(attempt).min().unwrap()
    };
    let few = fastest(1_500, 5);
    // Another attempt is made only after one that was too slow, which a busy machine can be the reason for.
    assert!((0..5).any(|_| fastest(15_000, 1) < few * 40), "{few:?} for a tenth of the properties");
    let patterns: serde_json::Map<String, Value> =
        (0..9_000).map(|n| (format!("p{n}"), json!({"pattern": format!("\\w{{50}}{n}")}))).collect();
    assert!(compile(&json!({"properties": patterns})).is_err());

    let objects: Vec<Value> = (0..5_000).map(|n| json!({"a": n})).collect();
    let schema = compile(&json!({"items": {"enum": objects}})).unwrap();
    let started = Instant::now();
    let violation = schema.check(&json!(vec![json!({"a": 4_999}); 20_000])).unwrap_err();
    assert!(violation.message.contains("too deep or too large"), "{violation}");
    assert!(started.elapsed() < ANSWER);
    assert!(schema.check(&json!([{"a": 1}])).is_ok());
}

#[test]
fn a_dot_is_no_line_end() {
    let schema = compile(&json!({"type": "object", "properties": {"pattern": {"pattern": "^.+$"}}, "patternProperties": {"^x.$": {"type": "integer"}}})).unwrap();
    for (value, fits) in [("a", true), ("a\rb", false), ("a\u{2028}", false), ("a\n", false)] {
        assert_eq!(schema.check(&json!({"pattern": value})).is_ok(), fits, "{value:?}");
    }
    assert!(schema.check(&json!({"xy": "no"})).is_err());
}

#[test]
fn takes_schemas_that_only_look_like_traps() {
    let tree = json!({
        "$id": "https://example.com/tree",
        "type": "object",
        "properties": {"left": {"$ref": "#"}, "right": {"$ref": "tree"}, "value": {"$ref": "#/$defs/v"}},
        "$defs": {"v": {"$anchor": "value", "type": "integer"}},
    });
    let schema = compile(&tree).unwrap();
    assert!(schema.check(&json!({"left": {"value": 1}, "right": {"right": {"value": 2}}})).is_ok());
    assert!(schema.check(&json!({"left": {"left": {"value": "x"}}})).is_err());

    let embedded = json!({
        "$ref": "https://example.com/inner",
        "$defs": {"inner": {"$id": "https://example.com/inner", "$ref": "#/$defs/x", "$defs": {"x": {"type": "string"}}}},
    });
    let schema = compile(&embedded).unwrap();
    assert!(schema.check(&json!("a")).is_ok());
    assert!(schema.check(&json!(1)).is_err());

    let union = json!({"$defs": {"f": {"anyOf": [
        {"type": "object", "properties": {"op": {"const": "and"}, "of": {"type": "array", "items": {"$ref": "#/$defs/f"}}}, "required": ["op", "of"]},
        {"type": "object", "properties": {"op": {"const": "or"}, "of": {"type": "array", "items": {"$ref": "#/$defs/f"}}}, "required": ["op", "of"]},
        {"type": "string"},
    ]}}, "$ref": "#/$defs/f"});
    let schema = compile(&union).unwrap();
    assert!(schema.check(&json!({"op": "and", "of": ["a", {"op": "or", "of": ["b"]}]})).is_ok());

    compile(&json!({"$ref": "https://json-schema.org/draft/2020-12/schema"})).unwrap();
    compile(&json!({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"$id": "#a"}}, "$ref": "#a"})).unwrap();
    compile(&json!(true)).unwrap();
    compile(&json!({"properties": {"enum": {"enum": ["$ref", {"$ref": "nowhere"}]}}})).unwrap();
}

#[test]
fn refuses_values_that_would_take_for_ever() {
    // Each level doubles the judgements of the next one down.
    let doubling = fan_out(40, 2, |next| json!({"properties": {"a": next}}));
    let schema = compile(&doubling).unwrap();
    assert!(schema.check(&json!({"a": {"a": {}}})).is_ok());
    let deep = (0..35).fold(json!({}), |inner, _| json!({"a": inner}));
    let started = Instant::now();
    let violation = schema.check(&deep).unwrap_err();
    assert!(violation.message.contains("too deep or too large"), "{violation}");
    assert!(started.elapsed() < ANSWER);
}

#[test]
fn patterns_run_in_linear_time_and_anchor_at_the_end() {
    #[rustfmt::skip]
    let cases = [
        ("^(a|a)*$",                     format!("{}!", "a".repeat(40)),      false),
        ("^(a+)+$",                      format!("{}!", "a".repeat(100_000)), false),
        ("^(([a-z])+.)+[A-Z]([a-z])+$",  "a".repeat(100_000),                 false),
        ("(.*a){20}b",                   "a".repeat(10_000),                  false),
        ("^[a-z]+$",                     "abc\n".to_owned(),                  false),
        ("^\\d+$",                       "\u{662}".to_owned(),                false),
        ("^\\cC$",                       "\u{3}".to_owned(),                  true),
        ("^abc$",                        "abc".to_owned(),                    true),
    ];
    for (pattern, text, fits) in cases {
        let schema = compile(&json!({"type": "string", "pattern": pattern})).unwrap();
        let started = Instant::now();
        assert_eq!(schema.check(&json!(text)).is_ok(), fits, "{pattern}");
        assert!(started.elapsed() < ANSWER, "{pattern} took {:?}", started.elapsed());
    }
}

#[test]
fn violations_name_the_place_and_hide_the_value() {
    let schema = compile(&json!({"properties": {"n": {"maximum": 100}, "s": {"const": "x"}}})).unwrap();
    assert_eq!(
        schema.check(&json!({"n": 101})).unwrap_err().to_string(),
        "`/n`: value is greater than the maximum of 100"
    );
    let secret = schema.check(&json!({"s": "hunter2"})).unwrap_err().to_string();
    assert!(!secret.contains("hunter2"), "{secret}");
}

#[test]
fn deep_values_do_not_overflow_a_small_stack() {
    let check = || {
        let schema = compile(&json!({"$defs": {"t": {"anyOf": [{"type": "string"}, {"items": {"$ref": "#/$defs/t"}}]}}, "$ref": "#/$defs/t"})).unwrap();
        let deep = (0..126).fold(json!("x"), |inner, _| json!([inner]));
        schema.check(&deep).unwrap();
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(check).unwrap().join().unwrap();
}
