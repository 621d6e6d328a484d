// Names that stand for other names.
import * as fs from "node:fs";
import { readFile as innocent, readFileSync } from "fs";
import { exec as walkAbout } from "child_process";
import cp from "node:child_process";
import { createRequire } from "node:module";
import { promisify } from "util";
import process from "node:process";
import { readFile as viaPromises } from "node:fs/promises";
import reExportedDefault, { runIt, Runner, viaStar, renamed, readIt } from "./reexport.js";
import * as helpers from "./helper.cjs";

export function uses_fs_read_plain() {
  return fs.readFileSync("/etc/hosts");
}

export function uses_fs_read_named_import() {
  innocent("/etc/hosts", () => {});
}

export async function uses_fs_read_promises() {
  return await viaPromises("/etc/hosts");
}

export function uses_fs_read_promises_member() {
  return fs.promises.readFile("/etc/hosts");
}

export function uses_exec_named_import() {
  walkAbout("git status");
}

export function uses_exec_default_import() {
  cp.spawn("git", ["status"]);
}

export function uses_fs_read_local_variable() {
  const f = fs.readFileSync;
  const g = f;
  g("/etc/hosts");
}

export function uses_fs_read_destructured() {
  const { readFileSync: r } = fs;
  r("/etc/hosts");
}

export function uses_fs_read_comma() {
  return (0, fs.readFileSync)("/etc/hosts");
}

export function uses_fs_read_optional_chain() {
  return fs?.readFileSync?.("/etc/hosts");
}

export function uses_fs_read_computed_literal() {
  return fs["readFileSync"]("/etc/hosts");
}

export function uses_fs_read_computed_folded() {
  return fs["read" + "File" + "Sync"]("/etc/hosts");
}

export function uses_fs_read_computed_template() {
  return fs[`readFileSync`]("/etc/hosts");
}

export function uses_fs_read_computed_join() {
  return fs[["read", "FileSync"].join("")]("/etc/hosts");
}

const NAME = "readFileSync";
export function uses_fs_read_computed_constant() {
  return fs[NAME]("/etc/hosts");
}

export function uses_dyn_unresolved_computed(name) {
  return fs[name]("/etc/hosts");
}

export function uses_fs_read_escaped_name() {
  return \u0066s.readFileSync("/etc/hosts");
}

export function uses_fs_read_escaped_text() {
  return fs["\x72eadFileSync"]("/etc/hosts");
}

export function uses_fs_read_call() {
  return fs.readFileSync.call(null, "/etc/hosts");
}

export function uses_fs_read_apply() {
  return fs.readFileSync.apply(null, ["/etc/hosts"]);
}

export function uses_fs_read_bind() {
  return fs.readFileSync.bind(null, "/etc/hosts")();
}

export function uses_fs_read_reflect() {
  return Reflect.apply(fs.readFileSync, null, ["/etc/hosts"]);
}

export function uses_fs_read_reflect_get() {
  return Reflect.get(fs, "readFileSync")("/etc/hosts");
}

export function uses_fs_read_promisify() {
  return promisify(fs.readFile)("/etc/hosts");
}

export async function uses_fs_read_dynamic_import() {
  const f = await import("fs");
  return f.readFileSync("/etc/hosts");
}

export function uses_fs_read_dynamic_import_then() {
  return import("node:fs").then((f) => f.readFileSync("/etc/hosts"));
}

export async function uses_fs_read_dynamic_import_destructured() {
  const { readFileSync } = await import("fs");
  return readFileSync("/etc/hosts");
}

export async function uses_dyn_unresolved_dynamic_import(name) {
  return import(name);
}

export function uses_exec_create_require() {
  const require = createRequire(import.meta.url);
  return require("child_process").execSync("ls");
}

export function uses_fs_read_array() {
  return [fs.readFileSync][0]("/etc/hosts");
}

export function uses_fs_read_object(name) {
  const table = { a: fs.readFileSync };
  return table[name]("/etc/hosts");
}

export function uses_fs_read_map() {
  const table = new Map([["a", fs.readFileSync]]);
  return table.get("a")("/etc/hosts");
}

export function uses_fs_read_conditional(flag) {
  return (flag ? fs.readFileSync : String)("/etc/hosts");
}

export function uses_fs_read_nullish(given) {
  return (given ?? fs.readFileSync)("/etc/hosts");
}

export function uses_fs_read_passed_module() {
  return callOn(fs);
}

function callOn(module) {
  return module.readFileSync("/etc/hosts");
}

export function uses_fs_read_returned_module() {
  return giveModule().readFileSync("/etc/hosts");
}

function giveModule() {
  return fs;
}

export function uses_exec_reexported() {
  runIt();
}

export function uses_exec_reexported_class() {
  new Runner().run();
}

export function uses_exec_reexported_default() {
  reExportedDefault();
}

export function uses_exec_reexported_star() {
  viaStar();
}

export function uses_exec_reexported_renamed() {
  renamed();
}

export function uses_fs_read_reexported_power() {
  readIt("/etc/hosts");
}

export function uses_exec_older_module() {
  helpers.go();
}

export function uses_env_read_process_import() {
  return process.env.HOME;
}

export function uses_exec_global_process() {
  return globalThis.process.getBuiltinModule("child_process").execSync("ls");
}

export function uses_exec_main_module() {
  return process.mainModule.require("child_process").execSync("ls");
}

export function uses_fs_read_assigned_later() {
  let f;
  f = readFileSync;
  return f("/etc/hosts");
}

export function uses_fs_read_tagged() {
  return fs.readFileSync`/etc/hosts`;
}

export function clean_own_function_like_a_power() {
  const fs = { readFileSync: (x) => x };
  return fs.readFileSync("/etc/hosts");
}

export function clean_parameter_like_a_module(fs) {
  return fs.length;
}

export function clean_other_helper() {
  return helpers.stay();
}

export function clean_names_in_text() {
  return "fs.readFileSync('/etc/hosts')";
}

export function clean_type_of() {
  return typeof fetch === "function" && typeof require !== "undefined";
}

export function clean_constant_of_module() {
  return fs.constants.O_RDONLY;
}

export function clean_strings(text) {
  return text.trim().replace("a", "b").split(",").map((x) => x + 1).join("");
}
