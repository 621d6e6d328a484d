//! Keys and values.

use std::time::Duration;

use ringfence::StoreError;

use super::on_each;

#[tokio::test]
async fn keeps_values_by_namespace() {
    on_each(async |made| {
        let store = made.store();
        store.set("a", "key", "1", None).await.unwrap();
        store.set("b", "key", "2", None).await.unwrap();
        store.set("a", "key", "", None).await.unwrap();
        store.set("a", "kéy\u{10ffff}", "3", None).await.unwrap();
        assert_eq!(store.get("a", "key").await.unwrap().as_deref(), Some(""));
        assert_eq!(store.get("a", "kéy\u{10ffff}").await.unwrap().as_deref(), Some("3"));
        assert_eq!(store.get("b", "key").await.unwrap().as_deref(), Some("2"));
        assert_eq!(store.get("a", "KEY").await.unwrap(), None);
        assert_eq!(store.get("c", "key\0").await.unwrap(), None);
        store.delete("a", "key").await.unwrap();
        store.delete("a", "key").await.unwrap();
        assert_eq!(store.get("a", "key").await.unwrap(), None);
        store.clear("b").await.unwrap();
        assert_eq!(store.get("b", "key").await.unwrap(), None);
        assert_eq!(store.list("a", "").await.unwrap(), ["kéy\u{10ffff}"]);
    })
    .await;
}

#[tokio::test]
async fn lists_by_prefix_and_never_by_pattern() {
    on_each(async |made| {
        let store = made.store();
        for key in ["a", "a/1", "a/2", "a0", "A/1", "%", "_", "é", "a/\u{10ffff}"] {
            store.set("space", key, "", None).await.unwrap();
        }
        store.set("other", "a/3", "", None).await.unwrap();
        #[rustfmt::skip]
        let cases = [
            ("a/",  vec!["a/1", "a/2", "a/\u{10ffff}"]),
            ("a",   vec!["a", "a/1", "a/2", "a/\u{10ffff}", "a0"]),
            ("%",   vec!["%"]),
            ("_",   vec!["_"]),
            ("é",   vec!["é"]),
            ("x",   vec![]),
            ("a\0", vec![]),
            ("",    vec!["%", "A/1", "_", "a", "a/1", "a/2", "a/\u{10ffff}", "a0", "é"]),
        ];
        for (prefix, expected) in cases {
            assert_eq!(store.list("space", prefix).await.unwrap(), expected, "{prefix:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn values_expire_by_the_clock_of_the_store() {
    on_each(async |made| {
        let store = made.store();
        store.set("a", "short", "1", Some(Duration::from_millis(10))).await.unwrap();
        store.set("a", "long", "1", Some(Duration::MAX)).await.unwrap();
        store.set("a", "none", "1", Some(Duration::ZERO)).await.unwrap();
        assert_eq!(store.list("a", "").await.unwrap(), ["long", "short"]);
        made.advance(Duration::from_millis(9)).await;
        assert!(store.get("a", "short").await.unwrap().is_some());
        made.advance(Duration::from_millis(1)).await;
        assert!(store.get("a", "short").await.unwrap().is_none());
        assert_eq!(store.list("a", "").await.unwrap(), ["long"]);
        store.set("a", "short", "2", None).await.unwrap();
        made.advance(Duration::from_secs(1_000_000_000)).await;
        assert_eq!(store.list("a", "").await.unwrap(), ["long", "short"]);
    })
    .await;
}

#[tokio::test]
async fn refuses_keys_and_values_out_of_bounds() {
    on_each(async |made| {
        let store = made.store();
        let (long, large) = ("k".repeat(1_024), "v".repeat(1 << 20));
        let (too_long, too_large) = (format!("{long}k"), format!("{large}v"));
        #[rustfmt::skip]
        let cases = [
            ("",            "",            Err(StoreError::Key)),
            ("a\nb",        "",            Err(StoreError::Key)),
            ("a\0",         "",            Err(StoreError::Key)),
            (&*too_long,    "",            Err(StoreError::Key)),
            (&*long,        "",            Ok(())),
            ("key",         &*too_large,   Err(StoreError::Value)),
            ("key",         &*large,       Ok(())),
        ];
        for (key, value, expected) in cases {
            assert_eq!(store.set("a", key, value, None).await, expected, "{} {}", key.len(), value.len());
        }
    })
    .await;
}

#[tokio::test]
async fn a_full_namespace_loses_only_what_has_expired() {
    on_each(async |made| {
        let store = made.store();
        let value = "v".repeat((1 << 20) - 2);
        let ttl = Some(Duration::from_secs(1));
        for key in 10..74 {
            store.set("a", &key.to_string(), &value, (key < 12).then_some(ttl).flatten()).await.unwrap();
        }
        assert_eq!(store.set("a", "more", "", None).await, Err(StoreError::Full));
        // One in place of another of its size fits, and so does another namespace.
        store.set("a", "50", &value, None).await.unwrap();
        store.set("b", "more", "", None).await.unwrap();
        assert_eq!(store.list("a", "").await.unwrap().len(), 64);
        made.advance(Duration::from_secs(2)).await;
        store.set("a", "more", "", None).await.unwrap();
        assert_eq!(store.list("a", "").await.unwrap().len(), 63);
        store.clear("a").await.unwrap();
        store.set("a", "more", &value, None).await.unwrap();
    })
    .await;
}
