// Calls an export of a wasm module, `node run.mjs MODULE EXPORT NUMBER`, and prints `FIRST WARM RESULT`: microseconds of processor
// time of the first call, those of a call after node has made good code of the quick code that it begins with, and what it returns.
//
// The processor time is the whole process's, and node goes on compiling beside the calls, in fits: so the second figure is the least of
// many calls, which has none of that in it.
import { readFileSync } from "node:fs";

const CALLS = 24;

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
let warm = first;
for (let i = 1; i < CALLS; i += 1) warm = Math.min(warm, timed()[0]);
console.log(`${first} ${warm} ${result}`);
