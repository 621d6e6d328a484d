use super::*;

fn named(line: &str) -> Option<(String, By)> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    name_of(&words).ok().map(|own| (own.name.to_string(), own.by))
}

#[test]
fn a_command_says_which_server_it_is() {
    #[rustfmt::skip]
    let cases = [
        // command                                                                    name
        ("npx -y @modelcontextprotocol/server-filesystem /srv",                       Some("server-filesystem")),
        ("npx -y some-server@1.2 --flag",                                             Some("some-server")),
        ("npx -y -p @a/b-tools tool",                                                 Some("b-tools")),
        ("npx -y @acme/mcp",                                                          Some("acme-mcp")),
        ("npx -y mcp-server",                                                         None),
        ("uvx mcp-server-git --repository /srv",                                      Some("mcp-server-git")),
        ("uvx --from some_package[extra] cmd",                                        Some("some-package")),
        ("pipx run mcp-server-time",                                                  Some("mcp-server-time")),
        ("node /opt/x/node_modules/@modelcontextprotocol/server-memory/dist/index.js", Some("server-memory")),
        ("node /opt/node_modules/a/node_modules/plain-dep/index.js x",                Some("plain-dep")),
        ("/opt/node_modules/.bin/mcp-server-memory",                                  Some("mcp-server-memory")),
        ("node --require /x/hook.js /opt/node_modules/the-server/main.js",            Some("the-server")),
        ("/usr/local/bin/mcp-server-fetch --flag",                                    Some("mcp-server-fetch")),
        ("mcp_server.Fetch",                                                          Some("mcp-server-fetch")),
        ("python3.12 -m mcp_server_git",                                              Some("mcp-server-git")),
        ("python3 -m server",                                                         None),
        ("/v/bin/python3 -I /nowhere/weather.py",                                     Some("weather")),
        ("uv --directory /nowhere/x run weather.py",                                  Some("weather")),
        ("node /nowhere/dist/index.js",                                               None),
        ("python3 /nowhere/__main__.py",                                              None),
        ("python3 -c print(1)",                                                       None),
        ("node -e 1 weather.js",                                                      None),
        ("/nowhere/bin/server",                                                       None),
        ("node",                                                                      None),
        ("docker run -i --rm mcp/fetch",                                              None),
        ("bash -c weather",                                                           None),
        ("toolbox",                                                                   None),
    ];
    for (line, name) in cases {
        assert_eq!(named(line), name.map(|name| (name.to_owned(), By::Command)), "{line}");
    }
}

#[test]
fn a_script_is_named_after_its_own_package() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    #[rustfmt::skip]
    let files = [
        ("a/package.json",          r#"{"name": "@me/weather-mcp"}"#),
        ("a/dist/index.js",         ""),
        ("a/build/weather.js",      ""),
        ("a/tools/tide.js",         ""),
        ("b/pyproject.toml",        "[project]\nname = \"Tide_Tables\"\n"),
        ("b/src/tide/server.py",    ""),
        ("c/pyproject.toml",        "[tool.poetry]\nname = \"moon\"\n"),
        ("c/main.py",               ""),
        ("d/package.json",          r#"{"name": "far-above"}"#),
        ("d/e/.git/HEAD",           ""),
        ("d/e/src/index.js",        ""),
        ("f/package.json",          "not JSON"),
        ("f/index.js",              ""),
        ("g/package.json",          r#"{"name": "server"}"#),
        ("g/index.js",              ""),
        ("a/bin/own-program",       ""),
    ];
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let (package, command) = (By::Package, By::Command);
    #[rustfmt::skip]
    let cases = [
        ("node @/a/dist/index.js",       Some(("weather-mcp", package))),
        ("node @/a",                     Some(("weather-mcp", package))),
        ("node @/a/build/weather.js",    Some(("weather-mcp", package))),
        ("node @/a/tools/tide.js",       Some(("weather-mcp-tide", package))),
        ("@/a/dist/index.js",            Some(("weather-mcp", package))),
        ("@/a/bin/own-program",          Some(("own-program", command))),
        ("python3 @/b/src/tide/server.py", Some(("tide-tables", package))),
        ("uv run @/c/main.py",           Some(("moon", package))),
        ("node @/d/e/src/index.js",      None),
        ("node @/f/index.js",            None),
        ("node @/g/index.js",            None),
    ];
    for (line, wanted) in cases {
        let found = named(&line.replace('@', root.to_str().unwrap()));
        assert_eq!(found, wanted.map(|(name, by)| (name.to_owned(), by)), "{line}");
    }
}
