//! An engine is asked from any thread, also from one that belongs to an asynchronous runtime.

use std::time::Duration;

use ringfence_sandbox::{Adapter, Ending, Sandbox, Streams};

use crate::it::fake::{Fake, command};

#[test]
fn a_worker_of_the_runtime_may_run_a_command() {
    let fake = Fake::new(|_| None);
    let engine = fake.engine.clone();
    let running = fake.runtime.spawn(async move {
        let sandbox = Sandbox::foreign(engine.clone());
        let plan = sandbox.plan(&command()).unwrap();
        assert!(plan.parts().is_superset(&engine.enforces(&plan)));
        sandbox.run(&command(), Streams::default()).unwrap().ending
    });
    // A command that held up its own runtime would never end.
    let soon = async { tokio::time::timeout(Duration::from_secs(120), running).await };
    assert_eq!(fake.runtime.block_on(soon).unwrap().unwrap(), Ending::Exited(3));
}
