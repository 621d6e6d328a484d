import { runIt } from "./helper.js";
export const viaStar = () => runIt();
