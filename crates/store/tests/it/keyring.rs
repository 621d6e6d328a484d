//! The real keyring of this machine. Where the kernel refuses it, the refusal itself is what is tested.

use ringfence_store::KeyringSecrets;

use crate::ask;

#[cfg(target_os = "linux")]
mod kernel {
    use keyring_core::api::CredentialStoreApi as _;
    use keyring_core::{Entry, Error};
    use linux_keyutils_keyring_store::Store;
    use ringfence_store::KeyringSecrets;

    use crate::{Answer, VALUE, ask, error, value};

    /// An entry that is removed again.
    struct Kept(Entry);

    impl Kept {
        /// Writes an entry as somebody else would who does not know this crate.
        fn new(service: &str, user: &str, value: &[u8]) -> Result<Self, Error> {
            let entry = Store::new()?.build(service, user, None)?;
            entry.set_secret(value)?;
            Ok(Self(entry))
        }
    }

    impl Drop for Kept {
        fn drop(&mut self) {
            let _ = self.0.delete_credential();
        }
    }

    /// A ref that no other run of this test uses.
    fn own(name: &str) -> String {
        format!("test-{}/{name}", std::process::id())
    }

    #[tokio::test]
    async fn reads_back_what_was_put_in() {
        let (db, other, binary) = (own("db"), own("other"), own("binary"));
        let source = KeyringSecrets::new();
        let put = Kept::new("ringfence", &db, VALUE.as_bytes());
        let Ok(_db) = put else {
            println!("the kernel keyring refuses: {}", put.err().unwrap());
            let Answer::Error(error) = ask(&source, &db).await else { panic!("an answer from no keyring") };
            assert!(error.starts_with("the kernel keyring is not available: `"), "{error}");
            return;
        };
        println!("the kernel keyring works");
        let _other = Kept::new("another", &other, b"another\n").unwrap();
        let _binary = Kept::new("ringfence", &binary, b"hunter2-canary\xff").unwrap();

        let another = KeyringSecrets::for_service("another").unwrap();
        let disguised = format!("{other}@another");
        #[rustfmt::skip]
        let cases = [
            // source    ref             answer
            (&source,    db.as_str(),    value(VALUE)),
            (&source,    &other,         Answer::Missing),
            (&source,    &disguised,     Answer::Missing),
            (&source,    &binary,        error("the value is not UTF-8 text")),
            (&another,   &db,            Answer::Missing),
            (&another,   &other,         value("another\n")),
        ];
        for (source, name, answer) in cases {
            assert_eq!(ask(source, name).await, answer, "{source:?} {name}");
        }

        drop(_db);
        assert_eq!(ask(&source, &db).await, Answer::Missing);
    }
}

#[cfg(not(target_os = "linux"))]
#[tokio::test]
async fn says_that_there_is_none() {
    let answer = ask(&KeyringSecrets::new(), "prod/db").await;
    let sentence = "the keyring of this operating system is not available in this build";
    assert_eq!(answer, crate::error(sentence));
}

#[tokio::test]
async fn refuses_names_that_no_entry_has() {
    for name in ["", "prod\0db"] {
        let answer = ask(&KeyringSecrets::new(), name).await;
        assert_eq!(answer, crate::error("the ref cannot be the user of a keyring entry"), "{name:?}");
    }
    for service in ["", "a@b", "a\0b"] {
        assert!(KeyringSecrets::for_service(service).is_err(), "{service:?}");
    }
    assert!(KeyringSecrets::for_service("acme").is_ok());
}
