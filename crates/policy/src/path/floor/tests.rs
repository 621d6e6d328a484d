mod names;

use std::path::PathBuf;

use Direction::{Read, Write};

use super::*;

/// A path that a line is about.
fn example(entry: &FloorEntry) -> PathBuf {
    let pattern = entry.pattern.replace(['*', '?'], "x");
    Path::new("/w").join(pattern)
}

#[test]
fn every_line_is_written_in_lower_case_and_has_a_reason() {
    for entry in Floor::entries() {
        assert_eq!(*folded(entry.pattern.as_bytes()), *entry.pattern.as_bytes(), "{entry:?}");
        assert!(entry.reason.len() >= 8 && !entry.reason.ends_with('.'), "{entry:?}");
        let names: Vec<&str> = entry.pattern.trim_start_matches('/').split('/').collect();
        assert!(names.iter().all(|name| !name.is_empty()), "{entry:?}");
        for name in [names[0], names[names.len() - 1]] {
            let inner = name.strip_prefix('*').unwrap_or(name);
            assert!(!inner.is_empty() && !name.contains('?'), "{entry:?}");
            assert!(!name.starts_with('*') || !inner.contains('*'), "{entry:?}");
        }
    }
    assert!(Floor::entries().count() >= 500, "{}", Floor::entries().count());
}

#[test]
fn no_line_shadows_another() {
    for entry in Floor::entries() {
        let path = example(entry);
        let covers = |other: &&FloorEntry| {
            let wide = other.only.is_none() || other.only == entry.only;
            wide && other.pattern != entry.pattern
        };
        for other in Floor::entries().filter(covers) {
            let names: Vec<&[u8]> = components(&path).unwrap().collect();
            let is_rooted = other.pattern.starts_with('/');
            let laid =
                |at: usize| (at == 0 || !is_rooted) && other.run(names[at..].iter().copied()).is_some();
            assert!(!(0..names.len()).any(laid), "`{}` shadows `{}`", other.pattern, entry.pattern);
        }
    }
}

#[test]
fn every_line_is_found_by_its_last_name_and_denies() {
    for entry in Floor::entries() {
        let path = example(entry);
        let name = path.file_name().unwrap();
        assert!(Floor::may_end_with(name), "{entry:?}");
        assert!(Floor::may_end_with(OsStr::new(&name.to_str().unwrap().to_ascii_uppercase())), "{entry:?}");
        let direction = entry.only.unwrap_or(Read);
        let denied = Floor::denies_unless_named(&path, direction, &std::iter::empty());
        assert!(denied.is_some(), "{entry:?}");
    }
}

#[test]
fn knows_what_is_run_or_trusted_and_leaves_the_work_alone() {
    let is_protected = |path: &str| {
        let path = Path::new(path);
        let name = path.file_name().is_some_and(Floor::may_end_with);
        let denied = Floor::denies_unless_named(path, Write, &std::iter::empty()).is_some();
        assert!(
            name || !denied
                || !path
                    .ancestors()
                    .skip(1)
                    .all(|above| { Floor::denies_unless_named(above, Write, &std::iter::empty()).is_none() }),
            "{path:?}"
        );
        denied
    };
    let protected = "
        app.code-workspace My.Code-Workspace .kiro/hooks/a.json .roo/mcp.json .roomodes .qwen/settings.json .opencode/plugin/x.ts
        opencode.json .cursorrules .cursor/mcp.json .windsurfrules .clinerules .clinerules/a.md .continue/config.yaml
        .goosehints .junie/guidelines.md .trae/rules .augment/rules .crush.json .factory/mcp.json .amp/settings.json
        .mcp.json .github/copilot-instructions.md .github/hooks/a.json .claude/settings.json .claude.json .codex/config.toml
        .gemini/settings.json .amazonq/mcp.json .kilocode/mcp.json .openhands/setup.sh .aider.conf.yml .rules
        .vscode/tasks.json .idea/workspace.xml a.sublime-project .fleet/run.json .theia/tasks.json .zed/tasks.json .nova/Tasks/a.json
        .exrc .nvim.lua .nvimrc .lazy.lua .vimrc .lvimrc .dir-locals.el .dir-locals-2.el .ycm_extra_conf.py hie.yaml .bsp/sbt.json
        .metals/a .helix/config.toml .kakrc .kateproject .devcontainer/devcontainer.json .devcontainer.json .gitpod.yml .idx/dev.nix .replit
        .bashrc .zshenv .zshrc .profile .kshrc .bash_aliases .inputrc .xprofile .xinitrc .Xresources .pam_environment
        .config/fish/config.fish .config/fish/functions/ls.fish .config/autostart/a.desktop .config/systemd/user/a.service
        .config/environment.d/a.conf .local/share/applications/a.desktop .local/bin/git .cargo/bin/cargo .config/nushell/config.nu
        .config/hypr/hyprland.conf .config/i3/config .config/kitty/kitty.conf .config/alacritty/alacritty.toml .wezterm.lua
        .tmux.conf .config/tmux/tmux.conf .screenrc .envrc mise.toml .mise.toml .mise.local.toml mise.production.toml .tool-versions
        .rvmrc .gitconfig .config/git/config .lfsconfig .git/lazygit.yml .husky/pre-commit .githooks/pre-commit
        .pre-commit-config.yaml lefthook.yml lefthook-local.yml .lintstagedrc.js .hgrc .hg/hgrc .jj/repo/config.toml
        .npmrc .yarnrc .yarnrc.yml .yarn/releases/yarn.cjs .pnpmfile.cjs .cargo/config.toml .pypirc pip.conf .config/pip/pip.conf
        .Rprofile .Renviron .RData .julia/config/startup.jl .irbrc .pryrc .gemrc .bundle/config .perldb .lldbinit .gdbinit
        .gdbearlyinit .pdbrc .ghci .sbtrc .sbtopts .jvmopts .mavenrc .mvn/extensions.xml .mvn/jvm.config .m2/settings.xml
        .gradle/init.gradle .gradle/init.d/a.gradle .gradle/gradle.properties .psqlrc .sqliterc .my.cnf .wgetrc .curlrc .netrc
        .docker/config.json .docker/cli-plugins/x .kube/config .terraformrc .config/nvim/init.lua .emacs .emacs.d/init.el
        .config/emacs/init.el .doom.d/config.el .config/helix/languages.toml .ipython/profile_default/startup/a.py
        .jupyter/jupyter_lab_config.py jupyter_notebook_config.py .local/lib/python3.12/site-packages/a.pth .ocamlinit .iex.exs
        .erlang .octaverc .latexmkrc latexmkrc .user.ini .rpmmacros .ansible.cfg .config/mpv/scripts/a.lua .iTerm2/a";
    for name in protected.split_whitespace() {
        assert!(is_protected(&format!("/srv/tree/{name}")), "{name} can be written");
    }
    for path in
        ["/home/u/bin/git", "/root/bin/git", "/Users/u/Library/LaunchAgents/a.plist", "/etc/profile.d/a.sh"]
    {
        assert!(is_protected(path), "{path} can be written");
    }
    let free = "
        package.json package-lock.json Cargo.toml Cargo.lock pyproject.toml uv.lock poetry.lock yarn.lock pnpm-lock.yaml
        pnpm-workspace.yaml go.mod go.sum Makefile CMakeLists.txt build.rs conftest.py setup.py setup.cfg tox.ini noxfile.py
        requirements.txt Gemfile Gemfile.lock Rakefile pom.xml build.gradle settings.gradle gradle.properties build.sbt
        tsconfig.json vite.config.ts eslint.config.js .eslintrc.js .prettierrc .editorconfig .gitignore .gitattributes
        .dockerignore Dockerfile docker-compose.yml .env .env.example .nvmrc .node-version .python-version .ruby-version
        README.md AGENTS.md CLAUDE.md GEMINI.md LICENSE .github/workflows/ci.yml .gitlab-ci.yml .pnp.cjs .yarn/cache/a.zip
        .yarn/install-state.gz .gradle/8.5/checksums/x .venv/bin/python .venv/pyvenv.cfg .venv/lib/python3.12/site-packages/a.pth
        .venv/lib/python3.12/site-packages/x/sitecustomize.py node_modules/.bin/tsc node_modules/.package-lock.json target/debug/app
        .next/cache/a .pytest_cache/v/a .mypy_cache/a .ruff_cache/a .tox/py/bin/pip .cache/pip/a .npm/_cacache/a .cargo/registry/a
        .aider.chat.history.md .aider.tags.cache.v4/a src/main.rs bin/run go/bin/x main.go .git/index .git/HEAD .git/objects/aa
        .terraform/providers/a .bundle/cache/a .config/app.json .local/share/app/a auth.json config.json settings.json
        server.pem ca.crt .envrc.quarantined-1 .vscode.quarantined-2 .zcompdump.quarantined-1 lefthook-local.yml.quarantined-3
        a.code-workspace.txt code-workspace kiro .kirox x.kiro .bashrcs";
    for name in free.split_whitespace() {
        assert!(!is_protected(&format!("/srv/tree/{name}")), "{name} is protected");
    }
}

#[test]
fn secrets_are_not_read() {
    let secret = ".vault-token key4.db logins.json p/cookies.sqlite Secrets.KDBX .codex/auth.json .config/gh/hosts.yml
        .config/gcloud/x .azure/x .config/op/x .password-store/x .gnupg/x .databrickscfg .config/rclone/rclone.conf .boto .s3cfg
        .oci/config .terraform.d/credentials.tfrc.json .aws/credentials .claude/.credentials.json .gemini/oauth_creds.json
        .local/share/opencode/auth.json .mozilla/firefox/a .config/chromium/a .huggingface/token .ssh/id_ed25519";
    let denied = |name: &str| {
        Floor::denies_unless_named(&Path::new("/srv/tree").join(name), Read, &std::iter::empty()).is_some()
    };
    for name in secret.split_whitespace() {
        assert!(denied(name), "{name} can be read");
    }
    for name in
        [".vscode/tasks.json", ".cargo/config.toml", ".mcp.json", "auth.json", "x.pem", ".envrc", "AGENTS.md"]
    {
        assert!(!denied(name), "{name} cannot be read");
    }
}

#[test]
fn other_spellings_of_a_name_are_that_name() {
    for name in [".ENVRC", ".envrc.", ".envrc ", ".en\u{200b}vrc", ".\u{17f}sh/config", ".\u{212a}iro/x"] {
        let path = Path::new("/w").join(name);
        assert!(Floor::denies_unless_named(&path, Write, &std::iter::empty()).is_some(), "{name:?}");
    }
}

#[test]
fn holds_until_the_very_path_is_named() {
    #[rustfmt::skip]
    let cases: &[(&str, Direction, &[&str], bool)] = &[
        // path                        direction  personality                      denied
        ("/home/u/.ssh",               Read,  &["/home/u"],                        true),
        ("/home/u/.ssh/config",        Read,  &["/home/u"],                        true),
        ("/home/u/.ssh/config",        Read,  &["/home/u/.ssh"],                   false),
        ("/home/u/.ssh/config",        Read,  &["/home/u/.ssh/config"],            false),
        ("/home/u/.ssh/config",        Read,  &["/home/u/.ssh/known_hosts"],       true),
        ("/home/u/.ssh/config",        Read,  &["/home/*/.ssh"],                   true),
        ("/home/u/.ssh/config",        Read,  &["/home/v/.ssh"],                   true),
        ("/home/u/.ssh/id_rsa",        Read,  &["/home/u/.ssh"],                   true),
        ("/home/u/.ssh/id_rsa",        Read,  &["/home/u/.ssh/id_rsa"],            false),
        ("/home/u/.SSH/config",        Write, &["/home/u"],                        true),
        ("/home/u/x.ssh",              Read,  &["/home/u"],                        false),
        ("/w/id_ed25519",              Read,  &["/w"],                             true),
        ("/w/id_ed25519.pub",          Read,  &["/w"],                             false),
        ("/h/.config/gcloud/db",       Read,  &["/h"],                             true),
        ("/h/.config/other",           Read,  &["/h"],                             false),
        ("/h/.docker/config.json",     Read,  &["/h"],                             true),
        ("/h/.docker/other.json",      Read,  &["/h"],                             false),
        ("/h/.bashrc",                 Write, &["/h"],                             true),
        ("/w/.git/hooks/pre-commit",   Write, &["/w"],                             true),
        ("/w/.git/config",             Write, &["/w"],                             true),
        ("/w/.git/config",             Read,  &["/w"],                             false),
        ("/w/.git/HEAD",               Write, &["/w"],                             false),
        ("/etc/shadow",                Read,  &["/etc"],                           true),
        ("/etc/shadow",                Read,  &["/etc/shadow"],                    false),
        ("/w/etc/shadow",              Read,  &["/w"],                             false),
        ("/proc/self/environ",         Read,  &["/proc"],                          true),
        ("/proc/1/mem",                Write, &["/proc"],                          true),
        ("/proc/cpuinfo",              Read,  &["/proc"],                          false),
        ("/var/run/docker.sock",       Write, &["/var"],                           true),
        ("/w/.ringfence/audit.db",     Read,  &["/w"],                             true),
        ("/w/ringfence.toml",          Read,  &["/w"],                             false),
        ("/w/ringfence.toml",          Write, &["/w"],                             true),
        ("/w/a/Ringfence.Pins.json",   Write, &["/w"],                             true),
        ("/w/.local/state/ringfence/servers/a/pins.json", Read, &["/w"],           true),
        ("/",                          Read,  &["/"],                              false),
    ];
    for (path, direction, named, denied) in cases {
        let named: PathSet =
            named.iter().map(|text| text.parse::<super::super::PathPattern>().unwrap()).collect();
        let verdict = Floor::denies(Path::new(path), *direction, &named);
        assert_eq!(verdict.is_some(), *denied, "{direction} {path}: {verdict:?}");
    }
}

#[test]
fn knows_where_a_line_begins() {
    for (path, begins) in [
        ("/w/.git", true),
        ("/w/.GIT", true),
        ("/w/.git/modules/x", true),
        ("/w/.config", true),
        ("/etc", true),
        ("/w/etc", false),
        ("/w/.git/objects", false),
        ("/w/sub", false),
        ("/w/.ssh", false), // it is on the floor itself, and stays so under any parent
        ("/", false),
    ] {
        assert_eq!(Floor::begins_in(Path::new(path)).is_some(), begins, "{path}");
        assert_eq!(Floor::unfinished_names(Path::new(path)).is_some(), begins, "{path}");
    }
    for (path, names) in [
        ("/w/.config", ".config"),
        ("/w/.config/fish", ".config/fish"),
        ("/w/.config/.config", ".config"),
        ("/w/.git/modules/x", ".git/modules/x"),
        ("/etc", "etc"),
    ] {
        assert_eq!(Floor::unfinished_names(Path::new(path)), Some(Path::new(names)), "{path}");
    }
}

#[test]
fn files_of_ours_that_decide_are_known_and_so_is_the_folder_for_stores() {
    for name in [
        "ringfence.db",
        "RINGFENCE.DB",
        "ringfence.lock.json",
        "ringfence.pins.json",
        ".ringfence",
        "sub/.Ringfence",
    ] {
        assert!(Floor::decides(&Path::new("/w").join(name)), "{name}");
    }
    for name in
        ["ringfence.toml", "ringfence.db-wal", ".ringfence/x", ".ringfence.quarantined-1", "ringfence"]
    {
        assert!(!Floor::decides(&Path::new("/w").join(name)), "{name}");
    }
}
