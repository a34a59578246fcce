// A facilitator made of the official x402 SDK, on loopback over TLS: GET /supported as its documentation shows it, from
// the schemes that are registered, and GET /health. It settles nothing: no chain is asked before a payment comes. Its
// argument is a file with the key and the certificate. It prints one line of JSON when it listens: its port, and what
// the SDK answers to /supported.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import express from 'express'
import { x402Facilitator } from '@x402/core/facilitator'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { UptoEvmScheme } from '@x402/evm/upto/facilitator'
import { ExactSvmScheme } from '@x402/svm/exact/facilitator'

const onEvm = { getAddresses: () => ['0x209693Bc6afc0C5328bA36FaF03C514EF312287C'] }
const onSolana = { getAddresses: () => ['EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd'] }

const facilitator = new x402Facilitator()
  .register(['eip155:8453', 'eip155:137'], new ExactEvmScheme(onEvm))
  .register('eip155:8453', new UptoEvmScheme(onEvm))
  .register('solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', new ExactSvmScheme(onSolana))
  .registerExtension({ key: 'bazaar' })

const app = express()
app.get('/supported', (_, response) => response.json(facilitator.getSupported()))
app.get('/health', (_, response) => response.json({ status: 'ok' }))
const pem = readFileSync(process.argv[2])
const listener = createServer({ key: pem, cert: pem }, app).listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: listener.address().port, supported: facilitator.getSupported() }))
})
