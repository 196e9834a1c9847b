// Calls an export of a wasm module, `node run.mjs MODULE EXPORT NUMBER`, and prints `NANOSECONDS RESULT`.
import { readFileSync } from "node:fs";

const [path, name, number] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(path));
const call = new WebAssembly.Instance(module, {}).exports[name];

// The first call compiles: node begins with quick code and makes good code while that runs.
call(Number(number));
const start = process.hrtime.bigint();
const result = BigInt.asUintN(64, call(Number(number)));
console.log(`${process.hrtime.bigint() - start} ${result}`);
