//! The README: a tool in a crate.

use ringfence::{Backends, Call, HostFiles, Registry, Run, tool};

#[rustfmt::skip]
async fn refused() -> Result<String, Box<dyn std::error::Error>> {
    let registry = Registry::builder()
        .personality(serde_json::from_str(r#"{"fs_reach": {"read": ["/srv/docs"]}}"#)?)
        .backends(Backends::none().files(HostFiles::new()))
        .build();

    registry.register(
        tool("count_words")
            .description("Count the words of a document")
            .read(["/srv/docs"])                      // the whole reach, in one place
            .input::<String>()                        // schemas come from the types
            .output::<usize>()
            .run(|path, context| async move {
                Ok(context.fs()?.read(&path)?.split_whitespace().count())
            })?,
    )?;

    let run = Run::new("run-1", "session-1");
    let report = registry.call(&run, Call::new("count_words", "/etc/passwd".into())).await;
    // {"ok":false,"code":"refused","error":"PATH_NOT_REACHABLE: read not permitted for /etc/passwd", …}
    Ok(serde_json::to_string(&report.outcome)?)
}

#[tokio::test]
async fn what_is_not_granted_is_refused() {
    let said = refused().await.unwrap();
    let shown =
        r#"{"ok":false,"code":"refused","error":"PATH_NOT_REACHABLE: read not permitted for /etc/passwd","#;
    assert!(said.starts_with(shown), "{said}");
}
