// Calls an export of a wasm module, `node run.mjs MODULE EXPORT NUMBER`, and prints `FIRST WARM RESULT`: microseconds of processor
// time of the first call, those of one after node has made good code of the quick code that it begins with, and what it returns.
import { readFileSync } from "node:fs";

const WARM_UP_CALLS = 4;

const [path, name, number] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(path));
const call = new WebAssembly.Instance(module, {}).exports[name];

function timed() {
  const start = process.cpuUsage();
  const result = BigInt.asUintN(64, call(Number(number)));
  const { user, system } = process.cpuUsage(start);
  return [user + system, result];
}

const [first, result] = timed();
for (let i = 1; i < WARM_UP_CALLS; i += 1) timed();
const [warm] = timed();
console.log(`${first} ${warm} ${result}`);
