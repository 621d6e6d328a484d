//! Functions whose names say what is expected of them: `clean_…` nothing, `uses_fs_read_exec_…` exactly these two.

use ringfence_lint::{Analysis, Effect, EffectSet, FunctionKind};

/// Checks every function of a corpus that is named so, and returns how many there are.
pub(crate) fn check(analysis: &Analysis) -> usize {
    let (mut checked, mut wrong) = (0, Vec::new());
    for verdict in &analysis.functions {
        let name = verdict.function.rsplit('.').next().unwrap();
        let Some(expected) = expected(name).filter(|_| verdict.kind == FunctionKind::Function) else {
            continue;
        };
        checked += 1;
        if verdict.effects() != expected {
            wrong.push(format!("{}: expected {expected:?}, found {:?}", verdict.function, verdict.effects()));
        }
        for one in &verdict.uses {
            assert!(one.way.len() >= 2, "{}: {one:?}", verdict.function);
        }
    }
    assert!(wrong.is_empty(), "{} of {checked} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    checked
}

fn expected(name: &str) -> Option<EffectSet> {
    if name.starts_with("clean_") {
        return Some(EffectSet::NONE);
    }
    let mut rest = name.strip_prefix("uses_")?;
    let mut effects = EffectSet::NONE;
    while let Some((effect, tail)) = Effect::ALL.into_iter().find_map(|effect| {
        let spelled = effect.name().replace(['.', '-'], "_") + "_";
        Some((effect, rest.strip_prefix(spelled.as_str())?))
    }) {
        effects.insert(effect);
        rest = tail;
    }
    assert!(!effects.is_empty(), "{name} names no effect");
    Some(effects)
}
