use std::os::unix::ffi::OsStrExt;

use super::*;

fn pattern(text: &str) -> PathPattern {
    text.parse().unwrap()
}

#[test]
fn matches_only_what_was_named() {
    #[rustfmt::skip]
    let cases = [
        // pattern            path                     admitted
        ("/srv/x",            "/srv/x",                true),
        ("/srv/x/",           "/srv/x/a/b",            true),
        ("/srv/x",            "/srv/x-evil/a",         false),
        ("/srv/x",            "/srv/xa",               false),
        ("/srv/x",            "/srv",                  false),
        ("/srv/x",            "/SRV/x",                false),
        ("/srv/x",            "/srv/x/../y",           false),
        ("/srv/x",            "srv/x",                 false),
        ("/srv/x",            "",                      false),
        ("/",                 "/",                     true),
        ("/",                 "/etc/passwd",           true),
        ("//srv/./x//",       "/srv/x/a",              true),
        ("/srv/x/**",         "/srv/x",                true),
        ("/srv/x/**",         "/srv/x/a/b",            true),
        ("/srv/x/**",         "/srv/y",                false),
        ("/srv/*",            "/srv/a",                true),
        ("/srv/*",            "/srv/a/b",              false),
        ("/srv/*",            "/srv",                  false),
        ("/srv/*/**",         "/srv/a/b/c",            true),
        ("/srv/*/**",         "/srv/a",                true),
        ("/srv/*/**",         "/srv",                  false),
        ("/srv/**/*.md",      "/srv/a.md",             true),
        ("/srv/**/*.md",      "/srv/a/b/c.md",         true),
        ("/srv/**/*.md",      "/srv/a/b.md/c",         false),
        ("/srv/**/a/**/b",    "/srv/a/a/x/b",          true),
        ("/srv/**/a/**/b",    "/srv/x/b",              false),
        ("/**/.ssh",          "/.ssh",                 true),
        ("/**/.ssh",          "/home/u/.ssh",          true),
        ("/**/.ssh",          "/home/u/.ssh/id",       false),
        ("/srv/r?.txt",       "/srv/r1.txt",           true),
        ("/srv/r?.txt",       "/srv/r/.txt",           false),
        ("/srv/[a]",          "/srv/a",                false),
        ("/srv/[a]",          "/srv/[a]/b",            true),
        ("/srv/{a,b}",        "/srv/{a,b}",            true),
        (r"/srv/\*",          "/srv/*",                false),
        ("~/x",               "/root/x",               false),
        ("${workspace}",      "/work/x",               false),
    ];
    for (text, path, admitted) in cases {
        assert_eq!(pattern(text).matches(Path::new(path)), admitted, "{text} ~ {path}");
    }
}

#[test]
fn matches_bytes_that_are_not_text() {
    let odd = Path::new(std::ffi::OsStr::from_bytes(b"/srv/x/\xff\xfe"));
    assert!(pattern("/srv/x").matches(odd));
    assert!(pattern("/srv/x/*").matches(odd));
    assert!(pattern("/srv/**").matches(odd));
}

#[test]
fn is_kept_in_one_spelling() {
    #[rustfmt::skip]
    let cases = [
        // written              kept                 root           literal
        ("/",                   "/",                 "/",           true),
        ("/**",                 "/",                 "/",           true),
        ("/srv//x/./",          "/srv/x",            "/srv/x",      true),
        ("/srv/x/**",           "/srv/x",            "/srv/x",      true),
        ("/srv/x/**/**/",       "/srv/x",            "/srv/x",      true),
        ("/srv/*/**",           "/srv/*/**",         "/srv",        false),
        ("/srv/x/*.md",         "/srv/x/*.md",       "/srv/x",      false),
        ("/srv/x*/y",           "/srv/x*/y",         "/srv",        false),
        ("/*",                  "/*",                "/",           false),
        ("/**/a/**/**/b",       "/**/a/**/b",        "/",           false),
        ("~",                   "~",                 "",            false),
        ("~/a//b/",             "~/a/b",             "",            false),
        ("${workspace}/**",     "${workspace}",      "",            false),
        ("${self}/x",           "${self}/x",         "",            false),
    ];
    for (written, kept, root, literal) in cases {
        let parsed = pattern(written);
        assert_eq!(parsed.to_string(), kept, "{written}");
        assert_eq!(parsed.root(), Path::new(root), "{written}");
        assert_eq!(parsed.is_literal(), literal, "{written}");
        assert_eq!(pattern(kept), parsed, "{written}");
    }
}

#[test]
fn refuses_with_a_sentence() {
    #[rustfmt::skip]
    let cases = [
        ("",                "a path must not be empty"),
        ("srv/x",           "`srv/x` is not absolute"),
        ("./x",             "`./x` is not absolute"),
        ("/srv/../etc",     "`/srv/../etc` contains `..`; write the path it means"),
        ("~/../x",          "`~/../x` contains `..`; write the path it means"),
        ("/srv\0",          r"`/srv\u{0}` contains a NUL character"),
        ("/srv/a**",        "`/srv/a**` has `**` inside a component; it must stand alone between slashes"),
        ("/srv/***",        "`/srv/***` has `**` inside a component; it must stand alone between slashes"),
        ("${secret}/x",     "`${secret}/x` has an unknown variable; there are `${home}`, `${workspace}`, `${self}` and `~`"),
        ("${home",          "`${home` has an unknown variable; there are `${home}`, `${workspace}`, `${self}` and `~`"),
        ("${home}x",        "`${home}x` has a variable that is not the first whole component"),
        ("/srv/${home}",    "`/srv/${home}` has a variable that is not the first whole component"),
        ("~bob/x",          "`~bob/x` names another user's home, which is not supported"),
    ];
    for (text, sentence) in cases {
        assert_eq!(text.parse::<PathPattern>().unwrap_err().to_string(), sentence);
    }
}

#[test]
fn expands_once_and_literally() {
    let variables =
        Variables { home: Some("/home/ada/".into()), workspace: Some("/".into()), ..Variables::default() };
    for (text, expanded) in [
        ("~", "/home/ada"),
        ("~/.config", "/home/ada/.config"),
        ("${home}/*.md", "/home/ada/*.md"),
        ("${workspace}", "/"),
        ("${workspace}/x", "/x"),
        ("/srv", "/srv"),
    ] {
        assert_eq!(pattern(text).expand(&variables).unwrap(), pattern(expanded));
    }
    let unset = pattern("${self}/x").expand(&variables).unwrap_err();
    assert_eq!(unset.to_string(), "`${self}/x` needs a value for `${self}`, and there is none here");
    for value in ["relative", "/a*", "/a?", "/${home}", "/a\0"] {
        let variables = Variables { home: Some(value.into()), ..Variables::default() };
        assert!(matches!(pattern("~").expand(&variables), Err(PathError::Value { .. })), "{value}");
    }
}

#[test]
fn covers_exactly() {
    #[rustfmt::skip]
    let cases = [
        // wide               narrow                covered
        ("/srv",              "/srv/x",             true),
        ("/srv/x",            "/srv",               false),
        ("/srv/x",            "/srv/xy",            false),
        ("/",                 "/**/a",              true),
        ("/srv",              "/srv/**/a",          true),
        ("/srv/a",            "/srv/a*",            false),
        ("/srv/*",            "/srv/*.md",          true),
        ("/srv/*.md",         "/srv/*",             false),
        ("/srv/*",            "/srv/a",             false), // the literal admits what is below it
        ("/srv/*/**",         "/srv/a",             true),
        ("/srv/*/**",         "/srv",               false),
        ("/srv/**/*.md",      "/srv/a/*.md",        true),
        ("/srv/**/*.md",      "/srv/*.md",          true),
        ("/srv/*.md",         "/srv/**/*.md",       false),
        ("/**/a/**",          "/x/a",               true),
        ("/**/a/**",          "/a/b/c",             true),
        ("/**/b",             "/**/a/b",            true),
        ("/**/a/b",           "/**/b",              false),
        ("/srv/?*",           "/srv/*",             false), // a name may start with a byte that is not UTF-8
        ("/srv/*/**",         "/srv/?*",            true),
        ("/srv/*",            "/srv/?",             true),
        ("/srv/?",            "/srv/é",             false),
        ("/srv/??",           "/srv/é?",            true),
        ("/srv/??",           "/srv/é",             false),
        ("/srv/?",            "/srv/??",            false),
        ("/srv/*a*",          "/srv/*ba*",          true),
        ("/srv/*ba*",         "/srv/*a*",           false),
        ("/srv/**/*/**",      "/srv/*/**",          true),
        ("~",                 "${home}/x",          true),
        ("~/x",               "${home}",            false),
        ("${home}",           "${workspace}/x",     false),
        ("/",                 "${workspace}",       false),
        ("${workspace}",      "/work",              false),
    ];
    for (wide, narrow, covered) in cases {
        assert_eq!(pattern(wide).covers(&pattern(narrow)), covered, "{wide} ⊇ {narrow}");
    }
}

#[test]
fn covering_gives_up_closed() {
    let wide = pattern(&format!("/{}", "*a?".repeat(40)));
    assert!(!wide.covers(&pattern(&format!("/{}", "*a?b".repeat(40)))));
}
