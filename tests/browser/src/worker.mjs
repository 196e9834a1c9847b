// The page's worker under node. It hears what comes on standard input and tells on standard output; a message is its length
// (32 bits, little-endian) and its bytes. The first argument is the folder of the built page.
import { readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.argv[1];
const hearers = [];
// What the program takes a worker to be.
globalThis.DedicatedWorkerGlobalScope = class {
  static [Symbol.hasInstance](value) { return value === globalThis; }
};
globalThis.addEventListener = (kind, hearer) => { if (kind === "message") hearers.push(hearer); };
globalThis.postMessage = (bytes) => {
  const message = new Uint8Array(4 + bytes.length);
  new DataView(message.buffer).setUint32(0, bytes.length, true);
  message.set(bytes, 4);
  for (let sent = 0; sent < message.length;) sent += writeSync(1, message, sent);
};

const program = await import(pathToFileURL(join(folder, "zonefall-engine.js")));
await program.default({ module_or_path: readFileSync(join(folder, "zonefall-engine_bg.wasm")) });

let waiting = Buffer.alloc(0);
process.stdin.on("data", (part) => {
  waiting = Buffer.concat([waiting, part]);
  while (waiting.length >= 4 && waiting.length >= 4 + waiting.readUInt32LE(0)) {
    const end = 4 + waiting.readUInt32LE(0);
    const data = Uint8Array.from(waiting.subarray(4, end));
    waiting = waiting.subarray(end);
    for (const hearer of hearers) hearer({ data });
  }
});
process.stdin.on("end", () => process.exit());
