//! Names written down by the rule of the table and not copied from its lines: what does a program run or trust when a folder is opened
//! or entered, when its user logs in next, or when it is called, without asking?
//!
//! Each is either refused, or stays out for a reason that stands here. Whoever wrote them had read the table.

use std::path::Path;

use super::super::Floor;
use crate::path::reach::Direction::Write;

/// What is refused, by who runs or trusts it.
const REFUSED: &[(&str, &str)] = &[
    (
        "agents",
        ".cursor/rules/a.mdc .cursor/hooks.json .cursorrules .windsurf/workflows/a.md .windsurfrules .claude/settings.local.json
        .claude/hooks/a.sh .mcp.json .claude-plugin/plugin.json .claude-code-router/config.json .codex/config.toml .gemini/settings.json
        .aider.conf.yml .aiderignore .continue/config.yaml .cline/mcp.json .clinerules/hooks/PreToolUse .amazonq/agents/a.json
        .junie/mcp/mcp.json .kiro/hooks/a.kiro.hook .roo/mcp.json .roomodes .kilocode/mcp.json .qwen/settings.json .opencode/plugin/a.ts
        opencode.jsonc .goosehints .config/goose/config.yaml .amp/settings.json .augment/rules/a.md .factory/hooks.json .trae/mcp.json
        .qoder/rules/a.md .iflow/settings.json .kimi/config.toml .grok/settings.json .vibe/config.toml .pi/extensions/a.ts .crush.json
        .openhands/setup.sh .tabnine/guidelines/a.md .zencoder/rules/a.md .rovodev/config.yml .devin/rules.md .agents/skills/a/SKILL.md
        .agent/workflows/a.md .github/copilot-instructions.md .github/hooks/a.json .github/agents/a.agent.md .copilot/mcp-config.json
        .adal/skills/a .commandcode/settings.json .cortex/skills/a .kode/settings.json .mcpjam/a .mux/init .neovate/config.json
        .openclaw/openclaw.json .pochi/config.jsonc .blackboxcli/settings.json .refact/integrations.d/a.yaml .tabby-client/agent/config.toml
        codebuff.json agents.config.json fastagent.config.yaml mcp_agent.config.yaml .config/mcphub/servers.json .config/mcp/mcp.json
        .config/mods/mods.yml .coderabbit.yaml greptile.json .ona/automations.yaml .gitpod/automations.yaml .sweep.yaml",
    ),
    (
        "editors",
        ".vscode/settings.json .vscode/launch.json a.code-workspace .idea/runConfigurations/a.xml .zed/settings.json .fleet/settings.json
        .nova/Configuration.json a.sublime-project .vs/tasks.vs.json a.suo a.csproj.user a.vcxproj.user .project .settings/org.a.prefs
        .externalToolBuilders/a.launch nbproject/private/private.properties .exrc .nvim.lua .nvimrc .vimrc .vim/ftplugin/a.vim
        .vimspector.json Session.vim .dir-locals.el .emacs.d/init.el .config/emacs/early-init.el .local/share/emacs/site-lisp/a.el
        .config/nvim/lua/a.lua .config/helix/config.toml .helix/languages.toml .config/zed/tasks.json .local/share/zed/extensions/a
        .nanorc .kateproject .devcontainer/devcontainer.json .replit .lsp/config.edn .solargraph.yml .phpactor.json .phpactor.yml
        .bloop/a.json .bsp/a.json .globalrc gtags.conf .ghcid CMakeUserPresets.json hie.yaml .ycm_extra_conf.py .luarc.json",
    ),
    (
        "shells and logins",
        ".bashrc .bash_profile .bash_logout .profile .zshenv .zshrc .zshrc.zwc .p10k.zsh.zwc functions/a.zwc .zprofile .zlogin .kshrc
        .tcshrc .cshdirs .config/fish/conf.d/a.fish .config/nushell/env.nu .local/share/nushell/vendor/autoload/a.nu .xonshrc .inputrc
        .bash_completion .config/bash_completion .bash_completion.d/a .bash_sessions/a.session .zsh_sessions/a.session .blerc
        .local/share/blesh/ble.sh .bash-preexec.sh .git-prompt.sh .git-completion.bash .iterm2_shell_integration.zsh .fzf/shell/a.zsh
        .antidote/antidote.zsh .zgenom/zgenom.zsh .local/share/sheldon/a .config/sheldon/plugins.toml .local/share/zsh/site-functions/_a
        .autojump/bin/a .docker/completions/_docker .config/user-dirs.dirs .config/locale.conf .config/environment.d/a.conf
        .config/autostart/a.desktop .config/systemd/user/a.service .config/lxsession/LXDE/autostart .config/lxqt/session.conf
        .config/herbstluftwm/autostart .config/leftwm/themes/current/up .config/spectrwm/spectrwm.conf .spectrwm.conf .jwmrc .fvwm/config
        .twmrc .e/e/config .config/autorandr/postswitch .config/kanshi/config .config/mako/config .config/conky/conky.conf .conkyrc
        .config/uwsm/env .config/swayidle/config .config/wofi/config .config/fuzzel/fuzzel.ini .config/redshift/hooks/a .gtkrc-2.0
        .config/kglobalshortcutsrc .config/kwinrc .local/share/kwin/scripts/a .local/share/krunner/a .config/caja/scripts/a
        .local/share/file-manager/actions/a.desktop .termux/boot/a .tmux.conf .tmuxp.yml .tmuxp.json .tmuxp/a.yaml .tmux-sessionizer
        .teamocil/a.yml .config/smug/a.yml .smug.yml .config/sesh/sesh.toml .envrc .tool-versions mise.toml .mise/config.toml .ondirrc
        .flox/env/manifest.toml .rbenv-vars .virtualenvs/postactivate .pkgx.yaml .local/bin/ls .cargo/env .bun/_bun .deno/env
        .wasmedge/env .travis/travis.sh",
    ),
    (
        "languages, debuggers and build tools",
        ".Rprofile .RData .irbrc .pryrc .pythonrc.py .ipython/profile_default/startup/a.py .lldbinit .gdbinit .gdbinit-gef.py .gef.rc
        .cgdb/cgdbrc .config/rizin/rizinrc .local/share/radare2/plugins/a.so .idapro/idapythonrc.py .binaryninja/startup.py .ghci
        .ocamlinit .iex.exs .julia/config/startup.jl .octaverc .gnuplot rootlogon.C .rootlogon.C .rootrc maxima-init.mac maxima-init.lisp
        .singularrc .magmarc .gap/gaprc .Macaulay2/init.m2 .coqrc .agda/executables .config/agda/executables .isabelle/etc/settings
        profile.do autoexec.sas login.sql .scheme.init .gaucherc .bigloorc .gforthrc .factor-rc .factor-boot-rc .clinit.cl .swank.lisp
        .re.pl/repl.rc .yarnrc .yarnrc.yml .npmrc .npm-init.js .pnpmfile.cjs .yarn/releases/a.cjs bunfig.toml .bunfig.toml
        .turbo/config.json .cargo/config.toml rust-toolchain rust-toolchain.toml .config/pip/pip.conf .pdm-python .pdm-plugins/a pdm.toml
        .config/pylintrc .config/virtualenv/virtualenv.ini .pixi/config.toml .config/pixi/config.toml .bundle/config .mvn/jvm.config
        .gradle/init.d/a.gradle .sbtopts NuGet.Config .config/dotnet-tools.json .dotnet/dotnet .bazelrc .bazelversion tools/bazel
        .buckconfig cabal.project.local .latexmkrc .nuke/init.py userSetup.py .local/share/FreeCAD/Mod/a/InitGui.py
        .local/share/QGIS/QGIS3/startup.py .config/kicad/a .local/share/kicad/a .pydistutils.cfg .psqlrc .duckdbrc .usqlrc",
    ),
    (
        "version control",
        ".git/hooks/pre-commit .git/config .gitconfig .config/git/config .husky/pre-commit .githooks/pre-commit .pre-commit-config.yaml
        lefthook.yml .lefthook-local.yml .gitreview .arcconfig .reviewboardrc .gclient .repo/repo/main.py .west/config .subversion/config
        .bazaar/plugins/a.py .config/breezy/breezy.conf .pijul/config _darcs/prefs/defaults .darcs/defaults .sl/config .hg/hgrc .jj/repo/config.toml
        .p4enviro .p4config .mrconfig .mrtrust .config/vcsh/hooks-enabled/a .config/yadm/bootstrap .config/chezmoi/chezmoi.toml
        .local/share/chezmoi/run_a.sh",
    ),
    (
        "other programs",
        ".ddev/commands/host/a .lando.yml .lando.local.yml .docksal/commands/a .warden/commands/a.cmd ansible.cfg .ansible.cfg
        .vagrantplugins .tflint.d/plugins/a .pulumi/plugins/a .config/borgmatic/config.yaml .unison/default.prf .msf4/msfconsole.rc
        .nmap/scripts/a.nse .config/wireshark/init.lua .local/lib/wireshark/plugins/a.lua .mailfilter .qmail .mailrc .pinerc
        .notmuch-config .notmuch/hooks/pre-new .lbdbrc .newsboat/urls .config/newsboat/config .config/calcurse/hooks/pre-load
        .config/systemd/user.conf .crontab .config/mpv/scripts/a.lua",
    ),
];

/// What also cannot be read.
const SECRET: &str = ".arcrc .p4tickets .opencommit .aicommits .config/shell_gpt/.sgptrc .config/fabric/.env .clasprc.json .expo/state.json
    .acme.sh/account.conf .mitmproxy/mitmproxy-ca.pem .radicle/keys/radicle .config/syncthing/key.pem .local/state/syncthing/key.pem
    .config/rustic/rustic.toml .config/kopia/repository.config nx-cloud.env .ssh/config .aws/config .netrc .kube/config .codex/auth.json";

/// Paths of the machine.
const ROOTED: &str = "/etc/wsl.conf /etc/paths.d/a /etc/paths /etc/hosts /etc/gdm3/PostLogin/Default /etc/lightdm/lightdm.conf
    /etc/sddm.conf /etc/xinetd.d/a /etc/inetd.conf /etc/vim/vimrc /etc/tmux.conf /etc/screenrc /etc/perl/a.pm /etc/periodic/daily/a
    /etc/incron.d/a /etc/R/Rprofile.site /etc/pip.conf /etc/npmrc /etc/profile.d/a.sh /etc/sudoers.d/a /etc/cron.d/a /home/u/bin/ls
    /Users/u/Library/LaunchAgents/a.plist /Users/u/Library/Scripts/a /Users/u/Library/Application@Support/iTerm2/Scripts/AutoLaunch/a.py
    /Users/u/Library/Application@Support/Trae/User/settings.json /Users/u/Library/Application@Support/Kiro/User/settings.json
    /Users/u/Library/Application@Support/VSCodium/User/settings.json /Users/u/Library/Application@Support/nushell/config.nu
    /Users/u/Library/Application@Support/com.mitchellh.ghostty/config /Users/u/Library/Input@Methods/a";

/// What stays out on purpose, and why.
const OUT: &[(&str, &str)] = &[
    (
        "built, tested or started by people who know that it runs: the work itself",
        "Makefile justfile Taskfile.yml Rakefile package.json pyproject.toml setup.py conftest.py noxfile.py tox.ini build.rs Cargo.toml
        CMakeLists.txt CMakePresets.json meson.build build.gradle settings.gradle pom.xml build.sbt WORKSPACE MODULE.bazel pants.toml
        Dockerfile docker-compose.yml compose.override.yaml Vagrantfile Procfile Tiltfile devbox.json flake.nix shell.nix devenv.nix gradlew
        gradle/wrapper/gradle-wrapper.properties Directory.Build.props a.csproj a.xcodeproj/project.pbxproj build.zig config.nims
        stack.yaml dune-workspace go.work bacon.toml .air.toml .config/nextest.toml nodemon.json uv.toml poetry.toml",
    ),
    (
        "settings of linters, formatters and tests, which are changed together with the code",
        ".eslintrc.js eslint.config.js .prettierrc.js .stylelintrc.js .babelrc.js .mocharc.js .rubocop.yml .rspec .pylintrc .flake8 mypy.ini
        .coveragerc .golangci.yml .clang-tidy .clangd compile_commands.json .formatter.exs .credo.exs .php-cs-fixer.php .luacheckrc .busted
        .hlint.yaml .scalafix.conf .sqlfluff .gitlint .editorconfig vite.config.ts jest.config.js",
    ),
    (
        "run by a forge, on its own machine, after somebody has pushed it",
        ".github/workflows/a.yml .gitlab-ci.yml .circleci/config.yml .travis.yml .buildkite/pipeline.yml Jenkinsfile .drone.yml
        .releaserc .goreleaser.yaml .readthedocs.yaml",
    ),
    (
        "texts that a project keeps like its README, and that are reviewed like it",
        "AGENTS.md CLAUDE.md GEMINI.md WARP.md QWEN.md CONVENTIONS.md README.md",
    ),
    ("a version and nothing else", ".nvmrc .node-version .python-version .ruby-version .java-version .sdkmanrc .mill-version"),
    (
        "nothing in it runs unless a file that is protected says so",
        ".gitattributes .gitignore .mailmap .htaccess .env .env.local .dockerignore .ctags.d/a.ctags",
    ),
    (
        "made by package managers in the folder of a project, and useless if it cannot be",
        ".venv/bin/activate .venv/lib/python3.12/site-packages/a.pth env/etc/conda/activate.d/a.sh node_modules/.bin/a .pnp.cjs
        _opam/bin/a .terraform/providers/a vendor/bundle/a .pixi/envs/default/bin/a .turbo/cache/a .dotnet/a.txt .bun/install/cache/a",
    ),
];

fn is_refused(path: &str) -> bool {
    let path = path.replace('@', " ");
    let path = Path::new("/srv/tree").join(path);
    Floor::denies_unless_named(&path, Write, &std::iter::empty()).is_some()
}

#[test]
fn what_programs_run_or_trust_cannot_be_written() {
    let all = REFUSED.iter().copied().chain([("secrets", SECRET), ("the machine", ROOTED)]);
    let all: Vec<(&str, &str)> =
        all.flat_map(|(who, names)| names.split_whitespace().map(move |name| (who, name))).collect();
    let missing: Vec<_> = all.iter().filter(|(_, name)| !is_refused(name)).collect();
    assert!(missing.is_empty(), "{} of {} can be written: {missing:#?}", missing.len(), all.len());
    assert!(all.len() >= 400, "{}", all.len());
}

#[test]
fn secrets_by_these_names_cannot_be_read() {
    for name in SECRET.split_whitespace() {
        let path = Path::new("/srv/tree").join(name);
        let denied =
            Floor::denies_unless_named(&path, crate::path::reach::Direction::Read, &std::iter::empty());
        assert!(denied.is_some(), "{name} can be read");
    }
}

#[test]
fn what_stays_out_can_be_written() {
    for (reason, names) in OUT {
        for name in names.split_whitespace() {
            assert!(!is_refused(name), "{name} is protected, though it is {reason}");
        }
    }
}
