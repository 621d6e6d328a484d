//! Runs one command with the adapter: `adapter SOCKET IMAGE PROGRAM [ARGUMENT…]`.

mod micro;

use micro::Micro;
use ringfence_sandbox::{Sandbox, Spec, Streams};

#[expect(clippy::disallowed_methods, clippy::print_stdout, reason = "an example is a program of its own")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("usage: adapter SOCKET IMAGE PROGRAM [ARGUMENT…]");
    let (socket, image, program) = (next()?.into(), next()?, next()?);
    let spec = Spec::new(program).in_image(image).arguments(arguments);
    let report = Sandbox::foreign(Micro { socket }).run(&spec, Streams::default())?;
    println!("{}", String::from_utf8_lossy(&report.stdout.bytes));
    println!("{:?}, {} by `{}`", report.ending, report.assurance, report.backend);
    Ok(())
}
