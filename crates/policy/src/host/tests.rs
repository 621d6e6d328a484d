use super::*;
use crate::{NetworkCeiling, NetworkGrant, Private};

/// The answer for one pattern that both tool and personality list; a pattern or target that fails is a refusal.
fn admitted(pattern: &str, target: Result<Target, HostError>) -> bool {
    let (Ok(pattern), Ok(target)) = (pattern.parse::<HostPattern>(), target) else { return false };
    let declared: HostSet = [pattern].into_iter().collect();
    let ceiling = NetworkCeiling::new(declared.clone(), Private::default());
    NetworkGrant::meet(&declared, &ceiling).judge(&target).is_ok()
}

#[test]
fn urls_are_matched_by_what_a_client_would_dial() {
    #[rustfmt::skip]
    let cases = [
        // pattern              url                                       admitted
        ("git.acme.io",         "https://git.acme.io/",                   true),
        ("git.acme.io",         "http://GIT.Acme.IO/x?y#z",               true),
        ("GIT.acme.io.",        "https://git.acme.io/",                   true),
        ("git.acme.io",         "https://git.acme.io./",                  true),
        ("git.acme.io",         "https://git.acme.io../",                 false),
        ("git.acme.io",         "https://acme.io/",                       false),
        ("git.acme.io",         "https://x.git.acme.io/",                 false),
        ("git.acme.io",         "https://git.acme.io.evil.net/",          false),
        ("git.acme.io",         "https://gitXacme.io/",                   false),
        ("*.acme.io",           "https://git.acme.io/",                   true),
        ("*.acme.io",           "https://a.b.c.acme.io/",                 true),
        ("*.acme.io",           "https://acme.io/",                       false),
        ("*.acme.io",           "https://notacme.io/",                    false),
        ("*.acme.io",           "https://.acme.io/",                      false),
        ("*.acme.io",           "https://a..acme.io/",                    false),
        ("*.acme.io",           "https://acme.io.evil.net/",              false),
        ("*.acme.io",           "https://evil.net/acme.io",               false),
        ("*.acme.io",           "https://evil.net?.acme.io",              false),
        ("*.acme.io",           "https://evil.net#.acme.io",              false),
        ("*.acme.io",           "https://evil.net\\.acme.io",             false),
        ("*.acme.io",           "https://evil.net%2f.acme.io/",           false),
        ("*.acme.io",           "https://evil.net%00.acme.io/",           false),
        ("*.acme.io",           "https://a b.acme.io/",                   false),
        ("*.acme.io",           "https://a,b.acme.io/",                   false),
        ("*.acme.io",           "https://a;b.acme.io/",                   false),
        ("*",                   "https://wikipedia.org/",                 true),
        ("*",                   "https://localhost/",                     false),
        ("*",                   "https://db.localhost/",                  false),
        ("*",                   "https://nas.local/",                     false),
        ("*",                   "https://metadata.cloud.internal/",       false),
        ("*",                   "https://router.home.arpa/",              false),
        ("*",                   "https://intranet/",                      false),
        ("*",                   "https://hidden.onion/",                  false),
        ("*",                   "https://localhost.acme.io/",             true),
        ("localhost",           "http://localhost:3000/",                 true),
        ("git.acme.io",         "https://git.acme.io@evil.net/",          false),
        ("git.acme.io",         "https://evil.net@git.acme.io/",          true),
        ("git.acme.io",         "https://git.acme.io%40evil.net/",        false),
        ("git.acme.io",         "https:///evil.net/",                     false),
        ("git.acme.io",         "//git.acme.io/",                         false),
        ("git.acme.io",         "git.acme.io",                            false),
        ("git.acme.io",         "file://git.acme.io/etc",                 false),
        ("git.acme.io",         "gopher://git.acme.io/",                  false),
        ("git.acme.io",         "javascript:git.acme.io",                 false),
        ("git.acme.io",         "blob:https://git.acme.io/x",             false),
        ("git.acme.io",         "wss://git.acme.io/live",                 true),
        ("git.acme.io",         "ws://evil.net/",                         false),
        ("git.acme.io",         "",                                       false),
        ("git.acme.io",         "https://",                               false),
        ("git.acme.io:8443",    "https://git.acme.io:8443/",              true),
        ("git.acme.io:8443",    "https://git.acme.io/",                   false),
        ("git.acme.io:443",     "https://git.acme.io/",                   true),
        ("git.acme.io:443",     "http://git.acme.io/",                    false),
        ("git.acme.io:80",      "http://git.acme.io/",                    true),
        ("git.acme.io",         "https://git.acme.io:0/",                 false),
        ("git.acme.io",         "https://git.acme.io:99999/",             false),
        ("git.acme.io",         "https://git.acme.io:4 43/",              false),
        ("*:443",               "https://wikipedia.org/",                 true),
        ("*:443",               "https://wikipedia.org:444/",             false),
        ("*.bücher.de",         "https://shop.xn--bcher-kva.de/",         true),
        ("xn--bcher-kva.de",    "https://BÜCHER.de/",                     true),
        ("buecher.de",          "https://bücher.de/",                     false),
        ("strasse.de",          "https://straße.de/",                     false),
        ("git.acme.io",         "https://gіt.acme.io/",                   false), // Cyrillic і
        ("git.acme.io",         "https://git。acme.io/",                  true),
        ("*.acme.io",           "https://evil.net／.acme.io/",            false), // full-width solidus
        ("*.acme.io",           "https://℅.acme.io/",                     false), // maps to c/o
        ("acme.io",             "https://xn--acme-.io/",                  false),
        ("*.acme.io",           "https://xn--zz--.acme.io/",              false),
    ];
    for (pattern, url, expected) in cases {
        assert_eq!(admitted(pattern, Target::from_url(url)), expected, "{pattern} ~ {url}");
    }
}

#[test]
fn addresses_are_judged_as_the_address_they_are() {
    #[rustfmt::skip]
    let cases = [
        // pattern          url                                        admitted
        ("*",               "http://1.1.1.1/",                         true),
        ("*",               "http://0x01010101/",                      true),
        ("*",               "http://127.0.0.1/",                       false),
        ("*",               "http://017700000001/",                    false),
        ("*",               "http://0X7F.0x1/",                        false),
        ("*",               "http://127.0.1/",                         false),
        ("*",               "http://１２７.0.0.1/",                    false),
        ("*",               "http://127。0。0。1/",                    false),
        ("*",               "http://127.0.0.1%2e/",                    false),
        ("*",               "http://10.255.255.255/",                  false),
        ("*",               "http://256.1.1.1/",                       false),
        ("*",               "http://1.2.3.4.5/",                       false),
        ("*",               "http://1.2.3.09/",                        false),
        ("*",               "http://host.0x1/",                        false),
        ("*",               "http://[::]/",                            false),
        ("*",               "http://[::1]/",                           false),
        ("*",               "http://[::ffff:8.8.8.8]/",                false),
        ("*",               "http://[2002:7f00:1::]/",                 false),
        ("*",               "http://[2606:4700:4700::1111]/",          true),
        ("*",               "http://[fe80::1%25lo]/",                  false),
        ("*",               "http://[::1]extra/",                      false),
        ("*",               "http://::1/",                             false),
        ("127.0.0.1",       "http://127.0.0.1:9200/",                  true),
        ("127.0.0.1",       "http://127.0.0.11/",                      false),
        ("127.0.0.1",       "http://localhost/",                       false),
        ("127.0.0.1:80",    "http://127.0.0.1:81/",                    false),
        ("9.9.9.9",         "http://19.9.9.9/",                        false),
        ("*.9.9.9",         "http://9.9.9.9/",                         false),
        ("::1",             "http://[0::0:1]/",                        true),
        ("[::1]",           "http://[::1]:1/",                         true),
        ("[::1]:9000",      "http://[::1]:9000/",                      true),
        ("[::1]:9000",      "http://[::1]/",                           false),
        ("::1",             "http://127.0.0.1/",                       false),
    ];
    for (pattern, url, expected) in cases {
        assert_eq!(admitted(pattern, Target::from_url(url)), expected, "{pattern} ~ {url}");
    }
}

#[test]
fn authorities_are_read_strictly() {
    #[rustfmt::skip]
    let cases = [
        // pattern          authority                     admitted
        ("git.acme.io",     "git.acme.io:443",            true),
        ("git.acme.io",     "Git.Acme.io.:22",            true),
        ("git.acme.io",     "git.acme.io",                false),
        ("git.acme.io",     "git.acme.io:",               false),
        ("git.acme.io",     "git.acme.io:0",              false),
        ("git.acme.io",     "git.acme.io:+443",           false),
        ("git.acme.io",     "git.acme.io:0443",           false),
        ("git.acme.io",     "git.acme.io:65536",          false),
        ("git.acme.io",     "git.acme.io:443 ",           false),
        ("git.acme.io",     "git.acme.io:443\r\nX: y",    false),
        ("git.acme.io",     "git.acme.io:443/x",          false),
        ("git.acme.io",     "git.acme.io:443@evil.net:1", false),
        ("git.acme.io",     "git.acme.io:evil.net:443",   false),
        ("git.acme.io",     "http://git.acme.io:443",     false),
        ("git.acme.io",     "git%2eacme.io:443",          false),
        ("git.acme.io",     "git。acme.io:443",           false),
        ("git.acme.io",     "\u{FEFF}git.acme.io:443",    false),
        ("git.acme.io",     ":443",                       false),
        ("git.acme.io",     "[git.acme.io]:443",          false),
        ("*.acme.io",       "evil.net\0.acme.io:443",     false),
        ("*.acme.io",       "*.acme.io:443",              false),
        ("*",               "8.8.8.8:53",                 true),
        ("*",               "0x7f.1:80",                  false),
        ("*",               "2130706433:80",              false),
        ("*",               "[::1]:80",                   false),
        ("*",               "::1:80",                     false),
        ("*",               "[2620:fe::fe]:443",          true),
        ("*",               "[2620:fe::fe%eth0]:443",     false),
        ("*",               "[2620:fe::fe]",              false),
    ];
    for (pattern, authority, expected) in cases {
        assert_eq!(
            admitted(pattern, Target::from_authority(authority)),
            expected,
            "{pattern} ~ {authority:?}"
        );
    }
}

#[test]
fn refused_patterns_say_what_is_wrong() {
    #[rustfmt::skip]
    let cases = [
        ("",                     "a host is expected, and the text is empty"),
        (".",                    "`.` has an empty label, or one longer than 63 octets"),
        ("a..b",                 "`a..b` has an empty label, or one longer than 63 octets"),
        (".acme.io",             "`.acme.io` has an empty label, or one longer than 63 octets"),
        ("*.",                   "`*.` has an empty label, or one longer than 63 octets"),
        ("**",                   "`**` has a wildcard other than `*` alone or a leading `*.`"),
        ("*.*",                  "`*.*` has a wildcard other than `*` alone or a leading `*.`"),
        ("a.*.io",               "`a.*.io` has a wildcard other than `*` alone or a leading `*.`"),
        ("*acme.io",             "`*acme.io` has a wildcard other than `*` alone or a leading `*.`"),
        ("acme.*",               "`acme.*` has a wildcard other than `*` alone or a leading `*.`"),
        ("https://acme.io",      "`https://acme.io` has a scheme, and only hosts are matched"),
        ("acme.io/v1",           "`acme.io/v1` has a path, and only hosts are matched"),
        ("me@acme.io",           "`me@acme.io` has user information before the host"),
        ("acme io",              "`acme io` contains the character U+0020, which is never part of a host"),
        (" acme.io",             "` acme.io` contains the character U+0020, which is never part of a host"),
        ("a\ncme.io",             "`a\\ncme.io` contains the character U+000A, which is never part of a host"),
        ("acme%2eio",            "`acme%2eio` contains `%`, which is never part of a host"),
        ("acme.io:",             "`acme.io:` does not end in a port from 1 to 65535"),
        ("acme.io:http",         "`acme.io:http` does not end in a port from 1 to 65535"),
        ("acme.io:70000",        "`acme.io:70000` does not end in a port from 1 to 65535"),
        ("acme.io:1:2",          "`acme.io:1:2` does not end in a port from 1 to 65535"),
        ("0x7f.1",               "`0x7f.1` is an odd spelling of the address 127.0.0.1"),
        ("0:0::1",               "`0:0::1` is an odd spelling of the address ::1"),
        ("2001:DB8::1",          "`2001:DB8::1` is an odd spelling of the address 2001:db8::1"),
        ("fe80::1%eth0",         "`fe80::1%eth0` has a zone id, which means something on one machine only"),
        ("10.0.0.0/8",           "`10.0.0.0/8` is a range of addresses, which only `private` takes"),
        ("*.10.0.0.1",           "`*.10.0.0.1` is an address, and a name is expected here"),
        ("1.2.3.400",            "`1.2.3.400` is not a valid host name"),
        ("[acme.io]",            "`[acme.io]` is not a valid host name"),
        ("xn--a-.io",            "`xn--a-.io` is not a valid host name"),
    ];
    for (pattern, sentence) in cases {
        let error = pattern.parse::<HostPattern>().expect_err(pattern);
        assert_eq!(error.to_string(), sentence);
        assert_eq!(error.code(), crate::Code::InputInvalid);
    }
}

#[test]
fn names_end_where_dns_ends() {
    let label = "a".repeat(63);
    let full = [label.clone(), label.clone(), label.clone(), "a".repeat(61)].join(".");
    assert_eq!(full.parse::<HostName>().unwrap().as_str().len(), 253);
    assert!(format!("{full}.").parse::<HostName>().is_ok());
    assert_eq!(format!("{full}a").parse::<HostName>(), Err(HostError::Length { length: 254 }));
    assert!(format!("{label}a.io").parse::<HostName>().is_err());
}

#[test]
fn sets_meet_without_leftovers() {
    let set = |patterns: &[&str]| patterns.iter().map(|text| text.parse().unwrap()).collect::<HostSet>();
    #[rustfmt::skip]
    let cases = [
        (set(&["a.io", "b.io"]),         set(&["*.io"]),                 r#"["a.io","b.io"]"#),
        (set(&["*.a.io"]),               set(&["x.a.io", "*.y.a.io"]),   r#"["x.a.io","*.y.a.io"]"#),
        (set(&["*.a.io", "x.a.io"]),     set(&["*.a.io", "x.a.io:1"]),   r#"["*.a.io"]"#),
        (set(&["*"]),                    set(&["a.io:1", "10.0.0.1"]),   r#"["10.0.0.1","a.io:1"]"#),
        (set(&["a.io:1"]),               set(&["a.io:2"]),               "[]"),
        (set(&["*:443"]),                set(&["*.a.io"]),               r#"["*.a.io:443"]"#),
        (set(&["*"]),                    set(&[]),                       "[]"),
    ];
    for (declared, permitted, expected) in cases {
        assert_eq!(serde_json::to_string(&declared.meet(&permitted)).unwrap(), expected);
        assert_eq!(serde_json::to_string(&permitted.meet(&declared)).unwrap(), expected);
    }
}
