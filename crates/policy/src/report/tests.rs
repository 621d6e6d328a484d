//! Tests of the formats.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::escape::{command_data, command_property, json as json_text, sarif, uri};
use super::*;

/// Everything that a foreign text could try, at once.
const HOSTILE: &str =
    "a\u{1b}[31m\u{202e}\u{200b}\r\n::error::x | <img src=x> [l](http://e.test) `|` @you #1 100%";

fn finding(code: &'static str, level: Level, subject: &str, message: &str) -> Finding {
    Finding {
        code: code.into(),
        level,
        subject: subject.into(),
        message: message.into(),
        place: None,
        help: None,
        steps: Vec::new(),
    }
}

fn place(file: &str, line: u32) -> Option<FilePlace> {
    Some(FilePlace { file: file.into(), line, column: 5 })
}

fn report() -> Report<'static> {
    let widened = Finding {
        place: place("tools/ringfence.lock.json", 3),
        help: Some("narrow `network`".into()),
        ..finding("tool.network.widened", Level::Error, "tool fetch", "network: `*.x.test` → `*`")
    };
    let bypass = Finding {
        steps: vec![
            Step { text: "`fetch::run`".into(), place: place("src/run.rs", 7) },
            Step { text: "`std::fs::read`".into(), place: None },
        ],
        ..finding("lint.undeclared", Level::Error, "function fetch::run", "uses `fs.read`")
    };
    Report {
        title: "ringfence manifest diff",
        rules: &[("tool.network.widened", "a tool reaches more hosts"), ("tool.removed", "a tool is gone")],
        findings: vec![finding("tool.removed", Level::Note, "tool a|b", "is gone"), widened, bypass],
        data: json!({"hash": "00", "findings": "not ours"}),
    }
    .sorted()
}

#[test]
fn the_worst_is_first() {
    let order: Vec<String> = report().findings.iter().map(|one| one.code.to_string()).collect();
    assert_eq!(order, ["lint.undeclared", "tool.network.widened", "tool.removed"]);
}

#[test]
fn names_of_formats_are_read_and_written() {
    for format in Format::ALL {
        assert_eq!(format.to_string().parse(), Ok(format));
    }
    let error = "xml\u{1b}".parse::<Format>().unwrap_err();
    assert_eq!(error.to_string(), "`xml\\u{1b}` is not a format: human, json, sarif, github or markdown");
}

#[test]
fn shows_people_what_was_found() {
    insta::assert_snapshot!(report().render(Format::Human, Colour::Plain).text, @r"
    error[lint.undeclared] function fetch::run: uses `fs.read`
      1. `fetch::run` (src/run.rs:7:5)
      2. `std::fs::read`
    error[tool.network.widened] tool fetch: network: `*.x.test` → `*`
      at tools/ringfence.lock.json:3:5
      help: narrow `network`
    note[tool.removed] tool a|b: is gone
    ringfence manifest diff: 2 errors, 1 note
    ");
    let coloured = report().render(Format::Human, Colour::Ansi).text;
    assert!(coloured.starts_with("\u{1b}[1;31merror[lint.undeclared]\u{1b}[0m function"), "{coloured:?}");
    let empty = Report { findings: Vec::new(), ..report() };
    assert_eq!(empty.render(Format::Human, Colour::Plain).text, "ringfence manifest diff: no findings\n");
}

#[test]
fn gives_programs_what_was_found() {
    insta::assert_snapshot!(report().render(Format::Json, Colour::Plain).text, @r#"
    {
      "title": "ringfence manifest diff",
      "counts": {
        "error": 2,
        "warning": 0,
        "note": 1
      },
      "findings": [
        {
          "code": "lint.undeclared",
          "level": "error",
          "subject": "function fetch::run",
          "message": "uses `fs.read`",
          "steps": [
            {
              "text": "`fetch::run`",
              "place": {
                "file": "src/run.rs",
                "line": 7,
                "column": 5
              }
            },
            {
              "text": "`std::fs::read`"
            }
          ]
        },
        {
          "code": "tool.network.widened",
          "level": "error",
          "subject": "tool fetch",
          "message": "network: `*.x.test` → `*`",
          "place": {
            "file": "tools/ringfence.lock.json",
            "line": 3,
            "column": 5
          },
          "help": "narrow `network`"
        },
        {
          "code": "tool.removed",
          "level": "note",
          "subject": "tool a|b",
          "message": "is gone"
        }
      ],
      "hash": "00"
    }
    "#);
}

#[test]
fn tells_github_the_worst_and_sums_up_the_rest() {
    let rendered = report().render(Format::Github, Colour::Ansi);
    insta::assert_snapshot!(rendered.text, @r"
    ::error title=lint.undeclared function fetch%3A%3Arun::uses `fs.read`%0A1. `fetch::run`%0A2. `std::fs::read`
    ::error file=tools/ringfence.lock.json,line=3,col=5,title=tool.network.widened tool fetch::network: `*.x.test` → `*`%0Ahelp: narrow `network`
    ::notice title=tool.removed tool a|b::is gone
    ringfence manifest diff: 2 errors, 1 note
    ");
    insta::assert_snapshot!(rendered.summary.unwrap(), @r"
    ### ringfence manifest diff

    2 errors, 1 note

    | level | code | what | finding |
    |---|---|---|---|
    | error | `lint.undeclared` | function fetch::run | uses `fs.read`<br>1. `fetch::run` (`src/run.rs:7:5`)<br>2. `std::fs::read` |
    | error | `tool.network.widened` | tool fetch | network: `*.x.test` → `*` at `tools/ringfence.lock.json:3:5`<br>help: narrow `network` |
    | note | `tool.removed` | tool a&#124;b | is gone |
    ");
    let mut many: Vec<Finding> = (0..30)
        .map(|number| finding("tool.removed", Level::Note, &format!("tool t{number}"), "is gone"))
        .collect();
    many.push(finding("tool.network.widened", Level::Error, "tool last", "worse"));
    let rendered = Report { findings: many, ..report() }.render(Format::Github, Colour::Plain);
    let lines: Vec<&str> = rendered.text.lines().collect();
    assert_eq!(lines.len(), 11);
    assert!(lines[0].starts_with("::error title=tool.network.widened tool last::"), "{}", lines[0]);
    assert_eq!(lines[10], "ringfence manifest diff: 1 error, 30 notes; 21 more in the summary of the job");
    assert_eq!(rendered.summary.unwrap().matches("| note |").count(), 30);
}

#[test]
fn gives_forges_what_was_found() {
    insta::assert_snapshot!(report().render(Format::Sarif, Colour::Plain).text);
}

/// What the schema of SARIF 2.1.0 demands of the parts that we write.
fn assert_sarif(document: &Value) {
    assert_eq!(document["version"], "2.1.0");
    for run in document["runs"].as_array().unwrap() {
        let driver = &run["tool"]["driver"];
        assert!(driver["name"].is_string());
        let rules = driver["rules"].as_array().unwrap();
        let ids: BTreeSet<&str> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), rules.len(), "rules are unique");
        let mut prints = BTreeSet::new();
        for result in run["results"].as_array().unwrap() {
            assert!(!result["message"]["text"].as_str().unwrap().is_empty());
            assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"]);
            assert!(prints.insert(result["partialFingerprints"]["ringfence/v1"].as_str().unwrap()));
            let flows = result["codeFlows"].as_array().into_iter().flatten();
            let flows = flows.flat_map(|flow| flow["threadFlows"].as_array().unwrap());
            let steps = flows.flat_map(|flow| flow["locations"].as_array().unwrap());
            let own = result["locations"].as_array().unwrap().iter();
            assert!(own.len() > 0);
            for location in own.chain(steps.map(|step| &step["location"])) {
                let Some(place) = location.get("physicalLocation") else { continue };
                let uri = place["artifactLocation"]["uri"].as_str().unwrap();
                assert!(uri.bytes().all(|byte| byte.is_ascii_graphic()), "{uri}");
                assert!(place["region"]["startLine"].as_u64().unwrap() > 0);
                assert!(place["region"]["startColumn"].as_u64().unwrap() > 0);
            }
        }
    }
}

#[test]
fn sarif_has_what_the_format_demands() {
    let mut report = report();
    report.findings.push(Finding {
        place: Some(FilePlace { file: "/a b/é%\n".into(), line: 0, column: 0 }),
        ..finding("code.of.nobody", Level::Warning, "personality", HOSTILE)
    });
    // The same twice, and the same at another line.
    report.findings.extend(report.findings.clone());
    let document: Value = serde_json::from_str(&report.render(Format::Sarif, Colour::Plain).text).unwrap();
    assert_eq!(document["runs"][0]["results"].as_array().unwrap().len(), 8);
    assert_sarif(&document);
    let broken = document.to_string().replace("\"startLine\":1,", "\"startLine\":0,");
    let broken: Value = serde_json::from_str(&broken).unwrap();
    assert!(std::panic::catch_unwind(|| assert_sarif(&broken)).is_err(), "the test can fail");
}

#[test]
fn a_fingerprint_outlives_a_moved_line() {
    let print = |finding: Finding| {
        let text = Report { findings: vec![finding], ..report() }.render(Format::Sarif, Colour::Plain).text;
        let document: Value = serde_json::from_str(&text).unwrap();
        document["runs"][0]["results"][0]["partialFingerprints"]["ringfence/v1"].as_str().unwrap().to_owned()
    };
    let one = |message, line| Finding {
        place: place("src/a.rs", line),
        ..finding("tool.removed", Level::Note, "tool a", message)
    };
    assert_eq!(print(one("see src/a.rs:12:4, as said", 12)), print(one("see src/a.rs:99:1, as said", 99)));
    assert_ne!(print(one("see src/a.rs:12:4", 12)), print(one("see src/b.rs:12:4", 12)));
    let other = Finding { subject: "tool b".into(), ..one("see", 1) };
    assert_ne!(print(one("see", 1)), print(other));
}

#[test]
fn foreign_text_is_only_text() {
    #[rustfmt::skip]
    let cases = [
        // escape                    written                     shown
        ("plain",                    "a\u{1b}[1m\u{202e}\n",     r"a\u{1b}[1m\u{202e}\u{a}"),
        ("plain",                    "é → ü… \u{feff}\u{e0041}", r"é → ü… \u{feff}\u{e0041}"),
        ("json",                     "\"\u{202e}\u{1f980}\"",    r#""\u202e\ud83e\udd80""#),
        ("html",                     "<a href=\"x\">'&\u{1b}",   r"&lt;a href=&quot;x&quot;&gt;&#39;&amp;\u{1b}"),
        ("markdown",                 "a|b <b> [l](x) ![i](x)",   "a&#124;b &lt;b&gt; &#91;l&#93;(x) &#33;&#91;i&#93;(x)"),
        ("markdown",                 "`a|b` `<b>` `lone",        r"`a\|b` `<b>` &#96;lone"),
        ("markdown",                 "``x`` `` `a\\` `a\\|b`",   "&#96;&#96;x&#96;&#96; &#96;&#96; &#96;a&#92;&#96; &#96;a&#92;&#124;b&#96;"),
        ("markdown",                 "http://e.test www.e.test", "http&#58;//e.test www&#46;e.test"),
        ("markdown",                 "@you #1 *x* _y_ ~z~ $m$",  "&#64;you &#35;1 &#42;x&#42; &#95;y&#95; &#126;z&#126; &#36;m&#36;"),
        ("data",                     "50%\r\n::error:: ##[x]",   r"50%25\u{d}\u{a}::error:: #\u{23}[x]"),
        ("property",                 "a,b:c%",                   "a%2Cb%3Ac%25"),
        ("sarif",                    r"[l](1) a\b",              r"\[l\](1) a\\b"),
        ("uri",                      "a b/é?#.rs",               "a%20b/%C3%A9%3F%23.rs"),
        ("uri",                      "/etc/x",                   "file:///etc/x"),
    ];
    for (escape, written, shown) in cases {
        let found = match escape {
            "plain" => plain(written),
            "json" => json_text(written),
            "html" => html(written),
            "markdown" => markdown(written),
            "data" => command_data(written),
            "property" => command_property(written),
            "sarif" => sarif(written),
            _ => uri(written),
        };
        assert_eq!(found, shown, "{escape} {written:?}");
    }
}

#[test]
fn no_format_lets_a_hostile_text_through() {
    let hostile = Finding {
        place: place(HOSTILE, 1),
        help: Some(HOSTILE.into()),
        steps: vec![Step { text: HOSTILE.into(), place: place(HOSTILE, 2) }],
        ..finding("tool.removed", Level::Error, HOSTILE, HOSTILE)
    };
    let report = Report { findings: vec![hostile], ..report() };
    for format in Format::ALL {
        let rendered = report.render(format, Colour::Plain);
        for text in [rendered.text, rendered.summary.unwrap_or_default()] {
            let odd = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{200b}".contains(c);
            assert!(!text.contains(odd), "{format}: {text}");
            assert!(!text.lines().any(|line| line.starts_with("::error::x")), "{format}: {text}");
            if !text.starts_with("###") {
                continue;
            }
            // Within code a tag is only text.
            let prose: String = text.split('`').step_by(2).collect();
            for markup in ["<img", "](http", "@you", " | <"] {
                assert!(!prose.contains(markup), "{format} {markup}: {text}");
            }
            assert_eq!(text.lines().count(), 7, "{format}: {text}");
        }
    }
}

#[test]
fn colours_are_for_who_wants_them() {
    #[rustfmt::skip]
    let cases = [
        (("TERM", "xterm"),    Colour::Ansi),
        (("NO_COLOR", ""),     Colour::Ansi),
        (("NO_COLOR", "1"),    Colour::Plain),
        (("CLICOLOR", "1"),    Colour::Ansi),
        (("CLICOLOR", "0"),    Colour::Plain),
        (("TERM", "dumb"),     Colour::Plain),
    ];
    for ((name, value), colour) in cases {
        assert_eq!(
            Colour::of_terminal(|asked| (asked == name).then(|| value.into())),
            colour,
            "{name}={value}"
        );
    }
}
