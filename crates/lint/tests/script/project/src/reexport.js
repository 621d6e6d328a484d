export { runIt, Runner } from "./helper.js";
export * from "./star.js";
export { default } from "./helper.js";
export { runIt as renamed } from "./helper.js";
export { readFileSync as readIt } from "node:fs";
