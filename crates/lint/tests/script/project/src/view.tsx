import { readFileSync } from "fs";

const Part = () => <b>{readFileSync("x")}</b>;

export function uses_fs_read_component() {
  return <div title="a"><Part /></div>;
}

export function uses_fs_read_attribute() {
  return <a onClick={() => readFileSync("x")}>x</a>;
}

export function clean_markup(props: { name: string }) {
  return <p>{props.name}</p>;
}
