use super::*;
use crate::report::Program;

fn measured(program: &str, ratios: Vec<Ratio>) -> Measured {
    let program = Program { name: program.into(), ratios, ..Program::default() };
    Measured { programs: vec![program], ..Measured::default() }
}

fn verdicts(baseline: &str, measured: &Measured) -> Vec<Verdict> {
    let baseline: Baseline = baseline.parse().unwrap();
    baseline.compare(measured).iter().map(|one| one.verdict).collect()
}

#[test]
fn worse_and_better_go_by_direction_and_tolerance() {
    let lower = |value| Ratio::lower("x", value, "y");
    let higher = |value| Ratio::higher("x", value, "y");
    #[rustfmt::skip]
    let cases = [
        // ratio      verdict, where it was 2 with a tolerance of 25 %
        (lower(2.0),  Verdict::Same),
        (lower(2.49), Verdict::Same),
        (lower(2.51), Verdict::Worse),
        (lower(1.61), Verdict::Same),
        (lower(1.59), Verdict::Better),
        (higher(2.0),  Verdict::Same),
        (higher(1.61), Verdict::Same),
        (higher(1.59), Verdict::Worse),
        (higher(2.49), Verdict::Same),
        (higher(2.51), Verdict::Better),
    ];
    for (ratio, verdict) in cases {
        let now = measured("text", vec![ratio.clone()]);
        assert_eq!(verdicts("text\tx\ty\t2\t0.25\n", &now), [verdict], "{ratio:?}");
    }
}

#[test]
fn from_nothing_anything_is_worse() {
    let now = |value| measured("text", vec![Ratio::lower("lost", value, "sent")]);
    assert_eq!(verdicts("text\tlost\tsent\t0\t0.5\n", &now(0.0)), [Verdict::Same]);
    assert_eq!(verdicts("text\tlost\tsent\t0\t0.5\n", &now(0.001)), [Verdict::Worse]);
}

#[test]
fn a_line_that_is_gone_is_a_regression_and_a_new_one_is_none() {
    let baseline: Baseline =
        "# a note\ntext\tgone\ty\t2\t0.25\nstore\tanother program\ty\t2\t0.25\n".parse().unwrap();
    let compared = baseline.compare(&measured("text", vec![Ratio::lower("new", 1.5, "y")]));
    let said: Vec<String> = compared.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "GONE   text: gone, × y: -, was 2.00 (tolerance 25 %)",
            "new    text: new, × y: 1.50, was - (tolerance 30 %)",
        ]
    );
    let regressions: Vec<bool> = compared.iter().map(|one| one.verdict.is_regression()).collect();
    assert_eq!(regressions, [true, false]);
}

#[test]
fn the_same_name_against_another_peer_is_another_ratio() {
    let now =
        measured("start", vec![Ratio::lower("native", 3.0, "plain"), Ratio::lower("native", 0.9, "bwrap")]);
    let baseline = "start\tnative\tplain\t3\t0.2\nstart\tnative\tbwrap\t0.5\t0.2\n";
    // In the order of their keys.
    assert_eq!(verdicts(baseline, &now), [Verdict::Worse, Verdict::Same]);
}

#[test]
fn a_new_baseline_keeps_tolerances_and_what_did_not_run() {
    let before: Baseline =
        "text\tx\ty\t2\t0.25\ntext\tgone\ty\t9\t0.1\nstore\tz\ty\t4\t0.5\n".parse().unwrap();
    let now = measured("text", vec![Ratio::lower("x", 7.14159, "y"), Ratio::higher("new", 0.5, "y")]);
    let after = before.renewed(&now).to_string();
    let lines: Vec<&str> = after.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines, ["store\tz\ty\t4.00\t0.5", "text\tnew\ty\t0.500\t0.3", "text\tx\ty\t7.14\t0.25"]);
    assert!(after.starts_with("# The ratios"));
    // What was written is read, and what was measured is not worse than itself.
    let read: Baseline = after.parse().unwrap();
    assert!(read.compare(&now).iter().all(|one| one.verdict == Verdict::Same));
}

#[test]
fn a_line_that_is_none_is_named() {
    for (text, error) in [
        ("a\tb\tc\t1\n", "line 1 of the baseline is none: `a\tb\tc\t1`"),
        ("# x\n\na\tb\tc\tone\t0.3\n", "line 3 of the baseline is none: `a\tb\tc\tone\t0.3`"),
        ("a\tb\tc\t1\t-0.3\n", "line 1 of the baseline is none: `a\tb\tc\t1\t-0.3`"),
        ("a\tb\tc\t1\t0.3\na\tb\tc\t2\t0.3\n", "line 2 of the baseline says again what another has said"),
    ] {
        assert_eq!(text.parse::<Baseline>().unwrap_err(), error);
    }
}

#[test]
fn the_committed_baseline_can_be_read() {
    let baseline: Baseline = include_str!("../../../baseline.tsv").parse().unwrap();
    assert!(baseline.0.len() > 30, "only {} lines", baseline.0.len());
    // A line of a program that is gone would never be compared again.
    for (program, ..) in baseline.0.keys() {
        let source = format!("{}/src/bin/{program}.rs", env!("CARGO_MANIFEST_DIR"));
        assert!(std::path::Path::new(&source).is_file(), "there is no program `{program}`");
    }
}
