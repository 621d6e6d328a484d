//! What the value of a setting names.

use super::config::Setting;

/// What a value names, as far as that is a file somebody could change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Names {
    /// A command: each of its words may be a program or a script.
    Command,
    /// Another configuration.
    Configuration,
    /// Nothing that is run or obeyed.
    Nothing,
    /// A file or folder that is run or obeyed as a whole.
    Place,
}

/// Says what a setting names. What is not known here counts as a command.
pub(super) fn names(setting: &Setting) -> Names {
    let part = setting.part().is_some();
    match (setting.section(), part, setting.key()) {
        (b"include", false, b"path") | (b"includeif", true, b"path") => Names::Configuration,
        (b"core", false, b"attributesfile" | b"hookspath") | (b"init", false, b"templatedir") => Names::Place,
        (
            b"core",
            false,
            b"excludesfile" | b"worktree" | b"bare" | b"filemode" | b"repositoryformatversion",
        )
        | (b"commit", false, b"template")
        | (b"submodule", true, b"active" | b"branch" | b"path" | b"url")
        | (b"remote", true, b"fetch" | b"push" | b"pushurl" | b"url")
        | (
            b"advice" | b"author" | b"branch" | b"color" | b"committer" | b"extensions" | b"safe" | b"url"
            | b"user",
            ..,
        ) => Names::Nothing,
        _ => Names::Command,
    }
}

/// Splits a command at what a shell splits at. Quotes and `!` go; a word with a blank in it is given whole as well.
pub(super) fn words(command: &[u8]) -> Vec<&[u8]> {
    let ends_word = |byte: &u8| {
        byte.is_ascii_whitespace()
            || matches!(
                byte,
                b'\''
                    | b'"'
                    | b'`'
                    | b';'
                    | b'|'
                    | b'&'
                    | b'('
                    | b')'
                    | b'<'
                    | b'>'
                    | b'='
                    | b'!'
                    | b'$'
                    | b'{'
                    | b'}'
            )
    };
    let mut words: Vec<&[u8]> = command.split(ends_word).filter(|word| !word.is_empty()).collect();
    let quoted = command.split(|byte| matches!(byte, b'\'' | b'"')).map(<[u8]>::trim_ascii);
    words.extend(quoted.filter(|word| word.contains(&b' ') && word.contains(&b'/')));
    words.push(command.trim_ascii());
    // A bare word is a program that is looked up elsewhere, or a word of git's own; `sh build.sh` is a script.
    let may_be_file = |word: &[u8]| word.contains(&b'/') || word.trim_ascii_end().contains(&b'.');
    words.retain(|word| may_be_file(word) && !word.contains(&0) && !word.starts_with(b"-"));
    words.sort_unstable();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::super::config::parse;
    use super::*;

    #[test]
    fn what_is_run_is_told_from_what_is_not() {
        #[rustfmt::skip]
        let cases = [
            ("[core]\nhooksPath = h",                         Names::Place),
            ("[core]\nattributesFile = h",                    Names::Place),
            ("[include]\npath = h",                           Names::Configuration),
            ("[includeIf \"gitdir:/w/\"]\npath = h",          Names::Configuration),
            ("[core]\nfsmonitor = h",                         Names::Command),
            ("[filter \"x\"]\nclean = h",                     Names::Command),
            ("[anything \"new\"]\ncmd = h",                   Names::Command),
            ("[submodule \"x\"]\nupdate = !h",                Names::Command),
            ("[remote \"o\"]\nurl = /srv/x",                  Names::Nothing),
            ("[remote \"o\"]\nuploadpack = x",                Names::Command),
        ];
        for (text, wanted) in cases {
            let config = parse(text.as_bytes());
            assert_eq!(config.settings.iter().map(names).collect::<Vec<_>>(), [wanted], "{text}");
        }
        let words: Vec<_> = words(b"!f() { sh 'tools/a b.sh' \"$1\"; }; f")
            .into_iter()
            .map(String::from_utf8_lossy)
            .collect();
        assert!(words.iter().any(|word| word == "tools/a b.sh"), "{words:?}");
        assert!(!words.iter().any(|word| word == "sh"), "{words:?}");
    }
}
