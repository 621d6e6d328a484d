use hickory_proto::op::Message;
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
    for (kind, name) in
        [(28, "AAAA"), (65, "HTTPS"), (16, "TXT"), (12, "PTR"), (255, "ANY"), (4711, "TYPE4711")]
    {
        let query = query(&[b"acme", b"io"], kind);
        assert_eq!(query.asked(), &Asked::Nothing(host("acme.io")));
        assert_eq!(query.kind_name(), name);
        assert_eq!(query.address(Ipv4Addr::LOCALHOST, 5), query.empty());
    }
}

#[test]
fn what_is_no_question_gets_no_address() {
    let good = message(RECURSIVE, &[b"acme", b"io"], A, IN);
    let with = |place: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[place] = value;
        Query::read(&bytes)
    };
    assert!(Query::read(&[]).is_none());
    assert!(Query::read(&good[..11]).is_none());
    assert!(with(2, 0x81).is_none(), "a response");
    #[rustfmt::skip]
    let cases = [
        ("a question cut short",  Query::read(&good[..20]),                                    ResponseCode::FormErr),
        ("a header alone",        Query::read(&good[..12]),                                    ResponseCode::FormErr),
        ("no question",           with(5, 0),                                                  ResponseCode::FormErr),
        ("two questions",         with(5, 2),                                                  ResponseCode::FormErr),
        ("a pointer to itself",   with(12, 0xC0),                                              ResponseCode::FormErr),
        ("a label of 64 octets",  with(12, 0x40),                                              ResponseCode::FormErr),
        ("another operation",     with(2, 0x29),                                               ResponseCode::NotImp),
        ("another class",         Query::read(&message(RECURSIVE, &[b"acme", b"io"], A, 3)),   ResponseCode::Refused),
        ("every class",           Query::read(&message(RECURSIVE, &[b"acme", b"io"], A, 255)), ResponseCode::Refused),
    ];
    for (what, query, code) in cases {
        let query = query.expect(what);
        assert_eq!(query.asked(), &Asked::Unnamed, "{what}");
        for answer in [query.address(Ipv4Addr::LOCALHOST, 5), query.empty(), query.refused()] {
            let answer = Message::from_vec(&answer).unwrap();
            assert_eq!((answer.response_code, answer.answers.len(), answer.id), (code, 0, 0xABCD), "{what}");
        }
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
    let quiet = Query::read(&message(0, &[b"acme", b"io"], A, IN)).unwrap().empty();
    assert_eq!(quiet[2..4], [0x80, 0x80], "recursion was not desired");
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
