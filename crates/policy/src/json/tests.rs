use super::*;

const SMALL: JsonLimits = JsonLimits { bytes: 1000, depth: 4, values: 20 };

#[test]
fn agrees_with_serde_json_on_what_both_accept() {
    let texts = [
        "null",
        " true ",
        "[1,-2,3.5,1e3,-0.0]",
        r#"{"a":{"b":[]},"c":""}"#,
        r#""\u00e9\ud83d\ude00\n\/""#,
        "18446744073709551615",
        "-9223372036854775808",
        "5.0",
    ];
    for text in texts {
        let ours = parse_json(text, SMALL).unwrap();
        assert_eq!(ours, serde_json::from_str::<Value>(text).unwrap(), "{text}");
    }
}

#[test]
fn refuses_what_two_readers_could_see_differently() {
    #[rustfmt::skip]
    let cases = [
        ("{\"a\":1,\n \"a\":2}",              "key `a` appears twice at line 2 column 2"),
        ("{\"a\":1,\"\\u0061\":2}",           "key `a` appears twice at line 1 column 8"),
        ("18446744073709551616",              "number `18446744073709551616` cannot be held exactly at line 1 column 1"),
        ("100.0000000000000000001",           "number `100.0000000000000000001` cannot be held exactly at line 1 column 1"),
        ("1e1000000000",                      "number `1e1000000000` cannot be held exactly at line 1 column 1"),
        ("100.0000000000000000001e0",         "number `100.0000000000000000001e0` cannot be held exactly at line 1 column 1"),
        ("10000000000000000000000001e-23",    "number `10000000000000000000000001e-23` cannot be held exactly at line 1 column 1"),
        ("1e-400",                            "number `1e-400` cannot be held exactly at line 1 column 1"),
        ("1e-1000000000",                     "number `1e-1000000000` cannot be held exactly at line 1 column 1"),
        ("1e99999999999999999999",            "number `1e99999999999999999999` cannot be held exactly at line 1 column 1"),
        ("9007199254740993.0",                "number `9007199254740993.0` cannot be held exactly at line 1 column 1"),
        ("9007199254740993e0",                "number `9007199254740993e0` cannot be held exactly at line 1 column 1"),
        ("NaN",                               "expected a JSON value at line 1 column 1"),
        ("01",                                "malformed number at line 1 column 1"),
        ("+1",                                "expected a JSON value at line 1 column 1"),
        (".5",                                "expected a JSON value at line 1 column 1"),
        ("1.",                                "malformed number at line 1 column 1"),
        ("\"\\ud800\"",                       "half of a surrogate pair at line 1 column 2"),
        ("\"\\udc00\"",                       "half of a surrogate pair at line 1 column 2"),
        ("\"a\nb\"",                          "a control character in a string must be escaped at line 1 column 3"),
        ("\"\\x\"",                           "unknown escape in a string at line 1 column 2"),
        ("\"\\u12é4\"",                       "`\\u` needs four hexadecimal digits at line 1 column 2"),
        ("\"abc",                             "a string is not closed at line 1 column 5"),
        ("{a:1}",                             "expected a key in double quotes at line 1 column 2"),
        ("[1,]",                              "expected a JSON value at line 1 column 4"),
        ("{\"a\":1}//x",                      "text after the value at line 1 column 8"),
        ("\u{feff}1",                         "expected a JSON value at line 1 column 1"),
        ("",                                  "the text ends where a value should be at line 1 column 1"),
        ("[[[[[1]]]]]",                       "nested deeper than 4 levels at line 1 column 5"),
        ("tru",                               "expected a JSON value at line 1 column 1"),
    ];
    for (text, message) in cases {
        assert_eq!(parse_json(text, SMALL).unwrap_err().to_string(), message, "{text}");
    }
}

#[test]
fn counts_values_and_bytes() {
    let many = format!("[{}1]", "1,".repeat(30));
    assert_eq!(parse_json(&many, SMALL).unwrap_err().message, "more than 20 values");
    let long = format!("\"{}\"", "a".repeat(2000));
    assert_eq!(parse_json(&long, SMALL).unwrap_err().message, "larger than 1000 bytes");
    assert_eq!(SMALL.check(&Value::from("a".repeat(2000))).unwrap_err().message, "larger than 1000 bytes");
    assert_eq!(SMALL.check(&Value::from(vec![1; 30])).unwrap_err().message, "more than 20 values");
    SMALL.check(&serde_json::json!({"a": [1, {"b": 2}]})).unwrap();
    assert!(SMALL.check(&serde_json::json!([[[[[]]]]])).is_err());
}

#[test]
fn reads_ordinary_fractions_and_exponents() {
    #[rustfmt::skip]
    let cases = [
        ("1.5e1", 15.0), ("1.50", 1.5), ("100.000", 100.0), ("-0", 0.0), ("2E-2", 0.02), ("1e308", 1e308), ("1e23", 1e23),
        ("0e999999999", 0.0), ("-0.0e-5", 0.0), ("9007199254740992.0", 9_007_199_254_740_992.0), ("0.1", 0.1), ("1e22", 1e22),
        ("3.141592653589793238462643", std::f64::consts::PI),
    ];
    for (text, number) in cases {
        let read = parse_json(text, SMALL).map(|value| value.as_f64());
        assert_eq!(read, Ok(Some(number)), "{text}");
    }
}
