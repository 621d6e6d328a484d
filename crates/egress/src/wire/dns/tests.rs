use proptest::prelude::*;

use super::*;

/// Writes a query with these flags for a name of these labels.
fn message(flags: u16, labels: &[&[u8]], kind: u16, class: u16) -> Vec<u8> {
    let mut bytes = vec![0xAB, 0xCD];
    bytes.extend(flags.to_be_bytes());
    bytes.extend([0, 1, 0, 0, 0, 0, 0, 0]);
    for label in labels {
        bytes.push(u8::try_from(label.len()).unwrap());
        bytes.extend(*label);
    }
    bytes.push(0);
    bytes.extend(kind.to_be_bytes());
    bytes.extend(class.to_be_bytes());
    bytes
}

const RECURSIVE: u16 = 0x0100;
const A: u16 = 1;
const IN: u16 = 1;

fn query(labels: &[&[u8]], kind: u16) -> Query {
    Query::read(&message(RECURSIVE, labels, kind, IN)).unwrap()
}

fn host(name: &str) -> HostName {
    name.parse().unwrap()
}

#[test]
fn a_name_is_taken_only_from_plain_octets() {
    let long = [b'a'; 63];
    #[rustfmt::skip]
    let cases: &[(&[&[u8]], Option<&str>)] = &[
        // labels                                  the host asked for
        (&[b"api", b"acme", b"io"],                Some("api.acme.io")),
        (&[b"aPi", b"ACME", b"Io"],                Some("api.acme.io")),
        (&[b"_srv", b"acme", b"io"],               Some("_srv.acme.io")),
        (&[b"xn--bcher-kva", b"de"],               Some("xn--bcher-kva.de")),
        (&[b"localhost"],                          Some("localhost")),
        (&[],                                      None),
        (&[b"acme.io"],                            None), // a dot inside a label
        (&[b"acme\\.io"],                          None),
        (&[b"acme", b"io\0"],                      None),
        (&[b"evil\0", b"acme", b"io"],             None),
        (&[b"acme", b"io "],                       None),
        (&[b"ac%6de", b"io"],                      None),
        (&[b"acme\r\n", b"io"],                    None),
        (&[b"*", b"acme", b"io"],                  None),
        (&["bücher".as_bytes(), b"de"],            None),
        (&["git。acme".as_bytes(), b"io"],         None),
        (&[b"xn--a-", b"io"],                      None),
        (&[b"127", b"0", b"0", b"1"],              None),
        (&[b"0x7f", b"1"],                         None),
        (&[b"2130706433"],                         None),
        (&[b"1", b"2", b"3", b"256"],              None),
        (&[&long, &long, &long, &[b'a'; 62]],      None),
    ];
    for (labels, expected) in cases {
        let message = message(RECURSIVE, labels, A, IN);
        let asked = Query::read(&message).unwrap().asked().clone();
        let expected = expected.map_or(Asked::Unnamed, |name| Asked::Address(host(name)));
        assert_eq!(asked, expected, "{labels:?}");
    }
    let longest: [&[u8]; 4] = [&long, &long, &long, &[b'a'; 61]];
    assert!(query(&longest, A).is_address_question());
}

#[test]
fn other_kinds_of_a_name_are_known_to_be_nothing() {
    // AAAA, HTTPS, TXT, PTR, every type, one that nobody has defined, and A with its octets swapped.
    for kind in [28, 65, 16, 12, 255, 4711, 0x0100] {
        let query = query(&[b"acme", b"io"], kind);
        assert_eq!(query.asked(), &Asked::Nothing(host("acme.io")), "{kind}");
        assert_eq!(query.address(Ipv4Addr::LOCALHOST, 5), query.empty());
    }
}

#[test]
fn what_is_no_question_gets_no_address() {
    let good = message(RECURSIVE, &[b"acme", b"io"], A, IN);
    let with = |place: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[place] = value;
        bytes
    };
    // A question whose name is these octets, and a name before it in the header that a pointer could lead to.
    let named = |name: &[u8]| [b"\xAB\xCD\x01\0\0\x01\0\0\0\0\0\0", name, b"\0\x01\0\x01"].concat();
    for unanswered in [&[][..], &good[..11], &with(2, 0x81), &with(2, 0xFF)] {
        assert!(Query::read(unanswered).is_none(), "{unanswered:?}");
    }
    let label = |length: u8| [vec![length], vec![b'a'; length.into()]].concat();
    let octets_256 = [label(63), label(63), label(63), label(62), vec![0]].concat();
    let (format, implemented, refused) = (1, 4, 5);
    #[rustfmt::skip]
    let cases = [
        ("a header alone",                    good[..12].to_vec(),                                    format),
        ("no question",                       with(5, 0),                                             format),
        ("two questions",                     with(5, 2),                                             format),
        ("257 questions",                     with(4, 1),                                             format),
        ("a pointer to itself",               with(12, 0xC0),                                         format),
        ("a pointer into the header",         named(&[0xC0, 0x04]),                                   format),
        ("a pointer to the first label",      named(b"\x04acme\xC0\x0C"),                             format),
        ("a pointer to the label behind it",  named(b"\xC0\x0E\x04acme\0"),                           format),
        ("a pointer beyond the message",      named(&[0xFF, 0xFF]),                                   format),
        ("half a pointer",                    named(&[0xC0])[..13].to_vec(),                          format),
        ("a label of 64 octets",              named(&[&[64][..], &[b'a'; 64], &[0]].concat()),        format),
        ("an extended label",                 with(12, 0x41),                                         format),
        ("a label of the fourth type",        with(12, 0x80),                                         format),
        ("a label longer than the message",   with(17, 63),                                           format),
        ("a name of 256 octets",              named(&octets_256),                                     format),
        ("a name without an end",             named(&[1, b'a'].repeat(2_000)),                        format),
        ("another operation",                 with(2, 0x29),                                          implemented),
        ("an unassigned operation",           with(2, 0x79),                                          implemented),
        ("another class",                     message(RECURSIVE, &[b"acme", b"io"], A, 3),            refused),
        ("every class",                       message(RECURSIVE, &[b"acme", b"io"], A, 255),          refused),
        ("the class with its octets swapped", message(RECURSIVE, &[b"acme", b"io"], A, 0x0100),       refused),
    ];
    for (what, message, code) in cases {
        let query = Query::read(&message).expect(what);
        assert_eq!(query.asked(), &Asked::Unnamed, "{what}");
        for answer in [query.address(Ipv4Addr::LOCALHOST, 5), query.empty(), query.refused()] {
            assert_eq!((&answer[..2], answer[3] & 0xF), (&message[..2], code), "{what}");
            assert_eq!(answer[6..12], [0; 6], "{what}: no records");
            // What could not be read is not repeated.
            assert_eq!(
                (answer[5], answer.len() > 12),
                if code == refused { (1, true) } else { (0, false) },
                "{what}"
            );
        }
    }
}

#[test]
fn a_question_is_cut_short_wherever_it_is_cut() {
    let good = message(RECURSIVE, &[b"api", b"acme", b"io"], A, IN);
    for length in 0..good.len() {
        match Query::read(&good[..length]) {
            None => assert!(length < 12, "{length}"),
            Some(query) => assert_eq!(query.refused()[3..], [0x81, 0, 0, 0, 0, 0, 0, 0, 0], "{length}"),
        }
    }
}

#[test]
fn a_name_has_at_most_255_octets() {
    // With their lengths and the root: 127 × 2 + 1 octets, and 3 × 64 + 63 + 1.
    let long = [b'a'; 63];
    let names: [&[&[u8]]; 2] = [&[b"a".as_slice(); 127], &[&long, &long, &long, &[b'a'; 61]]];
    for (labels, octets) in names.into_iter().zip([255, 255]) {
        let asked = message(RECURSIVE, labels, A, IN);
        assert_eq!(asked.len(), 12 + octets + 4);
        let query = Query::read(&asked).unwrap();
        let Asked::Address(name) = query.asked() else { panic!("{query:?}") };
        assert_eq!(name.as_str().as_bytes(), labels.join(&b'.'));
        assert_eq!(query.refused()[12..], asked[12..]);
    }
}

#[test]
fn an_answer_echoes_the_question_to_the_letter() {
    let asked = message(RECURSIVE, &[b"aPi", b"AcMe", b"iO"], A, IN);
    let query = Query::read(&asked).unwrap();
    #[rustfmt::skip]
    let cases = [
        // answer                                   flags   records
        (query.address([198, 18, 0, 7].into(), 5),  0x8180, 1),
        (query.empty(),                             0x8180, 0),
        (query.refused(),                           0x8183, 0),
        (query.overloaded(),                        0x8182, 0),
    ];
    for (answer, flags, records) in cases {
        let flags = u16::to_be_bytes(flags);
        assert_eq!(answer[..12], [0xAB, 0xCD, flags[0], flags[1], 0, 1, 0, records, 0, 0, 0, 0]);
        assert_eq!(answer[12..asked.len()], asked[12..]);
        let record: &[u8] = &[0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 198, 18, 0, 7];
        assert_eq!(&answer[asked.len()..], if records == 1 { record } else { &[] });
    }
    #[rustfmt::skip]
    let flags = [
        // of the query, of the answer
        (0x0000, 0x8080), // recursion was not desired
        (0x0110, 0x8190), // the client checks signatures itself
        (0x07EF, 0x8180), // what only an answer says is not repeated
    ];
    for (asked, answered) in flags {
        let answer = Query::read(&message(asked, &[b"acme", b"io"], A, IN)).unwrap().empty();
        assert_eq!(answer[2..4], u16::to_be_bytes(answered), "{asked:04x}");
    }
}

#[test]
fn an_answer_does_not_depend_on_what_follows_the_question() {
    let plain = message(RECURSIVE, &[b"acme", b"io"], A, IN);
    let mut extended = plain.clone();
    extended[11] = 1;
    extended.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]); // EDNS
    let mut garbled = plain.clone();
    garbled[11] = 9;
    garbled.extend([0xFF; 40]);
    let answer = |bytes: &[u8]| Query::read(bytes).unwrap().address(Ipv4Addr::LOCALHOST, 5);
    assert_eq!(answer(&plain), answer(&extended));
    assert_eq!(answer(&plain), answer(&garbled));
}

#[test]
fn a_name_is_shown_on_one_short_line() {
    assert_eq!(query(&[b"aPi", b"acme", b"io"], A).shown_name(), "aPi.acme.io");
    assert_eq!(query(&[b"a.b\\", b"\r\n\xFF"], A).shown_name(), "a\\046b\\092.\\013\\010\\255");
    assert_eq!(query(&[], A).shown_name(), ".");
    let long = query(&[&[7; 60], &[7; 60], &[7; 60]], A).shown_name();
    assert_eq!(long.chars().count(), LONGEST_SHOWN);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_dropped(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        if let Some(query) = Query::read(&bytes) {
            prop_assert!(query.shown_name().chars().count() <= LONGEST_SHOWN);
            for answer in [query.address(Ipv4Addr::LOCALHOST, 1), query.empty(), query.refused(), query.overloaded()] {
                prop_assert!(answer.len() >= 12 && answer.len() <= 512);
                prop_assert_eq!(&answer[..2], &bytes[..2]);
            }
        }
    }

    #[test]
    fn any_host_is_asked_for_in_any_case(
        name in r"[a-z][a-z0-9]{0,20}(\.[a-z][a-z0-9]{0,20}){0,8}",
        upper in any::<u64>(),
        kind in prop_oneof![Just(A), any::<u16>()],
    ) {
        let spelled: String = name.chars().enumerate().map(|(place, letter)| match upper >> (place % 64) & 1 {
            0 => letter,
            _ => letter.to_ascii_uppercase(),
        }).collect();
        let labels: Vec<&[u8]> = spelled.split('.').map(str::as_bytes).collect();
        let query = query(&labels, kind);
        let expected = if kind == A { Asked::Address(host(&name)) } else { Asked::Nothing(host(&name)) };
        prop_assert_eq!(query.asked(), &expected);
        prop_assert_eq!(query.shown_name(), spelled);
        let records = query.address(Ipv4Addr::LOCALHOST, 5)[7];
        prop_assert_eq!(records, u8::from(kind == A));
    }

    #[test]
    fn a_length_that_is_none_spoils_the_name(
        before in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..20), 0..4),
        length in 64u8..,
        behind in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let labels: Vec<&[u8]> = before.iter().map(Vec::as_slice).collect();
        let mut asked = message(RECURSIVE, &labels, A, IN);
        asked.truncate(asked.len() - 5);
        asked.push(length);
        asked.extend(behind);
        let query = Query::read(&asked).unwrap();
        prop_assert_eq!(query.asked(), &Asked::Unnamed);
        prop_assert_eq!(&query.address(Ipv4Addr::LOCALHOST, 5)[2..], &[0x81, 0x81, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn any_labels_are_echoed(
        labels in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..20), 0..10),
        kind in any::<u16>(),
        class in any::<u16>(),
    ) {
        let labels: Vec<&[u8]> = labels.iter().map(Vec::as_slice).collect();
        let asked = message(RECURSIVE, &labels, kind, class);
        let query = Query::read(&asked).unwrap();
        prop_assert_eq!(&query.refused()[12..], &asked[12..]);
    }
}
