const cp = require("node:child_process");
module.exports = function run(command) {
  return cp.spawnSync(command);
};
