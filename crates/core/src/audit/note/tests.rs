//! Notes: the published one, round trips, and hostile ones.

use proptest::prelude::*;

use super::*;

const TEXT: &str = "If you think cryptography is the answer to your problem,\n\
                    then you don't know what your problem is.\n";
const SECRET: &str = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
const SIGNED: &str = "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

fn peter() -> SignerKey {
    SECRET.parse().unwrap()
}

fn key(name: &str, seed: u8) -> SignerKey {
    SignerKey::from_seed(name, &[seed; 32]).unwrap()
}

#[test]
fn writes_and_reads_the_published_note() {
    let note = Note::sign(TEXT, &peter()).unwrap();
    assert_eq!(note.to_string(), format!("{TEXT}\n{SIGNED}"));
    let read = Note::from_bytes(note.to_string().as_bytes()).unwrap();
    assert_eq!(read, note);
    assert_eq!(read.verify([peter().verifier()]), Ok(TEXT));
}

#[test]
fn reads_only_exact_notes() {
    let unknown = "— other AAAAAAE=\n";
    let many = |count: usize| (0..count).map(|at| format!("— other{at} AAAAAAE=\n")).collect::<String>();
    let long = "x".repeat(LENGTH_LIMIT);
    let name = "n".repeat(256);
    let shape = || Some(NoteError::Shape);
    let line = |line| Some(NoteError::Signature { line });
    let duplicate = |name: &str| Some(NoteError::Duplicate { name: name.into() });
    #[rustfmt::skip]
    let cases = [
        (format!("{TEXT}\n{SIGNED}"),                                    None),
        (format!("{TEXT}\n{SIGNED}{unknown}"),                           None),
        (format!("\n\n{SIGNED}"),                                        None),
        (format!("a\n\nb\n\n{SIGNED}"),                                  None),
        (format!("{TEXT}\n{}", many(64)),                                None),
        (String::new(),                                                  shape()),
        ("\n".into(),                                                    shape()),
        (TEXT.into(),                                                    shape()),
        (SIGNED.into(),                                                  shape()),
        (format!("\n{SIGNED}"),                                          shape()),
        (format!("{TEXT}{SIGNED}"),                                      shape()),
        (format!("{TEXT}\n"),                                            shape()),
        (format!("{TEXT}\n{SIGNED}\n"),                                  shape()),
        (format!("{TEXT}\n{}", SIGNED.trim_end()),                       shape()),
        (format!("{TEXT}\n{SIGNED}junk"),                                shape()),
        (format!("{TEXT}\n{SIGNED}junk\n"),                              line(2)),
        (format!("{TEXT}\n{SIGNED} \n"),                                 line(2)),
        (format!("{TEXT}\n {SIGNED}"),                                   line(1)),
        (format!("{TEXT}\n{}", SIGNED.replace('—', "-")),                line(1)),
        (format!("{TEXT}\n{}", SIGNED.replace("— ", "—")),               line(1)),
        (format!("{TEXT}\n{}", SIGNED.replace("— ", "—  ")),             line(1)),
        (format!("{TEXT}\n{}", SIGNED.replace("PeterNeumann", "")),      line(1)),
        (format!("{TEXT}\n{}", SIGNED.replace("PeterNeumann", "P+N")),   line(1)),
        (format!("{TEXT}\n{}", SIGNED.replace("PeterNeumann", "P N")),   line(1)),
        (format!("{TEXT}\n{}", SIGNED.replace("PeterNeumann", "P\u{2003}N")), line(1)),
        (format!("{TEXT}\n{}", SIGNED.replace("PeterNeumann", "P\u{85}N")), line(1)),
        (format!("{TEXT}\n{}", SIGNED.replace("PeterNeumann", &name)),   line(1)),
        (format!("{TEXT}\n{}", SIGNED.replace("AM=", "AM")),             line(1)),
        (format!("{TEXT}\n{}", SIGNED.replace("AM=", "AN=")),            line(1)),
        (format!("{TEXT}\n{}", SIGNED.replace("AM=", "AM= ")),           line(1)),
        (format!("{TEXT}\n{}", SIGNED.replace('/', "_")),                line(1)),
        (format!("{TEXT}\n— other AAAAAA==\n"),                          line(1)),
        (format!("{TEXT}\n— other \n"),                                  line(1)),
        (format!("{TEXT}\n— other\n"),                                   line(1)),
        (format!("{TEXT}\n{SIGNED}{SIGNED}"),                            duplicate("PeterNeumann")),
        (format!("{TEXT}\n{unknown}— other AAAAAAI=\n"),                 duplicate("other")),
        (format!("{TEXT}\n{}", many(65)),              Some(NoteError::Signatures { limit: 64 })),
        (format!("{long}\n\n{SIGNED}"),                Some(NoteError::Length { limit: LENGTH_LIMIT })),
        (format!("{TEXT}\n{SIGNED}").replace('\n', "\r\n"),              Some(NoteError::Characters)),
        (format!("tab\there\n\n{SIGNED}"),                               Some(NoteError::Characters)),
        (format!("nul\0here\n\n{SIGNED}"),                               Some(NoteError::Characters)),
        (format!("escape\u{1b}[2J\n\n{SIGNED}"),                         Some(NoteError::Characters)),
    ];
    for (written, error) in cases {
        let read = written.parse::<Note>();
        if let Ok(note) = &read {
            assert_eq!(note.to_string(), written);
        }
        assert_eq!(read.err(), error, "{written:.200?}");
    }
    assert_eq!(Note::from_bytes(b"\xff\n\n"), Err(NoteError::Characters));
}

#[test]
fn is_vouched_for_by_known_keys_only() {
    let (ours, namesake, stranger) = (key("log", 1), key("log", 2), key("witness", 3));
    let note = Note::sign("text\n", &stranger).unwrap().cosign(&namesake).unwrap();
    assert_eq!(note.verify([ours.verifier()]), Err(NoteError::Unknown));
    assert_eq!(note.verify([]), Err(NoteError::Unknown));
    let note = note.cosign(&ours).unwrap();
    assert_eq!(note.verify([ours.verifier()]), Ok("text\n"));
    assert_eq!(note.verify([ours.verifier(), stranger.verifier()]), Ok("text\n"));
    assert!(matches!(note.clone().cosign(&ours), Err(NoteError::Duplicate { .. })));

    // One forged signature of a known key spoils the note, however many others are right.
    let written = note.to_string();
    let forged: Note = written.replacen("text\n", "Text\n", 1).parse().unwrap();
    assert_eq!(forged.verify([ours.verifier()]), Err(NoteError::Forged { name: "log".into() }));
    let mut half = note.clone();
    half.signatures[0].bytes[5] ^= 1;
    assert_eq!(half.verify([ours.verifier()]), Ok("text\n"));
    let both = [ours.verifier(), stranger.verifier()];
    assert_eq!(half.verify(both), Err(NoteError::Forged { name: "witness".into() }));
    let mut short = note;
    short.signatures[2].bytes.pop();
    assert_eq!(short.verify([ours.verifier()]), Err(NoteError::Forged { name: "log".into() }));
}

#[test]
fn signs_only_lines() {
    let ours = key("log", 1);
    for (text, error) in [
        ("", NoteError::Shape),
        ("no newline", NoteError::Shape),
        ("tab\t\n", NoteError::Characters),
        ("return\r\n", NoteError::Characters),
    ] {
        assert_eq!(Note::sign(text, &ours), Err(error), "{text:?}");
    }
    let long = "x".repeat(LENGTH_LIMIT - 10) + "\n";
    assert_eq!(Note::sign(&long, &ours), Err(NoteError::Length { limit: LENGTH_LIMIT }));
}

proptest! {
    #[test]
    fn comes_back_as_it_was_written(text in "[ -~é—\n]{0,80}\n", seeds in prop::collection::btree_set(any::<u8>(), 1..4)) {
        let keys: Vec<SignerKey> = seeds.iter().map(|&seed| key("log", seed)).collect();
        let mut note = Note::sign(&text, &keys[0]).unwrap();
        for key in &keys[1..] {
            note = note.cosign(key).unwrap();
        }
        let read: Note = note.to_string().parse().unwrap();
        prop_assert_eq!(&read, &note);
        for key in &keys {
            prop_assert_eq!(read.verify([key.verifier()]), Ok(text.as_str()));
        }
    }

    #[test]
    fn breaks_with_any_changed_bit(at in any::<prop::sample::Index>(), bit in 0_u32..8) {
        let mut bytes = format!("{TEXT}\n{SIGNED}").into_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let verdict = Note::from_bytes(&bytes).and_then(|note| note.verify([peter().verifier()]).map(str::to_owned));
        prop_assert!(verdict.is_err());
    }

    #[test]
    fn never_panics_on_foreign_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[\n— +=A-Z]{0,60}") {
        drop(Note::from_bytes(&bytes));
        drop(text.parse::<Note>());
        drop(text.parse::<VerifierKey>());
        drop(text.parse::<SignerKey>());
    }
}
