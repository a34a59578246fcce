// Gives 402 responses of all forms to gateFetch. The argument is the module of the gate; the input is an offline copy
// that lists the URL below, as the vectors do.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

const { GateRefused, GateUnavailable, createGate, gateFetch, gateTerms, mppRequirements } = await import(process.argv[2])
const { copy, rows } = JSON.parse(readFileSync(0))
copy.file = Buffer.from(copy.file, 'base64')
const url = 'https://api.acme.test/quote'
const [good, thief] = rows
const tempo = { method: 'tempo', intent: 'charge', recipient: good.payTo }
const newGate = (more) => createGate({ copy, key: null, maxAge: Infinity, unreachable: 'refuse', ...more })
const gate = newGate()

// ask returns what a client sees of a response, or the error.
async function ask({ status = 402, headers = {}, body = '' }, input = url, of = gate) {
  let asked
  const inner = async (...request) => {
    asked = request
    return new Response(body, { status, headers })
  }
  try {
    const response = await gateFetch(inner, of)(input, { method: 'POST' })
    assert.deepEqual(asked, [input, { method: 'POST' }])
    return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
  } catch (error) {
    return error
  }
}
const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64')
const decode = (text) => JSON.parse(Buffer.from(text, 'base64'))
const isRefused = (seen, verdict) => {
  assert.ok(seen instanceof GateRefused, JSON.stringify(seen) + seen.stack)
  assert.equal(seen.result.verdict, verdict)
}

// Other responses are as they were.
assert.equal((await ask({ status: 200, body: JSON.stringify({ accepts: [thief] }) })).body, JSON.stringify({ accepts: [thief] }))
assert.equal((await ask({ body: 'pay' })).body, 'pay')
assert.equal((await ask({ body: '{"price": 1.0}' })).body, '{"price": 1.0}')

// Version 1: the body
const first = (accepts) => ({ body: JSON.stringify({ x402Version: 1, error: 'ü', accepts }) })
let seen = await ask(first([thief, good]))
assert.deepEqual(JSON.parse(seen.body), { x402Version: 1, error: 'ü', accepts: [good] })
isRefused(await ask(first([thief])), 'new-recipient')
isRefused(await ask(first([{ ...good, amount: '1', maxAmountRequired: '99999999' }])), 'new-price')
isRefused(await ask(first([{ ...good, amount: '99999999', maxAmountRequired: '1' }])), 'new-price')
isRefused(await ask(first([{ ...good, amount: ['1', '2'] }])), 'new-price')
isRefused(await ask(first([{ ...good, amount: null, maxAmountRequired: undefined }])), 'new-price')
for (const accepts of [[null], [[]], [7], ['x']]) {
  const error = await ask(first(accepts))
  assert.ok(error instanceof Error, JSON.stringify(accepts))
}
assert.deepEqual(JSON.parse((await ask(first({ 0: thief, length: 1 }))).body).accepts, [])

// Version 2: the header
const second = (accepts) => ({ headers: { 'PAYMENT-REQUIRED': encode({ x402Version: 2, resource: { url: 'ü' }, accepts }) } })
seen = await ask(second([thief, good]))
assert.deepEqual(decode(seen.headers['payment-required']), { x402Version: 2, resource: { url: 'ü' }, accepts: [good] })
isRefused(await ask(second([thief])), 'new-recipient')
seen = await ask({ headers: { 'PAYMENT-REQUIRED': '{"accepts":[]}' } })
assert.equal(seen.headers['payment-required'], undefined)
seen = await ask({ ...first([thief]), ...second([good]) })
assert.deepEqual(JSON.parse(seen.body).accepts, [])
assert.deepEqual(decode(seen.headers['payment-required']).accepts, [good])
seen = await ask({ ...first([good]), ...second([thief]) })
assert.equal(seen.headers['payment-required'], undefined)

// The URL that counts is the one that was requested, in whatever form.
for (const input of [new URL(url), new Request(url, { method: 'POST' }), url + '?q=1#x']) {
  assert.equal((await ask(second([good]), input)).status, 402)
}
isRefused(await ask(second([good]), 'https://other.test/quote'), 'unknown')
const redirected = Object.defineProperty(new Response('', { status: 402, ...second([good]) }), 'url', { value: url })
isRefused(await gateFetch(async () => redirected, gate)('https://other.test/quote').catch((error) => error), 'unknown')

// MPP
const asBase64url = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
const challenge = (request, scheme = 'Payment') =>
  `${scheme} id="a,b", realm="api \\"x\\" é", method="tempo", intent="charge", request="${asBase64url({
    amount: '10000', currency: good.asset, recipient: good.payTo, methodDetails: { chainId: 8453 }, ...request })}"`
const offers = (...challenges) => ({ headers: { 'WWW-Authenticate': challenges.join(', ') } })
for (const scheme of ['Payment', 'payment']) {
  seen = await ask(offers(challenge({ recipient: thief.payTo }), challenge({}, scheme)))
  assert.equal(seen.headers['www-authenticate'], challenge({}, scheme))
  isRefused(await ask(offers(challenge({ recipient: thief.payTo }, scheme))), 'new-recipient')
}
isRefused(await ask(offers(challenge({ amount: '99999999' }))), 'new-price')
isRefused(await ask(offers(challenge({ methodDetails: {} }))), 'new-recipient') // Tempo
isRefused(await ask(offers(challenge({ methodDetails: { chainId: 8453, splits: [{ recipient: thief.payTo, amount: '1' }] } }))),
  'new-recipient')
isRefused(await ask(offers('L402 macaroon="a", invoice="b"')), 'new-recipient')
for (const header of ['Payment', 'Basic realm="a, Payment method=tempo"', 'Payment method="tempo"', 'Negotiate YWJj==',
  `Bearer x, ${challenge({ recipient: thief.payTo })}`, `"${challenge({ recipient: thief.payTo })}`,
  challenge({ recipient: thief.payTo }).replace('id="', 'id="\\'), 'Payment request="e30", method="tempo"']) {
  seen = await ask(offers(header))
  assert.ok(seen instanceof Error || seen.headers['www-authenticate'] === undefined, header + JSON.stringify(seen))
}
assert.deepEqual(mppRequirements({ method: 'solana', request: { amount: '1', currency: 'USDC', recipient: 'a' } }),
  [{ network: 'solana', asset: 'USDC', payTo: 'a', amount: '1' }])
for (const [network, want] of [['mainnet-beta', 'solana'], ['devnet', 'solana-devnet'], ['a:b', 'a:b']]) {
  assert.equal(mppRequirements({ method: 'solana', request: { methodDetails: { network } } })[0].network, want)
}
assert.equal(mppRequirements({ method: 'x', request: { cap: '5' } })[0].amount, '5')

// Terms
assert.deepEqual(await gateTerms({ x: 1, accepts: [thief, good] }, url, gate), { x: 1, accepts: [good] })
await assert.rejects(gateTerms({ accepts: [thief] }, url, gate), GateRefused)

// Policies
const result = async (policy, row, ask) => newGate({ policy, ask }).guard(row, url).then((r) => r.verdict, (e) => e.name && 'refused')
const dear = { ...good, amount: '25001' }
assert.equal(await result({}, dear), 'refused')
assert.equal(await result({ 'new-price': 'allow' }, dear), 'new-price')
assert.equal(await result({ 'new-price': 'yes' }, dear), 'refused')
assert.equal(await result({ 'new-price': [{ upTo: '25000', then: 'allow' }] }, dear), 'refused')
assert.equal(await result({ 'new-price': [{ upTo: '25001', then: 'allow' }] }, dear), 'new-price')
assert.equal(await result({ 'new-price': [{ upTo: '9', then: 'refuse' }, { then: 'allow' }] }, dear), 'new-price')
assert.equal(await result({ 'new-price': [{ upTo: '9', then: 'allow' }] }, { ...good, amount: 'x' }), 'refused')
assert.equal(await result({ match: [{ upTo: '9999', then: 'allow' }, { then: 'ask' }] }, good), 'refused')
assert.equal(await result({ match: 'ask' }, good, async (q) => q.verdict === 'match' && q.requirement === good && q.resource === url), 'match')
assert.equal(await result({ match: 'ask' }, good, () => 'yes'), 'refused')
assert.equal(await result({ match: 'refuse' }, good), 'refused')
const error = await newGate().guard(thief, url).catch((e) => e)
assert.match(error.message, new RegExp(thief.payTo))

// Options
for (const options of [{}, { copy }, { copy, key: null }, { copy, key: '', unreachable: 'allow' }, { copy, unreachable: 'allow' },
  { key: null, unreachable: 'allow' }, { copy, key: null, unreachable: 'maybe' }]) {
  assert.throws(() => createGate(options), TypeError)
}
await assert.rejects(newGate({ copy: { ...copy, checkpoint: '{' } }).check(good, url), GateUnavailable)
await assert.rejects(newGate({ copy: { ...copy, file: copy.file.subarray(0, 9300) } }).check(good, url), GateUnavailable)
assert.equal((await newGate({ copy: { ...copy, checkpoint: JSON.stringify(copy.checkpoint) } }).check(good, url)).verdict, 'match')
console.log('null')
