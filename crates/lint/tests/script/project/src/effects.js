// Each effect in the ways that the platforms have for it.
import crypto from "node:crypto";
import dgram from "node:dgram";
import dns from "node:dns/promises";
import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import os from "node:os";
import vm from "node:vm";
import { Worker } from "node:worker_threads";

export function uses_fs_write_plain() {
  fs.writeFileSync("/tmp/x", "x");
}
export function uses_fs_write_stream() {
  fs.createWriteStream("/tmp/x");
}
export function uses_fs_write_remove() {
  fs.rmSync("/tmp/x", { recursive: true });
}
export function uses_fs_read_listing() {
  return fs.readdirSync(".");
}
export function uses_fs_read_exists() {
  return fs.existsSync(".");
}
export function uses_fs_read_fs_write_copy() {
  fs.copyFileSync("a", "b");
}
export function uses_fs_read_open() {
  return fs.openSync("/etc/hosts");
}
export function uses_fs_write_open_flags() {
  return fs.openSync("/tmp/x", "w");
}
export function uses_fs_read_fs_write_open_unknown(flags) {
  return fs.openSync("/tmp/x", flags);
}
export async function uses_net_connect_fetch() {
  return fetch("https://api.example.com/v1");
}
export function uses_net_connect_global_fetch() {
  return globalThis.fetch("https://api.example.com/v1");
}
export function uses_net_connect_global_fetch_computed() {
  return globalThis["fe" + "tch"]("https://api.example.com/v1");
}
export function uses_dyn_unresolved_global_computed(name) {
  return globalThis[name]();
}
export function uses_net_connect_http() {
  http.get("http://example.com");
  https.request({ hostname: "example.com" });
}
export function uses_net_connect_socket() {
  const socket = new net.Socket();
  socket.connect(80, "example.com");
}
export function uses_net_connect_web_socket() {
  return new WebSocket("wss://example.com");
}
export function uses_net_connect_datagram() {
  dgram.createSocket("udp4").send("x", 53, "example.com");
}
export function uses_net_listen_http() {
  http.createServer(() => {}).listen(80);
}
export function uses_net_listen_variable() {
  const server = net.createServer();
  server.listen(80);
}
export async function uses_net_dns_lookup() {
  return dns.lookup("example.com");
}
export function uses_env_read_member() {
  return process.env.HOME;
}
export function uses_env_read_computed(name) {
  return process.env[name];
}
export function uses_env_read_destructured() {
  const { HOME } = process.env;
  return HOME;
}
export function uses_env_read_spread() {
  return { ...process.env };
}
export function uses_env_read_in() {
  return "HOME" in process.env;
}
export function uses_env_read_directory() {
  return process.cwd() + os.homedir();
}
export function uses_env_write_member() {
  process.env.PATH = "/tmp";
}
export function uses_env_write_delete() {
  delete process.env.PATH;
}
export function uses_env_write_directory() {
  process.chdir("/");
}
export function uses_random_all() {
  return [Math.random(), crypto.randomBytes(3), globalThis.crypto.randomUUID()];
}
export function uses_clock_all() {
  return [Date.now(), new Date(), performance.now()];
}
export function uses_dyn_unresolved_eval(text) {
  return eval(text);
}
export function uses_dyn_unresolved_indirect_eval(text) {
  return (0, eval)(text);
}
export function uses_dyn_unresolved_function(text) {
  return new Function(text)();
}
export function uses_dyn_unresolved_constructor(text) {
  return [].constructor.constructor(text)();
}
export function uses_dyn_unresolved_arrow_constructor(text) {
  return (() => {}).constructor(text)();
}
export function uses_dyn_unresolved_timer_text() {
  setTimeout("go()", 1);
}
export function uses_dyn_unresolved_machine(text) {
  return vm.runInThisContext(text);
}
export function uses_dyn_unresolved_worker(file) {
  return new Worker(file);
}
export function uses_dlopen_binding() {
  return process.binding("fs");
}
export function uses_dlopen_binding_folded() {
  return process["bind" + "ing"]("fs");
}
export function uses_dyn_unresolved_process_computed(name) {
  return process[name];
}
export function uses_unanalyzed_web_assembly(bytes) {
  return WebAssembly.instantiate(bytes);
}
export function uses_exec_deno() {
  return new Deno.Command("git").output();
}
export function uses_fs_read_bun() {
  return Bun.file("/etc/hosts");
}
export function uses_fs_read_unknown_receiver(store) {
  return store.readFileSync("/etc/hosts");
}
export function clean_date_of_text() {
  return new Date("2020-01-01").toISOString();
}
export function clean_hash(text) {
  return crypto.createHash("sha256").update(text).digest("hex");
}
export function clean_arguments() {
  return process.argv.slice(2);
}
export function clean_timer() {
  setTimeout(() => 1, 10);
}
export function clean_arithmetic(list) {
  return list.filter((x) => x > 1).reduce((a, b) => Math.max(a, b), 0);
}
