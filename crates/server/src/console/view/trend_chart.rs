//! Charts over time: places and sizes as numbers, which templates write into SVG. Text stands around the picture, so that it is as
//! large on a phone as anywhere.
//!
//! INVARIANT: everything that is drawn lies inside of the picture, whatever the counts are.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::time::micros;
use super::trend::{Trend, TrendSlot};

/// How wide and how high a picture is, in its own units.
pub(crate) const WIDTH: u64 = 1000;
pub(crate) const HEIGHT: u64 = 200;
/// How many codes have a color of their own.
const COLORS: usize = 5;

/// A part of a bar.
pub(crate) struct Block {
    pub(crate) x: u64,
    pub(crate) y: u64,
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) style: String,
    pub(crate) title: String,
}

/// Bars over time.
pub(crate) struct BarChart {
    pub(crate) blocks: Vec<Block>,
    /// What the colors mean: the style, the name, and how many there are in all.
    pub(crate) legend: Vec<(String, String, u64)>,
    /// What the highest bar counts.
    pub(crate) top: u64,
}

/// Lines over time.
pub(crate) struct LineChart {
    /// The style of a line, its name, and its points.
    pub(crate) lines: Vec<(&'static str, &'static str, String)>,
    /// What the top of the picture stands for.
    pub(crate) top: String,
}

/// Draws how many calls there were.
pub(crate) fn calls(trend: &Trend) -> BarChart {
    let parts = |slot: &TrendSlot| vec![slot.done, slot.failed, slot.refused];
    let names = [("done", "done"), ("failed", "failed"), ("refused", "refused")];
    bars(trend, &names.map(|(style, name)| (style.to_owned(), name.to_owned())), parts)
}

/// Draws how often something was refused, by code: the most frequent codes, then the rest.
pub(crate) fn refusals(trend: &Trend) -> BarChart {
    let mut codes: Vec<(&String, u64)> =
        trend.total.refusals.iter().map(|(code, count)| (code, *count)).collect();
    codes.sort_by_key(|(code, count)| (std::cmp::Reverse(*count), code.as_str()));
    let mut names: Vec<(String, String)> = Vec::new();
    for (place, (code, _)) in codes.iter().take(COLORS).enumerate() {
        names.push((format!("color-{place}"), (*code).clone()));
    }
    if codes.len() > COLORS {
        names.push((format!("color-{COLORS}"), "other codes".to_owned()));
    }
    let own: Vec<String> = codes.iter().take(COLORS).map(|(code, _)| (*code).clone()).collect();
    let count = |all: &BTreeMap<String, u64>, code: &str| all.get(code).copied().unwrap_or(0);
    let has_rest = codes.len() > COLORS;
    bars(trend, &names, |slot| {
        let mut parts: Vec<u64> = own.iter().map(|code| count(&slot.refusals, code)).collect();
        if has_rest {
            parts.push(slot.refusals_total() - parts.iter().sum::<u64>());
        }
        parts
    })
}

fn bars(trend: &Trend, names: &[(String, String)], parts: impl Fn(&TrendSlot) -> Vec<u64>) -> BarChart {
    let all: Vec<Vec<u64>> = trend.slots.iter().map(parts).collect();
    let top = all.iter().map(|parts| parts.iter().sum::<u64>()).max().unwrap_or(0);
    let step = WIDTH / (all.len() as u64).max(1);
    let gap = (step / 6).max(1);
    let scaled = |count: u64| scale(count, top, HEIGHT);
    let mut blocks = Vec::new();
    for (place, (slot, parts)) in (0..).zip(trend.slots.iter().zip(&all)) {
        let mut below = 0;
        for ((style, name), count) in names.iter().zip(parts).filter(|(_, count)| **count > 0) {
            let (low, high) = (scaled(below), scaled(below + count));
            below += count;
            // What is there at all can be seen.
            let height = (high - low).max(2).min(HEIGHT - low);
            blocks.push(Block {
                x: place * step + gap / 2,
                y: HEIGHT - low - height,
                width: step - gap,
                height,
                style: style.clone(),
                title: format!("{}: {count} {name}", slot.start().written()),
            });
        }
    }
    let totals = (0..names.len()).map(|place| all.iter().filter_map(|parts| parts.get(place)).sum());
    let legend = names.iter().cloned().zip(totals).map(|((style, name), count)| (style, name, count));
    BarChart { blocks, legend: legend.collect(), top }
}

/// Returns how high a count is where `top` is as high as `height`.
fn scale(count: u64, top: u64, height: u64) -> u64 {
    let scaled = u128::from(count) * u128::from(height) / u128::from(top.max(1));
    u64::try_from(scaled).unwrap_or(height).min(height)
}

/// Draws how long calls took. A part of the time without calls is a gap.
pub(crate) fn latency(trend: &Trend) -> LineChart {
    let step = WIDTH / (trend.slots.len() as u64).max(1);
    let top = trend.slots.iter().filter_map(|slot| slot.p95_us).max().unwrap_or(0);
    let line = |value: fn(&TrendSlot) -> Option<u64>| {
        let (mut path, mut is_gap) = (String::new(), true);
        for (place, slot) in (0..).zip(&trend.slots) {
            let Some(micros) = value(slot) else {
                is_gap = true;
                continue;
            };
            let y = HEIGHT - scale(micros, top, HEIGHT - 8);
            let x = place * step + step / 2;
            // A part between two gaps is seen as a short line.
            let command = if std::mem::replace(&mut is_gap, false) {
                format!("M {} {y} L", x.saturating_sub(6))
            } else {
                "L".to_owned()
            };
            // Writing to a string does not fail.
            let _written = write!(path, "{command} {x} {y} ");
        }
        path
    };
    LineChart {
        lines: vec![
            ("p50", "half within", line(|slot| slot.p50_us)),
            ("p95", "95 % within", line(|slot| slot.p95_us)),
        ],
        top: micros(top),
    }
}

/// Says in words what the charts show.
pub(crate) fn words(trend: &Trend) -> [String; 3] {
    let total = &trend.total;
    let calls =
        format!("Calls over time: {} done, {} failed, {} refused.", total.done, total.failed, total.refused);
    let mut refusals = format!("Refusals over time, by code: {} in all.", total.refusals_total());
    for (code, count) in &total.refusals {
        let _written = write!(refusals, " {code} {count}.");
    }
    let took = |share: Option<u64>| share.map_or_else(|| "nothing".to_owned(), micros);
    let latency =
        format!("Latency over time: half within {}, 95 % within {}.", took(total.p50_us), took(total.p95_us));
    [calls, refusals, latency]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(done: u64, codes: &[(&str, u64)], p95_us: Option<u64>) -> TrendSlot {
        let refusals: BTreeMap<String, u64> =
            codes.iter().map(|(code, count)| ((*code).to_owned(), *count)).collect();
        let refused = refusals.values().sum();
        TrendSlot { start_ms: 0, done, failed: 0, refused, refusals, p50_us: p95_us.map(|us| us / 2), p95_us }
    }

    fn trend(slots: Vec<TrendSlot>) -> Trend {
        let mut total = slot(0, &[], Some(7));
        for own in &slots {
            total.done += own.done;
            total.refused += own.refused;
            for (code, count) in &own.refusals {
                *total.refusals.entry(code.clone()).or_default() += count;
            }
        }
        let before = slot(0, &[], None);
        Trend {
            range: "24h".to_owned(),
            slots,
            total,
            before,
            changes: Vec::new(),
            counted_from: 0,
            complete: true,
        }
    }

    #[test]
    fn everything_is_inside_and_what_is_there_is_seen() {
        let codes: Vec<(String, u64)> = (0..9).map(|code| (format!("C{code}"), 10 - code)).collect();
        let codes: Vec<(&str, u64)> = codes.iter().map(|(code, count)| (code.as_str(), *count)).collect();
        let trend = trend(vec![
            slot(1_000_000, &[], Some(60_000_000)),
            slot(1, &codes, None),
            slot(0, &[], Some(0)),
            slot(u64::MAX / 4, &[], Some(5)),
        ]);
        for chart in [calls(&trend), refusals(&trend)] {
            assert!(!chart.blocks.is_empty());
            for block in &chart.blocks {
                assert!(
                    block.height >= 1 && block.y + block.height <= HEIGHT && block.x + block.width <= WIDTH
                );
            }
        }
        let chart = refusals(&trend);
        let legend: Vec<(&str, u64)> =
            chart.legend.iter().map(|(_, name, count)| (name.as_str(), *count)).collect();
        assert_eq!(legend, [("C0", 10), ("C1", 9), ("C2", 8), ("C3", 7), ("C4", 6), ("other codes", 14)]);
        let chart = latency(&trend);
        assert_eq!(chart.lines[1].2.matches('M').count(), 2, "{:?}", chart.lines[1]);
        assert_eq!(chart.top, "1 min 0 s");
        assert!(words(&trend)[1].contains("C8 2."));
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let trend = trend(vec![slot(0, &[], None); 24]);
        assert!(calls(&trend).blocks.is_empty() && refusals(&trend).legend.is_empty());
        assert_eq!(latency(&trend).lines[0].2, "");
    }
}
