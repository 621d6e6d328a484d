use super::*;

/// Declared, allowed, private, asked for, admitted.
type Case = (&'static [&'static str], &'static [&'static str], &'static [&'static str], &'static str, bool);

fn grant(declared: &[&str], allow: &[&str], private: &[&str]) -> NetworkGrant {
    let set = |patterns: &[&str]| patterns.iter().map(|text| text.parse().unwrap()).collect::<HostSet>();
    let private = Private::parse(private.iter().copied()).unwrap();
    NetworkGrant::meet(&set(declared), &NetworkCeiling::new(set(allow), private))
}

#[test]
fn private_space_is_reached_only_when_named() {
    #[rustfmt::skip]
    let cases: &[Case] = &[
        // declared       allow             private            target             admitted
        (&["*"],          &["*"],           &[],               "10.0.0.5:80",     false),
        (&["10.0.0.5"],   &["*"],           &[],               "10.0.0.5:80",     false),
        (&["10.0.0.5"],   &["10.0.0.5"],    &[],               "10.0.0.5:80",     true),
        (&["*"],          &["10.0.0.5"],    &[],               "10.0.0.5:80",     true),
        (&["*"],          &["*"],           &["10.0.0.0/8"],   "10.0.0.5:80",     true),
        (&["10.0.0.5"],   &["*"],           &["10.0.0.0/8"],   "10.0.0.5:80",     true),
        (&["10.0.0.6"],   &["*"],           &["10.0.0.0/8"],   "10.0.0.5:80",     false),
        (&["*"],          &["*:443"],       &["10.0.0.0/8"],   "10.0.0.5:80",     false),
        (&["*"],          &["*:443"],       &["10.0.0.0/8"],   "10.0.0.5:443",    true),
        (&["*"],          &["*.acme.io"],   &["10.0.0.0/8"],   "10.0.0.5:80",     false),
        (&["*"],          &["*"],           &["10.0.0.0/8"],   "192.168.0.1:80",  false),
        (&["*"],          &["*"],           &["*.lan"],        "nas.lan:80",      true),
        (&["*"],          &["*"],           &["nas.lan"],      "tv.lan:80",       false),
        (&["*"],          &["*", "nas.lan"], &[],              "nas.lan:80",      true),
        (&["*"],          &[],              &["nas.lan"],      "nas.lan:80",      false),
        (&[],             &["*"],           &["nas.lan"],      "nas.lan:80",      false),
        (&["*"],          &["*"],           &["fd00::/8"],     "[fd12::1]:80",    true),
        (&["*"],          &["*"],           &["fd00::/8"],     "[fe80::1]:80",    false),
    ];
    for (declared, allow, private, target, admitted) in cases {
        let judged = grant(declared, allow, private).judge(&Target::from_authority(target).unwrap());
        assert_eq!(judged.is_ok(), *admitted, "{declared:?} {allow:?} {private:?} ~ {target}");
    }
}

#[test]
fn narrowing_only_takes_away() {
    let wide = grant(&["*"], &["*.acme.io", "10.0.0.5"], &["10.0.0.0/8"]);
    let narrow = grant(&["*"], &["one.acme.io", "evil.net"], &["10.0.0.0/16", "192.168.0.0/16"]);
    let left = wide.narrowed(&narrow);
    let admits = |target| left.judge(&Target::from_authority(target).unwrap()).is_ok();
    assert!(admits("one.acme.io:443"));
    assert!(!admits("two.acme.io:443") && !admits("evil.net:443") && !admits("10.0.0.5:80"));
    let target = Target::from_authority("one.acme.io:443").unwrap();
    for (answer, admitted) in [("10.0.1.1", true), ("10.9.1.1", false), ("192.168.1.1", false)] {
        let judged = left.judge_address(&target, answer.parse().unwrap());
        assert_eq!(judged.is_ok(), admitted, "{answer}");
    }
}

#[test]
fn what_a_person_adds_is_one_target_above_the_floor() {
    let target = Target::from_authority("new.acme.io:443").unwrap();
    let grant = grant(&["one.acme.io"], &["one.acme.io"], &[]).with_target(&target);
    assert!(grant.judge(&target).is_ok());
    assert!(grant.judge(&Target::from_authority("new.acme.io:80").unwrap()).is_err());
    assert!(grant.judge_address(&target, [10, 0, 0, 5].into()).is_err());
}

#[test]
fn this_machine_is_reached_only_when_named() {
    let own: IpAddr = [93, 184, 216, 34].into();
    #[rustfmt::skip]
    let cases: &[(&[&str], &[&str], &str, bool)] = &[
        // allow                       private              asked for                admitted
        (&["one.acme.io"],             &[],                 "one.acme.io:80",        false),
        (&["one.acme.io"],             &["one.acme.io"],    "one.acme.io:80",        true),
        (&["one.acme.io"],             &["93.184.216.34"],  "one.acme.io:80",        true),
        (&["*"],                       &[],                 "93.184.216.34:80",      false),
        (&["93.184.216.34"],           &[],                 "93.184.216.34:80",      true),
        (&["93.184.216.34:443"],       &[],                 "93.184.216.34:80",      false),
    ];
    for (allow, private, asked, admitted) in cases {
        let grant = grant(allow, allow, private);
        let judged = grant.judge_own_address(&Target::from_authority(asked).unwrap(), own);
        assert_eq!(judged.is_ok(), *admitted, "{allow:?} {private:?} {asked}");
    }
    let star = grant(&["*"], &["*"], &[]);
    let literal = Target::from_authority("93.184.216.34:80").unwrap();
    assert_eq!(
        star.judge_own_address(&literal, own).unwrap_err().message,
        "93.184.216.34 is an address of this machine, and the personality's `private` does not list it"
    );
}

#[test]
fn a_gate_listens_where_a_pattern_may_be_reached() {
    let ports = |hosts: &[&str]| grant(hosts, hosts, &[]).ports().into_iter().collect::<Vec<_>>();
    assert_eq!(ports(&["acme.io"]), [80, 443]);
    assert_eq!(ports(&["acme.io:22", "db.acme.io:5432"]), [22, 80, 443, 5432]);
    assert_eq!(ports(&["*.acme.io", "db.acme.io:5432"]), [80, 443, 5432]); // admitted by both
    let declared = |hosts: &[&str], allow: &[&str]| grant(hosts, allow, &[]).ports();
    assert!(declared(&["db.acme.io:5432"], &["*"]).contains(&5432));
    assert!(declared(&["*"], &["db.acme.io:5432"]).contains(&5432));
    assert!(!declared(&["db.acme.io:22"], &["db.acme.io:5432"]).contains(&5432));
}

#[test]
fn asking_is_off_until_the_operator_says_so() {
    let read = |text: &str| serde_json::from_str::<NetworkCeiling>(text);
    let ceiling = read(r#"{"on_unknown": "ask"}"#).unwrap();
    assert_eq!(NetworkGrant::meet(&HostSet::default(), &ceiling).on_unknown(), OnUnknown::Ask);
    assert_eq!(read("{}").unwrap(), NetworkCeiling::default());
    assert!(NetworkGrant::default().is_empty());
    assert!(read(r#"{"on_unknown": "allow"}"#).is_err());
}

#[test]
fn answers_below_the_floor_are_refused_unless_lifted() {
    #[rustfmt::skip]
    let cases: &[(&[&str], &[&str], &str, bool)] = &[
        // allow                     private            answer               admitted
        (&["db.acme.io"],            &[],               "1.1.1.1",           true),
        (&["db.acme.io"],            &[],               "10.0.0.5",          false),
        (&["db.acme.io"],            &[],               "64:ff9b::1.1.1.1",  false),
        (&["db.acme.io"],            &["db.acme.io"],   "10.0.0.5",          true),
        (&["db.acme.io"],            &["*.acme.io"],    "10.0.0.5",          true),
        (&["db.acme.io"],            &["api.acme.io"],  "10.0.0.5",          false),
        (&["db.acme.io"],            &["10.0.0.0/24"],  "10.0.0.5",          true),
        (&["db.acme.io"],            &["10.0.0.0/24"],  "10.0.1.5",          false),
        (&["db.acme.io", "10.0.0.5"], &[],              "10.0.0.5",          true),
        (&["db.acme.io", "10.0.0.5:9"], &[],            "10.0.0.5",          false),
    ];
    let target = Target::from_authority("db.acme.io:443").unwrap();
    for (allow, private, answer, admitted) in cases {
        let judged = grant(&["*"], allow, private).judge_address(&target, answer.parse().unwrap());
        assert_eq!(judged.is_ok(), *admitted, "{allow:?} {private:?} ~ {answer}");
    }
}

#[test]
fn metadata_is_reached_by_its_own_address_alone() {
    #[rustfmt::skip]
    let cases: &[(&[&str], &[&str], &str, bool)] = &[
        // allow                              private                    answer                     admitted
        (&["db.acme.io"],                     &["db.acme.io"],           "10.0.0.5",                true),
        (&["db.acme.io"],                     &["db.acme.io"],           "169.254.169.254",         false),
        (&["db.acme.io"],                     &["*.acme.io"],            "169.254.169.254",         false),
        (&["db.acme.io"],                     &["169.254.0.0/16"],       "169.254.169.254",         false),
        (&["db.acme.io"],                     &["0.0.0.0/0"],            "100.100.100.200",         false),
        (&["db.acme.io"],                     &["169.254.169.254"],      "169.254.169.254",         true),
        (&["db.acme.io"],                     &["169.254.169.254"],      "169.254.170.2",           false),
        (&["db.acme.io"],                     &["169.254.169.254"],      "::ffff:169.254.169.254",  false),
        (&["db.acme.io", "169.254.169.254"],  &[],                       "169.254.169.254",         true),
        (&["db.acme.io", "169.254.169.254:1"], &[],                      "169.254.169.254",         false),
        (&["db.acme.io"],                     &["db.acme.io"],           "::ffff:169.254.169.254",  false),
        (&["db.acme.io"],                     &["db.acme.io"],           "64:ff9b::169.254.169.254", false),
        (&["db.acme.io"],                     &["db.acme.io"],           "2a00::a9fe:a9fe",         false),
        (&["db.acme.io"],                     &["db.acme.io"],           "fd00:ec2::254",           false),
        (&["db.acme.io"],                     &["fd00::/8"],             "fd00:ec2::254",           false),
        (&["db.acme.io"],                     &["fd00::/8"],             "fd00::1",                 true),
        (&["db.acme.io"],                     &["db.acme.io"],           "168.63.129.16",           false),
        (&["db.acme.io"],                     &["db.acme.io"],           "192.0.0.192",             false),
        (&["db.acme.io"],                     &["db.acme.io"],           "fe80::a9fe:a9fe",         false),
    ];
    let target = Target::from_authority("db.acme.io:443").unwrap();
    for (allow, private, answer, admitted) in cases {
        let judged = grant(&["*"], allow, private).judge_address(&target, answer.parse().unwrap());
        assert_eq!(judged.is_ok(), *admitted, "{allow:?} {private:?} ~ {answer}");
    }
    // The address itself, as a literal: a range around it is not enough, whatever the tool declares.
    for (declared, allow, private, admitted) in [
        (&["*"][..], &["*"][..], &["169.254.0.0/16"][..], false),
        (&["169.254.169.254"], &["*"], &["169.254.0.0/16"], false),
        (&["169.254.169.254"], &["*"], &["169.254.169.254"], true),
        (&["*"], &["169.254.169.254"], &[], true),
        (&["*"], &["*"], &[], false),
    ] {
        let judged =
            grant(declared, allow, private).judge(&Target::from_authority("169.254.169.254:80").unwrap());
        assert_eq!(judged.is_ok(), admitted, "{declared:?} {allow:?} {private:?}");
    }
}

#[test]
fn refusals_say_what_would_permit_them() {
    let grant = grant(&["api.acme.io:443", "db.acme.io"], &["*"], &[]);
    let judge = |authority| grant.judge(&Target::from_authority(authority).unwrap()).unwrap_err();

    let host = judge("API.stripe.com:443");
    assert_eq!(host.to_string(), "HOST_NOT_ALLOWED: api.stripe.com is not in the declared allowedHosts");
    assert_eq!(
        host.hint.unwrap(),
        "add `api.stripe.com` to the tool's `allowedHosts` and to the personality's `network.allow`"
    );
    assert_eq!(judge("api.acme.io:80").message, "api.acme.io:80 is not in the declared allowedHosts");
    assert!(judge("127.0.0.1:80").hint.unwrap().contains("is a loopback address"));

    let target = Target::from_authority("db.acme.io:443").unwrap();
    let address = grant.judge_address(&target, [169, 254, 169, 254].into()).unwrap_err();
    assert_eq!(
        address.message,
        "db.acme.io resolves to 169.254.169.254, a link-local address, \
         and the personality's `private` does not list it"
    );
    // Whoever reads a hint follows it: none leads to the credentials of the machine.
    for authority in [
        "169.254.169.254:80",
        "168.63.129.16:80",
        "100.100.100.200:80",
        "192.0.0.192:80",
        "[fd00:ec2::254]:80",
        "[fd20:ce::254]:80",
        "[fd00:42::42]:80",
        "metadata.google.internal:80",
    ] {
        let hint = judge(authority).hint.unwrap();
        assert!(hint.starts_with("no change is advised: at `") && !hint.contains("add"), "{hint}");
    }
    let hint = address.hint.unwrap();
    assert_eq!(
        hint,
        "no change is advised: at `169.254.169.254` clouds hand out the credentials of this machine"
    );
}

#[test]
fn ceilings_are_read_strictly_and_written_back() {
    let text = r#"{"allow":["*","nas.lan:80"],"private":["*.lan","10.0.0.0/8"]}"#;
    let ceiling: NetworkCeiling = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&ceiling).unwrap(), text);
    assert_eq!(serde_json::from_str::<NetworkCeiling>("{}").unwrap(), NetworkCeiling::default());
    #[rustfmt::skip]
    let refused = [
        (r#"{"deny":[]}"#,                  "unknown field `deny`"),
        (r#"{"allow":["a b"]}"#,            "U+0020"),
        (r#"{"private":["*"]}"#,            "`*` in `private`"),
        (r#"{"private":["nas.lan:80"]}"#,   "has a port"),
        (r#"{"private":["10.0.0.5/8"]}"#,   "not a range of addresses in canonical form"),
        (r#"{"private":["nas.lan/8"]}"#,    "not a range of addresses in canonical form"),
    ];
    for (text, part) in refused {
        let error = serde_json::from_str::<NetworkCeiling>(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}
