// Effects behind classes, accessors, callbacks and the syntax of TypeScript.
import fs = require("fs");
import type { Stats } from "package-that-only-has-types";
import { execSync } from "child_process";

interface Step {
  go(): void;
}

enum Colour {
  Red = 1,
}

namespace Inner {
  export function run(): void {
    execSync("ls");
  }
}

class Base {
  template(): unknown {
    return this.step();
  }
  step(): unknown {
    return 1;
  }
}

class Child extends Base {
  override step(): unknown {
    return execSync("ls");
  }
}

class Holder {
  static powers = { read: fs.readFileSync };
  #hidden = fs.readFileSync;
  private run = execSync;

  constructor(private readonly reader: Reader = new Reader()) {}

  get home(): string | undefined {
    return process.env.HOME;
  }

  set home(value: string) {
    fs.writeFileSync("home", value);
  }

  static made(): Holder {
    fs.mkdirSync("x");
    return new Holder();
  }

  uses_fs_read_private_field(): unknown {
    return this.#hidden("x");
  }

  uses_exec_property(): unknown {
    return this.run("ls");
  }

  uses_fs_read_parameter_property(): unknown {
    return this.reader.read();
  }

  clean_method(): number {
    return 1;
  }
}

class Reader {
  read(): unknown {
    return fs.readFileSync("x");
  }
  toString(): string {
    return process.env.HOME ?? "";
  }
  *[Symbol.iterator]() {
    fs.unlinkSync("x");
    yield 1;
  }
}

class Made {
  constructor() {
    fs.mkdirSync("x");
  }
}

class MadeBelow extends Made {}

function Old(this: any) {
  this.size = 1;
}
Old.prototype.read = function () {
  return fs.readFileSync("x");
};

function apply(f: (text: string) => unknown, text: string): unknown {
  return f(text);
}

function byDefault(f = execSync) {
  return f("ls");
}

function* generator() {
  yield fs.readFileSync;
}

export function uses_exec_override() {
  return new Child().template();
}
export function uses_exec_namespace() {
  Inner.run();
}
export function uses_exec_callback() {
  return apply(execSync, "ls");
}
export function uses_exec_arrow_callback() {
  return apply((text) => execSync(text), "ls");
}
export function uses_exec_default() {
  return byDefault();
}
export function uses_fs_write_constructor() {
  return new Made();
}
export function uses_fs_write_inherited_constructor() {
  return new MadeBelow();
}
export function uses_fs_write_static() {
  return Holder.made();
}
export function uses_env_read_text() {
  return `${new Reader()}`;
}
export function uses_fs_write_iteration() {
  for (const one of new Reader()) {
    one;
  }
}
export function uses_fs_read_generator() {
  for (const f of generator()) {
    f("x");
  }
}
export function uses_fs_read_prototype() {
  return new (Old as any)().read();
}
export function uses_fs_read_static_table() {
  return Holder.powers.read("x");
}
export function uses_fs_read_cast() {
  return (fs as any).readFileSync!("x");
}
export function uses_fs_read_typed_parameter(reader: Reader) {
  return reader.read();
}
export function uses_exec_nested() {
  function inner() {
    return () => execSync("ls");
  }
  inner()();
}
export function uses_exec_event(emitter: any) {
  emitter.on("data", () => execSync("ls"));
}
export function uses_exec_promise() {
  return new Promise((resolve) => resolve(execSync("ls")));
}
export function uses_exec_for_each() {
  [execSync].forEach((f) => f("ls"));
}
export function uses_fs_read_spread() {
  const all = { ...fs };
  return all.readFileSync("x");
}
export function uses_fs_read_object_assign() {
  const all: any = Object.assign({}, fs);
  return all.readFileSync("x");
}
export function uses_exec_object_method() {
  const thing = {
    go() {
      return this.inner();
    },
    inner() {
      return execSync("ls");
    },
  };
  return thing.go();
}
export function clean_base() {
  return new Base().step();
}
export function clean_callback() {
  return apply((text) => text.length, "ls");
}
export function clean_types(stats: Stats, step: Step) {
  return Colour.Red + stats.size + (step ? 1 : 0);
}
export function clean_class() {
  class Local {
    never() {
      return 1;
    }
  }
  return new Local().never();
}
export const clean_arrow = (x: number): number => x + 1;
