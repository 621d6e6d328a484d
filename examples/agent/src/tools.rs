//! The five tools. What each may touch stands in its declaration, and its code gets handles that reach that and nothing else.

use std::error::Error;
use std::path::Path;

use ringfence::policy::{IdempotencyMode, SafetyClass};
use ringfence::{Registry, SpawnOptions, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Report {
    // The argument gate judges it before the tool runs, and the model is told that writing was the matter.
    #[schemars(extend("format" = "path", "direction" = "write"))]
    path: String,
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Program {
    program: String,
    arguments: Vec<String>,
}

/// Registers them. One that asks for more than the personality permits would be refused here, before any call.
pub(crate) fn register(registry: &Registry, workspace: &Path) -> Result<(), Box<dyn Error>> {
    let workspace = workspace.to_str().ok_or("the workspace has no name in UTF-8")?.to_owned();
    let out = format!("{workspace}/out");

    registry.register(
        tool("read_notes")
            .description("Read a file of the workspace")
            .read([workspace.as_str()])
            .input::<String>()
            .output::<String>()
            .run(|path, context| async move { Ok(context.fs()?.read(&path)?) })?,
    )?;
    registry.register(
        tool("write_report")
            .description("Write a report into the folder `out`")
            .write([out.as_str()])
            .input::<Report>()
            .output::<String>()
            .run(|report: Report, context| async move {
                context.fs()?.write(&report.path, &report.text)?;
                Ok(format!("wrote {} bytes", report.text.len()))
            })?,
    )?;
    registry.register(
        tool("fetch")
            .description("Fetch a page of weather.example")
            .network(["weather.example"])
            .input::<String>()
            .output::<String>()
            .run(|url: String, context| async move { Ok(context.fetch()?.get(&url).await?.text().await?) })?,
    )?;
    let directory = workspace.clone();
    registry.register(
        tool("run_program")
            .description("Run a program in a sandbox, with the workspace to read and no network")
            .read([workspace.as_str()])
            .binaries(["wc"])
            .input::<Program>()
            .output::<String>()
            .run(move |program: Program, context| {
                let options = SpawnOptions { cwd: Some(directory.clone().into()), ..SpawnOptions::default() };
                async move {
                    let run = context.process()?.spawn(&program.program, &program.arguments, options).await?;
                    Ok(format!("{}{}", run.stdout, run.stderr))
                }
            })?,
    )?;
    registry.register(
        tool("pay")
            .description("Pay an invoice, at most 500")
            // One person must agree to each call, and the same key never pays twice.
            .class(SafetyClass::Financial)
            .idempotency(IdempotencyMode::Required)
            .input_schema(json!({
                "type": "object",
                "properties": { "invoice": { "type": "string" }, "amount": { "type": "integer", "maximum": 500 } },
                "required": ["invoice", "amount"],
                "additionalProperties": false,
            }))
            .output::<String>()
            .run(|invoice: Value, _context| async move {
                let part = |name| invoice.get(name).cloned().unwrap_or_default();
                Ok(format!("paid {} for {}", part("amount"), part("invoice")))
            })?,
    )?;
    Ok(())
}
