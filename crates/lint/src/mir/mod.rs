//! The engine that follows calls: what every function of a program can do, from the MIR of all its crates.
//!
//! The compiler is asked to write down each crate as it understood it (`--emit=mir`). [`summarise`] reads one such file once;
//! [`analyse`] joins the summaries of all crates into one graph of calls and carries effects from where they happen to every
//! function that can reach them, with the shortest way there.
//!
//! What is counted: a function that is named is counted as called, whoever calls it later; a closure or a future that is made is
//! counted as run by whoever makes it; a generic function is counted with the types that its caller names; a value that goes out
//! of scope runs the `Drop` of everything inside it; a method of a trait object may be the method of any type that has the trait.

mod fit;
mod hash;
mod head;
mod hide;
mod index;
mod lex;
mod open;
mod parse;
mod path;
mod reach;
mod resolve;
mod runs;
mod solve;
mod source;
mod summary;
mod survey;
mod verdict;

use std::path::PathBuf;

use self::index::Index;
use self::parse::Literals;
use self::reach::Reach;
use self::solve::Graph;
use self::source::Files;
use self::summary::Words;
pub use self::summary::{SUMMARY_VERSION, Summary};
use crate::Analysis;

/// One compiled crate.
#[derive(Clone, Debug)]
pub struct Unit {
    /// What the compiler calls it.
    pub name: String,
    /// Its package, as `name@version`.
    pub package: String,
    /// Whether it is the tool's own.
    pub own: bool,
    /// The file that the compiler wrote.
    pub mir: PathBuf,
    /// What the names of files that are not absolute start from.
    pub source_root: PathBuf,
    /// What is put before the names of files when they are shown: nothing for the tool's own, `name-version/` for others.
    pub shown_root: String,
    /// The crates it uses: the name it uses, and which unit that is.
    pub externs: Vec<(String, usize)>,
    /// Whether it runs while other crates are built: its code is not part of the program.
    pub proc_macro_or_build: bool,
}

/// Why a crate could not be analysed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MirError {
    /// The compiler wrote something that this version does not know how to read.
    #[error("line {line} of `{}` is not in the form that this version reads", file.display())]
    Dialect {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A file could not be read.
    #[error("`{}` cannot be read", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// There is not one summary for each unit.
    #[error("{units} crates were given with {summaries} summaries")]
    Mismatch {
        /// How many crates.
        units: usize,
        /// How many summaries.
        summaries: usize,
    },
}

/// Reads what the compiler wrote of one crate, and what its sources say beside it.
pub fn summarise(unit: &Unit) -> Result<Summary, MirError> {
    if unit.proc_macro_or_build {
        return Ok(Summary { version: SUMMARY_VERSION, ..Summary::default() });
    }
    let read = |cause| MirError::Read { file: unit.mir.clone(), cause };
    // Byte strings that are no text are printed as escapes, but names of files may be anything.
    let bytes = std::fs::read(&unit.mir).map_err(read)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut words = Words::default();
    let literals = if unit.own { Literals::All } else { Literals::Standard };
    let mut parsed = parse::parse(&text, &unit.mir, literals, &mut words)?;
    let mut files = Files::new(&unit.source_root);
    let mut spans: std::collections::HashMap<String, u32> = std::collections::HashMap::new();
    let mut blocks = Vec::new();
    for item in &mut parsed.items {
        let Some(span) = block_span(words.text(item.name)).map(str::to_owned) else { continue };
        let next = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
        let number = *spans.entry(span.clone()).or_insert_with(|| {
            blocks.push(source::block(&span, &mut files, &mut words));
            next
        });
        item.block = Some(number);
    }
    let seen: std::collections::BTreeSet<u32> =
        parsed.items.iter().filter_map(|item| item.spot).map(|spot| spot.0).collect();
    let names = source::names(&unit.mir, seen.into_iter().map(|file| words.text(file).to_owned()));
    let source = source::scan(&names, &mut files, &mut words);
    Ok(Summary {
        version: SUMMARY_VERSION,
        words: words.into_list(),
        items: parsed.items,
        blocks,
        parts: parsed.parts,
        source,
    })
}

/// Joins the summaries of all crates of a program, in the order of `units`, and says what each own function can do.
pub fn analyse(units: &[Unit], summaries: &[Summary]) -> Result<Analysis, MirError> {
    if units.len() != summaries.len() {
        return Err(MirError::Mismatch { units: units.len(), summaries: summaries.len() });
    }
    let index = Index::new(units, summaries);
    let roots: Vec<index::Node> = (0_u32..)
        .zip(&index.entries)
        .filter(|(_, entry)| units.get(entry.unit).is_some_and(|unit| unit.own))
        .map(|(node, _)| node)
        .collect();
    let mut graph = Graph::new(index);
    graph.follow(roots.iter().copied());
    let reach = Reach::new(&graph);
    Ok(verdict::analysis(&mut graph, &reach, &roots))
}

/// Returns the place of the innermost impl in a name: `m::<impl at src/lib.rs:48:27: 48:33>::go`.
fn block_span(name: &str) -> Option<&str> {
    let (_, rest) = name.rsplit_once("<impl at ")?;
    rest.split_once('>').map(|(span, _)| span)
}
