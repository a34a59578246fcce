// Measures checks. The argument is the module of the gate; the input has a directory, its key, an offline copy, and rows
// with their resources, each of another host. It prints the milliseconds of each check, as JSON.
import { readFileSync } from 'node:fs'

const { createGate } = await import(process.argv[2])
const { directory, key, copy, asked } = JSON.parse(readFileSync(0))
copy.file = Buffer.from(copy.file, 'base64')
const options = { key, unreachable: 'refuse', maxAge: Infinity }

async function measure(gate, [row, resource]) {
  const begun = performance.now()
  const { verdict } = await gate.check(row, resource)
  if (verdict !== 'match') throw new Error(`${resource}: ${verdict}`)
  return performance.now() - begun
}

const results = { cold: [], bucket: [], warm: [], offline: [] }
for (let i = 0; i < 100; i++) results.cold.push(await measure(createGate({ ...options, directory }), asked[i]))
const gate = createGate({ ...options, directory })
await measure(gate, asked[0])
for (const of of asked.slice(1, 101)) results.bucket.push(await measure(gate, of))
for (let i = 0; i < 10000; i++) results.warm.push(await measure(gate, asked[i % 100]))
const offline = createGate({ ...options, copy })
for (const of of asked) await measure(offline, of)
for (let i = 0; i < 10000; i++) results.offline.push(await measure(offline, asked[i % asked.length]))
console.log(JSON.stringify(results))
