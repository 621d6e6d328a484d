//! What the package managers fetch: a repository, a wheel and a crate, each as small as can be.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::http::Pages;
use crate::matrix::stage::Work;

/// A folder with `repo.git`, one commit in it.
pub(crate) fn repository(work: &Work<'_>) -> PathBuf {
    let root = beside(work, "git");
    let script = "git init -q -b main plain && cd plain && echo hello from far > a.txt && git add a.txt \
        && git -c user.name=a -c user.email=a@b.c commit -q -m first && cd .. \
        && git clone -q --bare plain repo.git && git -C repo.git update-server-info";
    shell(&root, script);
    root
}

/// `/simple/tiny/` and the wheel it names.
pub(crate) fn wheel(work: &Work<'_>, pages: &mut Pages) {
    let root = beside(work, "wheel");
    let script = r#"python3 - <<'END'
import zipfile
with zipfile.ZipFile('tiny-0.1.0-py3-none-any.whl', 'w') as wheel:
    wheel.writestr('tiny/__init__.py', 'HELLO = "from far"\n')
    wheel.writestr('tiny-0.1.0.dist-info/METADATA', 'Metadata-Version: 2.1\nName: tiny\nVersion: 0.1.0\n')
    wheel.writestr('tiny-0.1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
    wheel.writestr('tiny-0.1.0.dist-info/RECORD', '')
END"#;
    shell(&root, script);
    let name = "tiny-0.1.0-py3-none-any.whl";
    pages.files.insert(format!("/files/{name}"), fs::read(root.join(name)).unwrap());
    let page = format!("<!DOCTYPE html><html><body><a href=\"/files/{name}\">{name}</a></body></html>");
    pages.files.insert("/simple/tiny/".to_owned(), page.into_bytes());
}

/// A sparse index with the crate `tiny`, and in the granted folder a program that uses it.
pub(crate) fn registry(work: &Work<'_>, pages: &mut Pages) {
    let root = beside(work, "crate");
    let script = "mkdir -p tiny-0.1.0/src && cd tiny-0.1.0 \
        && printf '[package]\\nname = \"tiny\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n' > Cargo.toml \
        && echo 'pub const HELLO: &str = \"built from far\";' > src/lib.rs && cd .. \
        && tar czf tiny.crate tiny-0.1.0 && sha256sum tiny.crate";
    let sum = shell(&root, script);
    let sum = sum.split_whitespace().next().unwrap();
    let line = format!(
        r#"{{"name":"tiny","vers":"0.1.0","deps":[],"cksum":"{sum}","features":{{}},"yanked":false}}"#
    );
    pages.files.insert("/dl/tiny/0.1.0/download".to_owned(), fs::read(root.join("tiny.crate")).unwrap());
    pages.files.insert("/index/ti/ny/tiny".to_owned(), line.into_bytes());
    // The index names its own host, whichever that is.
    for host in [super::ends::NEAR, super::ends::OTHER] {
        let config = format!(r#"{{"dl":"https://{host}/dl/{{crate}}/{{version}}/download"}}"#);
        pages.files.insert(format!("{host}/index/config.json"), config.into_bytes());
    }
    fs::create_dir_all(work.path("src")).unwrap();
    fs::create_dir_all(work.path("built")).unwrap();
    let manifest = "[package]\nname = \"hello\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
        [dependencies]\ntiny = { version = \"0.1\", registry = \"far\" }\n";
    fs::write(work.path("Cargo.toml"), manifest).unwrap();
    fs::write(work.path("src/main.rs"), "fn main() { println!(\"{}\", tiny::HELLO); }\n").unwrap();
    work.stage.own(&work.folder);
}

/// A folder that is not granted.
fn beside(work: &Work<'_>, what: &str) -> PathBuf {
    let folder = work.stage.path().join(format!("far-{what}-{}", work.folder.file_name().unwrap().display()));
    let _gone = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn shell(folder: &PathBuf, script: &str) -> String {
    let output = Command::new("sh")
        .args(["-c", script])
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}
