//! The real keyring of this machine. Where the kernel refuses it, the refusal itself is what is tested.

use ringfence_store::KeyringSecrets;

use crate::it::ask;

#[cfg(target_os = "linux")]
mod kernel {
    use linux_keyutils::{Key, KeyError, KeyRing, KeyRingIdentifier};
    use ringfence_store::KeyringSecrets;

    use crate::it::{Answer, VALUE, ask, error, value};

    /// An entry that is removed again.
    struct Kept(KeyRing, Key);

    impl Kept {
        fn new(keyring: KeyRing, service: &str, user: &str, value: &[u8]) -> Result<Self, KeyError> {
            keyring.add_key(&format!("keyring:{user}@{service}"), value).map(|key| Self(keyring, key))
        }
    }

    impl Drop for Kept {
        fn drop(&mut self) {
            // Unlinked and not invalidated: an invalid entry looks revoked until the kernel collects it.
            let _ = self.0.unlink_key(self.1);
        }
    }

    /// A ref that no other run of this test uses.
    fn own(name: &str) -> String {
        format!("test-{}/{name}", std::process::id())
    }

    #[tokio::test]
    async fn reads_back_what_was_put_in() {
        let [db, other, binary, big, revoked] = ["db", "other", "binary", "big", "revoked"].map(own);
        let source = KeyringSecrets::new();
        let session = KeyRing::from_special_id(KeyRingIdentifier::Session, false);
        let put = session.and_then(|session| Kept::new(session, "ringfence", &db, VALUE.as_bytes()));
        let kept = match put {
            Ok(kept) => kept,
            Err(refused) => {
                println!("the kernel keyring refuses ({refused}): testing the refusal");
                let Answer::Error(error) = ask(&source, &db).await else {
                    panic!("an answer from no keyring")
                };
                assert!(error.starts_with("the kernel keyring is not available: "), "{error}");
                return;
            }
        };
        println!("the kernel keyring works: testing the round trip");
        let session = session.unwrap();
        let _other = Kept::new(session, "another", &other, b"another\n").unwrap();
        let _binary = Kept::new(session, "ringfence", &binary, b"hunter2-canary\xff").unwrap();
        let most = "x".repeat(4096);
        let _big = Kept::new(session, "ringfence", &big, most.as_bytes()).unwrap();
        let revoke = Kept::new(session, "ringfence", &revoked, VALUE.as_bytes()).unwrap();
        revoke.1.revoke().unwrap();

        let another = KeyringSecrets::for_service("another").unwrap();
        let disguised = format!("{other}@another");
        #[rustfmt::skip]
        let cases = [
            // source    ref             answer
            (&source,    db.as_str(),    value(VALUE)),
            (&source,    &other,         Answer::Missing),
            (&source,    &disguised,     Answer::Missing),
            (&source,    &binary,        error("the value is not UTF-8 text")),
            (&source,    &big,           value(&most)),
            (&source,    &revoked,       error("its entry was revoked")),
            (&another,   &db,            Answer::Missing),
            (&another,   &other,         value("another\n")),
        ];
        for (source, name, answer) in cases {
            assert_eq!(ask(source, name).await, answer, "{source:?} {name}");
        }

        drop(kept);
        assert_eq!(ask(&source, &db).await, Answer::Missing);
        assert_eq!(
            KeyRing::from_special_id(KeyRingIdentifier::Session, false),
            Ok(session),
            "the session stays"
        );
    }

    #[tokio::test]
    async fn reads_the_persistent_keyring_without_a_link_to_it() {
        let name = own("persistent");
        let source = KeyringSecrets::new();
        let put = KeyRing::get_persistent(KeyRingIdentifier::Thread)
            .and_then(|keyring| Kept::new(keyring, "ringfence", &name, VALUE.as_bytes()));
        match put {
            Ok(_kept) => {
                println!("the kernel has a persistent keyring: testing the round trip");
                assert_eq!(ask(&source, &name).await, value(VALUE));
            }
            Err(KeyError::OperationNotSupported) => {
                println!("the kernel has no persistent keyring: testing that it is not missed");
                assert_eq!(ask(&source, &name).await, Answer::Missing);
            }
            Err(refused) => {
                println!("the kernel keyring refuses ({refused}): testing the refusal");
                assert!(matches!(ask(&source, &name).await, Answer::Error(_)));
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
#[tokio::test]
async fn says_that_there_is_none() {
    let answer = ask(&KeyringSecrets::new(), "prod/db").await;
    let sentence = "the keyring of this operating system is not available in this build";
    assert_eq!(answer, crate::it::error(sentence));
}

#[tokio::test]
async fn refuses_names_that_no_entry_has() {
    for name in ["", "prod\0db"] {
        let answer = ask(&KeyringSecrets::new(), name).await;
        assert_eq!(answer, crate::it::error("the ref cannot be the user of a keyring entry"), "{name:?}");
    }
    for service in ["", "a@b", "a\0b"] {
        assert!(KeyringSecrets::for_service(service).is_err(), "{service:?}");
    }
    assert!(KeyringSecrets::for_service("acme").is_ok());
}
