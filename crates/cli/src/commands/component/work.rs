//! What the command does.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use super::{ComponentArgs, ComponentCommand, SealArgs, ShowArgs};
use crate::error::{CommandError, Exit};
use crate::runtimes::{EngineError, component_cache, component_engine, read_component};
use crate::shown::{json_line, json_lines, one_line};
use crate::store::runtime;
use crate::table::table;

pub(crate) fn run(args: &ComponentArgs, out: &mut dyn Write) -> Result<Exit, CommandError> {
    match &args.command {
        ComponentCommand::Seal(args) => seal(args, out),
        ComponentCommand::Show(args) => show(args, out),
    }
}

fn seal(args: &SealArgs, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let bytes = read(&args.file)?;
    let wrong = |error: EngineError| said(&args.file, &error);
    let engine = component_engine().map_err(wrong)?;
    let cache = component_cache();
    let sealed = runtime()?.block_on(engine.seal(&bytes, cache.as_deref())).map_err(wrong)?;
    let component = engine.read(sealed.clone()).map_err(wrong)?;
    let to = args.out.as_deref().unwrap_or(&args.file);
    crate::book::replace(to, &sealed)?;
    writeln!(out, "sealed {}", component.digest())?;
    Ok(Exit::Done)
}

fn show(args: &ShowArgs, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let wrong = |error: EngineError| said(&args.file, &error);
    let bytes = read(&args.file)?;
    let component = component_engine().and_then(|engine| engine.read(bytes)).map_err(wrong)?;
    let imports = component.imports().map_err(wrong)?;
    let declaration: serde_json::Value =
        serde_json::from_str(component.declaration()).map_err(std::io::Error::from)?;
    if args.json {
        let imports: Vec<_> = imports
            .iter()
            .map(|import| json!({"name": import.name, "known": import.known, "needs": import.needs.map(|surface| surface.as_str())}))
            .collect();
        let shown = json!({"digest": component.digest(), "declaration": declaration, "imports": imports});
        writeln!(out, "{}", json_line(&shown))?;
        return Ok(Exit::Done);
    }
    writeln!(out, "{}\n", component.digest())?;
    writeln!(out, "{}\n", json_lines(&declaration))?;
    let rows: Vec<[String; 2]> = imports
        .iter()
        .map(|import| {
            let inert = if import.known { "nothing" } else { "not known, and refused" };
            let needs = import.needs.map_or(inert, |surface| surface.as_str());
            [one_line(&import.name), needs.to_owned()]
        })
        .collect();
    write!(out, "{}", table(["IMPORT", "NEEDS"], &rows))?;
    Ok(Exit::Done)
}

fn read(file: &Path) -> Result<Vec<u8>, CommandError> {
    read_component(file).map_err(|message| CommandError::Input {
        message: format!("`{}`: {message}", file.display()),
        hint: Some("give the file of a WebAssembly component"),
    })
}

fn said(file: &Path, error: &EngineError) -> CommandError {
    CommandError::Input { message: format!("`{}`: {error}", file.display()), hint: error.hint }
}
