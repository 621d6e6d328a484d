//! The guide to tools: one that fetches with a key, and how it is called.

use ringfence::tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use std::sync::Arc;

use ringfence::policy::ToolName;
use ringfence::{Backends, Batch, Call, MemoryFiles, MemoryStore, Registry, Run, Store, Tool, process_tool};
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Place {
    city: String,
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    celsius: f64,
}

fn weather() -> Result<impl Tool, Box<dyn std::error::Error>> {
    let weather = tool("fetch_weather")
        .description("The weather of a city")
        .network(["api.weather.gov"])
        .secrets(["WEATHER_API_KEY"])
        .input::<Place>()
        .output::<Weather>()
        .run(|place: Place, context| async move {
            let key = context.secrets()?.get("WEATHER_API_KEY").await?;
            let request =
                ringfence::egress::Request::get(&format!("https://api.weather.gov/now?city={}", place.city))?
                    .header("authorization", &format!("Bearer {}", key.expose()))?;
            let celsius = context.fetch()?.fetch(request).await?.json::<f64>().await?;
            Ok(Weather { celsius })
        })?;
    Ok(weather)
}

#[derive(Deserialize, JsonSchema)]
struct Search {
    pattern: String,
}

#[rustfmt::skip]
fn programs() -> Result<[Arc<dyn Tool>; 2], Box<dyn std::error::Error>> {
    let grep = process_tool("grep")
        .description("Search the data")
        .read(["/data"])
        .input::<Search>()
        .command(["rg", "--", "{pattern}", "/data"])?;
    let count = process_tool("count")
        .description("Count matches in the data")
        .read(["/data"])
        .input::<Search>()
        .arguments("rg", |search: Search| Ok(vec!["--count".into(), "--".into(), search.pattern, "/data".into()]))?;
    Ok([Arc::new(grep), Arc::new(count)])
}

#[rustfmt::skip]
#[expect(clippy::let_and_return, reason = "the guide gives it a name")]
fn faked() -> Backends {
    let files = Arc::new(MemoryFiles::new().with_file("/srv/docs/a.md", "# A"));
    let factory = |_tool: &ToolName, _namespace: &str| Ok(Arc::new(MemoryStore::default()) as Arc<dyn Store>);
    let backends = Backends::none().file_storage(files).store_factory(factory);
    backends
}

#[test]
fn programs_and_fakes_are_made() {
    for tool in programs().unwrap() {
        let process = tool.declaration().capabilities.clone().unwrap().process.unwrap();
        assert!(process.allowed_binaries.admits("rg"));
    }
    assert!(!faked().is_empty());
}

#[tokio::test]
async fn it_is_called_alone_and_with_others() {
    let personality =
        r#"{"network": {"allow": ["api.weather.gov"]}, "secrets": {"allow": ["WEATHER_API_KEY"]}}"#;
    let registry =
        Arc::new(Registry::builder().personality(serde_json::from_str(personality).unwrap()).build());
    registry.register(weather().unwrap()).unwrap();
    let calls = vec![Call::new("fetch_weather", json!({"city": "Bern"}))];
    let run = Run::new("run-1", "session-1");
    let report = registry.call(&run, Call::new("fetch_weather", json!({"city": "Bern"}))).await;
    // Several at once: for that the registry is in an `Arc`.
    let reports = registry
        .execute_parallel(&run, calls, Batch { output_characters: Some(20_000), ..Batch::default() })
        .await;
    for report in [&report].into_iter().chain(&reports) {
        let said = serde_json::to_value(&report.outcome).unwrap();
        assert_eq!(said["code"], "not_available", "no backend is given: {said}");
    }
}
