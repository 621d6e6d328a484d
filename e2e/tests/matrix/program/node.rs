//! Node, which needs more of the kernel than most.

use std::fs;

use crate::matrix::check::{Check, ok};
use crate::matrix::stage::Work;

#[rustfmt::skip]
pub(crate) const CHECKS: &[Check] = &[
    Check::steps("node::fs", &[ok(&[], &["node", "-e", "
const fs = require('fs');
fs.mkdirSync('d'); fs.writeFileSync('d/a', 'x'); fs.appendFileSync('d/a', 'y'); fs.renameSync('d/a', 'd/b');
fs.promises.readFile('d/b', 'utf8').then(text => console.log(text, fs.readdirSync('d')))"], "xy [ 'b' ]")]),
    Check::steps("node::child_process", &[ok(&["--exec", "echo", "--exec", "sh"], &["node", "-e", "
const { execFileSync, execSync, spawn } = require('child_process');
console.log(String(execFileSync('echo', ['one'])).trim() + String(execSync('echo two')).trim());
spawn('echo', ['three']).stdout.on('data', data => console.log(String(data).trim()))"], "onetwo\nthree")]),
    Check::steps("node::fork", &[
        ok(&[], &["sh", "-c", "echo 'process.on(\"message\", m => { process.send(m + 1); process.disconnect() })' > c.js"], ""),
        ok(&[], &["node", "-e", "const c = require('child_process').fork('./c.js'); c.on('message', m => console.log('back', m)); c.send(41)"], "back 42"),
    ]),
    Check::steps("node::worker_threads", &[ok(&[], &["node", "-e", "
const { Worker } = require('worker_threads');
new Worker('require(\"worker_threads\").parentPort.postMessage(6 * 7)', { eval: true }).on('message', m => console.log('worker', m))"], "worker 42")]),
    Check::steps("node::http_on_loopback", &[ok(&[], &["node", "-e", "
const http = require('http');
const server = http.createServer((q, a) => a.end('served')).listen(0, '127.0.0.1', () =>
  http.get({ port: server.address().port, host: '127.0.0.1' }, a => a.on('data', d => { console.log(String(d)); server.close() })))"], "served")]),
    Check::steps("node::crypto_and_zlib", &[ok(&[], &["node", "-e", "
const z = require('zlib'), c = require('crypto');
console.log(String(z.gunzipSync(z.gzipSync('same'))), c.createHash('sha256').update('a').digest('hex').slice(0, 8))"], "same ca978112")]),
    Check::call("node::modules_of_a_store", modules_of_a_store),
    Check::steps("node::no_network", &[ok(&[], &["node", "-e", "fetch('http://example.invalid/').catch(e => console.log('clean', e.cause.code))"], "clean E")]),
];

/// Packages that a package manager has linked from its store: they load, and the project is written as ever.
fn modules_of_a_store(work: &Work<'_>) -> Result<(), String> {
    let store = work.stage.folder("node-store");
    for number in 0..1_500 {
        let (name, package) = (format!("{number}.js"), work.path(&format!("node_modules/p{}", number % 30)));
        fs::create_dir_all(&package).unwrap();
        fs::write(store.path(&name), format!("module.exports = {number}\n")).unwrap();
        fs::hard_link(store.path(&name), package.join(&name)).unwrap();
    }
    work.stage.own(&work.folder);
    let script = "
const fs = require('fs');
fs.mkdirSync('dist'); fs.writeFileSync('dist/a', String(require('./node_modules/p7/37.js'))); fs.renameSync('dist/a', 'dist/b');
try { fs.writeFileSync('node_modules/p7/37.js', 'bad'); console.log('written') } catch (e) { console.log(e.code, String(fs.readFileSync('dist/b'))) }";
    work.run(&[], &["node", "-e", script]).must(0, "EROFS 37")
}
