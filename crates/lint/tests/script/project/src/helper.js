import { execSync } from "child_process";

export function runIt() {
  return execSync("ls");
}

export class Runner {
  run() {
    return runIt();
  }
}

export default () => runIt();
