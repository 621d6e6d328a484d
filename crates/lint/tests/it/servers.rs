//! Real MCP servers, in the folder that `RINGFENCE_TEST_MCP` names. `script/mcp-servers` fetches them, on Linux only.

use std::path::PathBuf;
use std::time::Instant;

use ringfence_lint::{Analysis, Effect, EffectSet, python, script};

/// Returns the folder of the servers.
fn servers() -> PathBuf {
    let folder = std::env::var_os("RINGFENCE_TEST_MCP");
    folder.unwrap_or_else(|| panic!("set RINGFENCE_TEST_MCP to what `script/mcp-servers` prints")).into()
}

/// Compares what a server's own package holds, and what one of its functions reaches, with what should be.
fn check(name: &str, started: Instant, analysis: &Analysis, expected: &[Effect], reached: (&str, Effect)) {
    let own = analysis.packages.first().unwrap();
    let expected: EffectSet = expected.iter().copied().collect();
    println!(
        "{name}: {} packages, {} own functions, {:?}, holds {:?}",
        analysis.packages.len(),
        analysis.functions.len(),
        started.elapsed(),
        own.holds
    );
    assert!(own.own, "{name}");
    assert_eq!(own.holds, expected, "{name}: {:#?}", own.places);
    let verdict = analysis.functions.iter().find(|verdict| verdict.function == reached.0).unwrap();
    assert!(verdict.effects().contains(reached.1), "{name}: {} does not reach {}", reached.0, reached.1);
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "`script/test` fetches the servers on Linux only")]
fn servers_for_node_hold_exactly_what_they_use() {
    use Effect::{Clock, EnvRead, FsRead, FsWrite, NetConnect, NetListen, Random};
    let folder = servers();
    let cases: [(&str, &[Effect], (&str, Effect)); 4] = [
        ("server-filesystem", &[FsRead, FsWrite, EnvRead, Random], ("dist/lib.writeFileContent", FsWrite)),
        ("server-memory", &[FsRead, FsWrite, EnvRead, Random], ("dist/index", FsWrite)),
        ("server-sequential-thinking", &[EnvRead], ("dist/lib", EnvRead)),
        (
            "server-everything",
            // It listens through `express`, which holds that.
            &[FsRead, NetConnect, EnvRead, Random, Clock],
            ("dist/transports/sse", NetListen),
        ),
    ];
    for (name, expected, reached) in cases {
        let started = Instant::now();
        let path = folder.join("npm/node_modules/@modelcontextprotocol").join(name);
        let analysis = script::analyse(&script::find(&path).unwrap()).unwrap();
        check(name, started, &analysis, expected, reached);
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "`script/test` fetches the servers on Linux only")]
fn servers_for_python_hold_exactly_what_they_use() {
    use Effect::{Clock, EnvRead, EnvWrite, Exec, FsRead, FsWrite, NetConnect, NetDns};
    let folder = servers();
    let cases: [(&str, &[Effect], (&str, Effect)); 4] = [
        (
            "mcp-server-fetch",
            &[FsRead, NetDns, EnvRead, EnvWrite],
            ("mcp_server_fetch.server.fetch_url", NetConnect),
        ),
        ("mcp-server-git", &[FsRead, FsWrite], ("mcp_server_git.server.git_status", Exec)),
        ("mcp-server-sqlite", &[FsRead, FsWrite, EnvRead], ("mcp_server_sqlite.server", FsRead)),
        ("mcp-server-time", &[FsRead, Clock], ("mcp_server_time.server.TimeServer.get_current_time", Clock)),
    ];
    for (name, expected, reached) in cases {
        let started = Instant::now();
        let analysis = python::analyse(&python::find_installed(&folder.join("py"), name).unwrap()).unwrap();
        check(name, started, &analysis, expected, reached);
    }
}
