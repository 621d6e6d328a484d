"use strict";
var __importDefault = (this && this.__importDefault) || function (mod) {
  return mod && mod.__esModule ? mod : { default: mod };
};
Object.defineProperty(exports, "__esModule", { value: true });
const child_process_1 = __importDefault(require("child_process"));
const { spawn } = require("child_process");
const inner = require("./inner.cjs");

exports.go = function go() {
  child_process_1.default.execSync("ls");
};
exports.stay = () => 1;
exports.uses_exec_destructured_require = () => spawn("git");
exports.uses_exec_assigned_exports = () => inner("ls");
exports.uses_exec_getter_of_exports = () => exports.later();
Object.defineProperty(exports, "later", { enumerable: true, get: function () { return inner; } });
exports.uses_dyn_unresolved_require = (name) => require(name);
exports.uses_exec_aliased_require = () => {
  const r = require;
  return r("child_process").execSync("ls");
};
exports.uses_exec_module_require = () => module.require("child_process").execSync("ls");
exports.uses_exec_module_load = () => require("module")._load("child_process").execSync("ls");
exports.uses_exec_inline_require = () => require("child_process").exec("ls");
exports.uses_exec_folded_require = () => require("child" + "_process").exec("ls");
exports.uses_unanalyzed_absent_package = () => require("package-that-is-not-there").go();
exports.uses_net_connect_absent_client = () => require("axios").get("https://api.example.com/x");
exports.clean_json = (text) => JSON.parse(text);
exports.clean_path = () => require("path").join("a", "b");
