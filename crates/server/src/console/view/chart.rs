//! Pictures of a run: places and sizes as numbers, which templates write into SVG.
//!
//! INVARIANT: everything that is drawn lies inside of the picture, whatever the times are.

use std::collections::BTreeMap;

use super::reach::Edge;
use super::run::Bar;
use super::time::micros;
use super::what::short;

/// How wide pictures are, and where bars begin.
pub(crate) const WIDTH: u64 = 1000;
const LABEL: u64 = 230;
/// How high a line is.
const LINE: u64 = 22;
/// How many things a graph shows on each side, and how many lines between them.
const NODES: usize = 60;
const EDGES: usize = 240;
/// Where the two sides of a graph end and begin.
const LEFT: u64 = 300;
const RIGHT: u64 = 620;

/// A bar of a picture, with its label.
pub(crate) struct Drawn {
    pub(crate) label: String,
    /// What a reader is told who points at it.
    pub(crate) title: String,
    pub(crate) href: String,
    pub(crate) style: String,
    pub(crate) x: u64,
    pub(crate) y: u64,
    pub(crate) width: u64,
    /// Where the text of its line stands.
    pub(crate) base: u64,
}

/// Bars below each other.
pub(crate) struct Bars {
    pub(crate) bars: Vec<Drawn>,
    pub(crate) height: u64,
    /// How long the whole width is.
    pub(crate) span: String,
}

/// Draws calls in time.
pub(crate) fn waterfall(calls: &[Bar]) -> Bars {
    let start = calls.iter().map(|call| call.start_us).min().unwrap_or(0);
    let end = calls.iter().map(|call| call.start_us.saturating_add(call.duration_us)).max().unwrap_or(0);
    let span = end.saturating_sub(start).max(1);
    let bar = |(place, call): (usize, &Bar)| {
        let code = call.code.as_deref().map(|code| format!(", {code}")).unwrap_or_default();
        drawn(
            place,
            call.start_us - start,
            call.duration_us,
            span,
            Drawn {
                label: short(&call.tool, 30),
                title: format!("{}: {}{code}, {}", call.tool, call.outcome, call.duration()),
                href: format!("/calls/{}", call.index),
                style: call.outcome.clone(),
                x: 0,
                y: 0,
                width: 0,
                base: 0,
            },
        )
    };
    let bars: Vec<Drawn> = calls.iter().enumerate().map(bar).collect();
    Bars { height: LINE * (bars.len() as u64 + 1), bars, span: micros(span) }
}

/// Draws stages, one after the other.
pub(crate) fn stages(stages: &[(String, u64)]) -> Bars {
    let span = stages.iter().fold(0_u64, |all, (_, taken)| all.saturating_add(*taken)).max(1);
    let mut passed = 0_u64;
    let bars = stages.iter().enumerate().map(|(place, (name, taken))| {
        let bar = drawn(
            place,
            passed,
            *taken,
            span,
            Drawn {
                label: format!("{} · {}", short(name, 20), micros(*taken)),
                title: format!("{name}: {}", micros(*taken)),
                href: String::new(),
                style: "done".to_owned(),
                x: 0,
                y: 0,
                width: 0,
                base: 0,
            },
        );
        passed = passed.saturating_add(*taken);
        bar
    });
    let bars: Vec<Drawn> = bars.collect();
    Bars { height: LINE * (bars.len() as u64 + 1), bars, span: micros(span) }
}

/// Puts a bar in its place: `from` and `length` are parts of `span`.
fn drawn(place: usize, from: u64, length: u64, span: u64, bar: Drawn) -> Drawn {
    let scaled = |part: u64| {
        let scaled = u128::from(part) * u128::from(WIDTH - LABEL - 10) / u128::from(span);
        u64::try_from(scaled).unwrap_or(0).min(WIDTH - LABEL - 10)
    };
    let y = LINE * (place as u64 + 1) - 8;
    let x = LABEL + scaled(from);
    // What took no time is seen too.
    Drawn { x, y, width: scaled(length).max(3).min(WIDTH - x), base: y + 12, ..bar }
}

/// A thing of a graph.
pub(crate) struct Node {
    pub(crate) label: String,
    pub(crate) title: String,
    pub(crate) y: u64,
}

/// A line of a graph.
pub(crate) struct Line {
    pub(crate) path: String,
    pub(crate) style: &'static str,
    pub(crate) title: String,
}

/// Tools on the left, what they touched on the right, and lines between them.
pub(crate) struct Graph {
    pub(crate) tools: Vec<Node>,
    pub(crate) things: Vec<Node>,
    pub(crate) lines: Vec<Line>,
    pub(crate) height: u64,
    /// How many lines are not drawn.
    pub(crate) left_out: usize,
}

/// Draws what tools touched.
pub(crate) fn graph(edges: &[Edge]) -> Graph {
    let (mut tools, mut things) = (BTreeMap::new(), BTreeMap::new());
    let mut kept: Vec<(&Edge, u64, u64)> = Vec::new();
    for edge in edges.iter().take(EDGES) {
        let (known_tools, known_things) = (tools.len(), things.len());
        let thing = (edge.surface.as_str(), edge.what.as_str());
        let is_full = |known: bool, count: usize| !known && count >= NODES;
        if is_full(tools.contains_key(edge.tool.as_str()), known_tools)
            || is_full(things.contains_key(&thing), known_things)
        {
            continue;
        }
        let line = |place: usize| LINE * (place as u64 + 1);
        let left = *tools.entry(edge.tool.as_str()).or_insert_with(|| line(known_tools));
        let right = *things.entry(thing).or_insert_with(|| line(known_things));
        kept.push((edge, left, right));
    }
    let lines = kept.iter().map(|(edge, left, right)| Line {
        path: format!("M {LEFT} {left} C {} {left}, {} {right}, {RIGHT} {right}", LEFT + 140, RIGHT - 140),
        style: edge.style(),
        title: format!("{} {} {} {}", edge.tool, edge.surface, edge.what, edge.word()),
    });
    Graph {
        height: LINE * (tools.len().max(things.len()) as u64 + 1),
        left_out: edges.len() - kept.len(),
        lines: lines.collect(),
        tools: tools.iter().map(|(name, y)| node(name, *y, 40)).collect(),
        things: things
            .iter()
            .map(|((surface, what), y)| node(&format!("{surface} {what}"), *y, 52))
            .collect(),
    }
}

fn node(name: &str, y: u64, most: usize) -> Node {
    Node { label: short(name, most), title: name.to_owned(), y }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(start_us: u64, duration_us: u64) -> Bar {
        Bar { index: 1, tool: "t".to_owned(), outcome: "done".to_owned(), code: None, start_us, duration_us }
    }

    #[test]
    fn bars_stay_inside_whatever_the_times_are() {
        let cases = [
            vec![],
            vec![bar(0, 0)],
            vec![bar(5, 10), bar(10, 5)],
            vec![bar(0, u64::MAX), bar(u64::MAX, u64::MAX)],
        ];
        for calls in cases {
            let drawn = waterfall(&calls);
            for one in &drawn.bars {
                assert!(
                    one.x >= LABEL
                        && one.width >= 1
                        && one.x + one.width <= WIDTH
                        && one.base <= drawn.height
                );
            }
        }
        let drawn = waterfall(&[bar(0, 50), bar(50, 50)]);
        assert_eq!((drawn.bars[0].x, drawn.bars[0].width, drawn.bars[1].x), (230, 380, 610));
        let drawn = stages(&[("a".to_owned(), 10), ("b".to_owned(), 30)]);
        assert_eq!((drawn.bars[1].x, drawn.bars[1].width), (230 + 190, 570));
    }

    #[test]
    fn a_graph_is_bounded_and_says_what_it_left_out() {
        let edge = |tool: usize, what: usize| Edge {
            reached: true,
            granted: false,
            tool: format!("tool{tool}"),
            surface: "host".to_owned(),
            what: format!("host{what}"),
            refused: None,
        };
        let edges: Vec<Edge> = (0..300).map(|one| edge(one % 5, one)).collect();
        let graph = graph(&edges);
        assert_eq!((graph.tools.len(), graph.things.len(), graph.lines.len()), (5, NODES, NODES));
        assert_eq!(graph.left_out, 300 - NODES);
    }
}
