// Writes X.gz and X.br beside each larger file X of a folder: hosts send them instead. Prints what the files weigh together: as they
// are, and as hosts send them.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const COMPRESSIBLE = /\.(css|html|js|json|svg|txt|wasm)$/;
// A smaller file fits into a packet as it is.
const SMALLEST = 1024;

const folder = process.argv[1];
const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && !/\.(br|gz)$/.test(entry.name));
const sum = { raw: 0, gz: 0, br: 0 };
for (const file of files) {
  const path = join(file.parentPath ?? file.path, file.name);
  const content = readFileSync(path);
  const packed = { gz: content, br: content };
  if (COMPRESSIBLE.test(file.name) && content.length > SMALLEST) {
    packed.gz = gzipSync(content, { level: constants.Z_BEST_COMPRESSION });
    packed.br = brotliCompressSync(content, { params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    } });
    for (const [kind, bytes] of Object.entries(packed)) writeFileSync(`${path}.${kind}`, bytes);
  }
  sum.raw += content.length;
  for (const kind in packed) sum[kind] += packed[kind].length;
}
const kib = (bytes) => `${Math.ceil(bytes / 1024)} KiB`;
console.log(`${kib(sum.raw)}, ${kib(sum.gz)} gzip, ${kib(sum.br)} brotli`);
