// Reads a directory that changes, fails and lies. The argument is the module of the gate; the input is its key, three
// snapshots, of which the last one is another directory's with the same generation as the second, and a row that all
// have observed.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

const { GateUnavailable, createGate } = await import(process.argv[2])
const { key, builtAt, snapshots, row } = JSON.parse(readFileSync(0))
const resource = 'https://api.acme.test/quote'
for (const s of snapshots) s.file = Buffer.from(s.file, 'base64')
const [first, second, foreign] = snapshots
const before = Buffer.alloc(1000)
const minute = 60e3

let now
Date.now = () => now
const later = (minutes) => now += minutes * minute

// A directory answers from its current snapshot, and remembers what it was asked.
function newDirectory(current) {
  const directory = { current, requests: [], change: (bytes) => bytes, hasParts: true, kept: snapshots }
  directory.fetch = async (url, { headers, signal }) => {
    assert.ok(signal instanceof AbortSignal)
    const path = url.slice('https://directory.test'.length)
    directory.requests.push(path + ' ' + (headers.range ?? ''))
    await new Promise((resolve) => setImmediate(resolve))
    if (directory.isDown) throw new TypeError('fetch failed')
    if (path === '/checkpoint.json') return Response.json(directory.current.checkpoint)
    if (path === '/data/gate.bin') return new Response(directory.change(directory.current.file))
    if (path.startsWith('/v1/lookup/url/')) return Response.json({ data: { prices: ['a price'] } })
    const zip = directory.kept.find((s) => path === `/snapshots/${s.checkpoint.snapshot}.zip`)
    if (!zip) return new Response('gone', { status: 404 })
    const bytes = Buffer.concat([before, directory.change(Buffer.from(zip.file))])
    if (!directory.hasParts) return new Response(bytes)
    const [, from, to] = headers.range.match(/^bytes=(\d+)-(\d+)$/)
    return new Response(bytes.subarray(from, +to + 1), { status: 206 })
  }
  directory.gate = (more) => createGate({ directory: 'https://directory.test/', key, unreachable: 'refuse', fetch: directory.fetch, ...more })
  return directory
}
const isUnavailable = async (gate, fault) => {
  await assert.rejects(gate.check(row, resource), (error) => error instanceof GateUnavailable && fault.test(error.message))
}
const verdict = async (gate) => (await gate.check(row, resource)).verdict
const start = () => now = Date.parse(builtAt) + minute

// The first check reads checkpoint, header and bucket; the second nothing; checks at once share requests.
start()
let d = newDirectory(first), gate = d.gate()
await Promise.all(Array.from({ length: 5 }, () => verdict(gate)))
assert.equal(d.requests.length, 3, d.requests.join('\n'))
assert.match(d.requests[1], /^\/snapshots\/.*\.zip bytes=1000-10239$/)
const seen = await gate.check(row, resource)
assert.deepEqual([seen.verdict, seen.observed, seen.as_of], ['match', { amount: '25000', prices: null }, new Date(builtAt).toISOString()])
assert.match(seen.evidence_url, /^https:\/\/directory\.test\/v1\/lookup\/url\/[0-9a-f]{64}\.json$/)
assert.equal(d.requests.length, 3)
const other = await gate.check({ ...row, payTo: 'x' }, resource)
assert.deepEqual([other.verdict, other.observed], ['new-recipient', { amount: null, prices: ['a price'] }])

// After ten minutes it looks for a newer snapshot. While the directory is away the last one serves, up to its age limit.
later(9)
await verdict(gate)
assert.equal(d.requests.length, 4)
d.current = second
later(2)
assert.equal(await verdict(gate), 'match')
assert.equal(d.requests.length, 7)
d.isDown = true
later(60)
assert.equal(await verdict(gate), 'match')
later(24 * 60)
await isUnavailable(gate, /fetch failed/)
d.isDown = false
assert.equal((await gate.check(row, resource)).reason, 'stale')

// An older generation is not taken, and no file of another key.
start()
d = newDirectory(second), gate = d.gate()
await verdict(gate)
d.current = first
later(11)
assert.equal(await verdict(gate), 'match') // of the second
later(24 * 60)
await isUnavailable(gate, /older than one before/)
start()
await isUnavailable(newDirectory(foreign).gate(), /signed/)
assert.equal(await verdict(newDirectory(foreign).gate({ key: null })), 'match')

// What is damaged, changed or missing is no verdict, and is read again the next time.
const fields = (change) => ({ checkpoint: { ...first.checkpoint, ...change }, file: first.file })
for (const [current, fault] of [
  [fields({ gate: undefined }), /./], [fields({ gate_signature: null }), /./], [fields({ gate_signature: 'AAAA' }), /signed/],
  [fields({ generation: 99 }), /signed/], [fields({ gate: { ...first.checkpoint.gate, at: 999 } }), /./],
  [fields({ gate: { ...first.checkpoint.gate, size: 1 } }), /signed/], [fields({ snapshot: 'x' }), /./],
]) {
  start()
  d = newDirectory(current), gate = d.gate()
  await isUnavailable(gate, fault)
  d.current = first
  assert.equal(await verdict(gate), 'match')
}
const flip = (at) => (bytes) => {
  bytes[at] ^= 1
  return bytes
}
for (const change of [flip(0), flip(15), flip(9000), (b) => b.map((v, i) => i < 9240 ? v : v ^ 1), (b) => b.subarray(0, 9300),
  (b) => b.subarray(0, 5)]) {
  start()
  d = newDirectory(first), gate = d.gate()
  d.change = change
  await isUnavailable(gate, /./)
  d.change = (bytes) => bytes
  assert.equal(await verdict(gate), 'match')
}

// A server that sends no parts sends the whole file, once.
start()
d = newDirectory(first), gate = d.gate()
d.hasParts = false
assert.equal(await verdict(gate), 'match')
assert.equal(await verdict(gate), 'match')
assert.equal(d.requests.filter((r) => r.startsWith('/data/gate.bin')).length, 1)
d.change = () => Buffer.alloc(5 << 20)
await isUnavailable(d.gate(), /too long/)

// A snapshot that was removed between two checks is not asked for again.
start()
d = newDirectory(first), gate = d.gate()
await verdict(gate)
d.current = second
d.kept = [second]
await assert.rejects(gate.check(row, 'https://h7.acme.test/7'), GateUnavailable)
assert.equal((await gate.check(row, 'https://h7.acme.test/7')).verdict, 'match')

// A copy is asked until it is stale, then the directory, if there is one.
start()
d = newDirectory(second)
gate = d.gate({ copy: first })
assert.equal(await verdict(gate), 'match')
assert.equal(d.requests.length, 0)
later(24 * 60)
assert.equal((await gate.check(row, resource)).reason, 'stale')
assert.ok(d.requests.length > 0)
gate = createGate({ copy: first, key, unreachable: 'refuse' })
assert.equal((await gate.check(row, resource)).reason, 'stale')
await isUnavailable(createGate({ copy: foreign, key, unreachable: 'refuse' }), /signed/)
console.log('null')
