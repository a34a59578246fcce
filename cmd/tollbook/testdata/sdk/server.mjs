// A seller made of the official x402 SDK, on loopback: routes as its documentation shows them, and no facilitator process,
// since an unpaid request is answered without one. It prints one line of JSON when it listens: its port, and what its own
// SDK makes of each route, which is what a directory must show.
import express from 'express'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { UptoEvmScheme } from '@x402/evm/upto/server'
import { ExactSvmScheme } from '@x402/svm/exact/server'

const base = 'eip155:8453'
const polygon = 'eip155:137'
const solana = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'
const seller = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C'

const facilitator = {
  getSupported: async () => ({
    kinds: [
      { x402Version: 2, scheme: 'exact', network: base },
      { x402Version: 2, scheme: 'exact', network: polygon },
      { x402Version: 2, scheme: 'exact', network: solana, extra: { feePayer: 'EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd' } },
      { x402Version: 2, scheme: 'upto', network: base, extra: { facilitatorAddress: '0x1111111111111111111111111111111111111111' } },
    ],
    extensions: [],
    signers: {},
  }),
  verify: async () => ({ isValid: false, invalidReason: 'nobody pays here' }),
  settle: async () => ({ success: false, errorReason: 'nobody pays here', transaction: '', network: base }),
}

const routes = {
  'GET /weather': {
    accepts: [
      { scheme: 'exact', price: '$0.01', network: base, payTo: seller },
      { scheme: 'exact', price: '$0.012', network: polygon, payTo: seller, maxTimeoutSeconds: 120 },
      { scheme: 'exact', price: '$0.0095', network: solana, payTo: '2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4' },
    ],
    description: 'Weather of a city',
    mimeType: 'application/json',
  },
  'POST /search': {
    accepts: [{ scheme: 'exact', price: '$0.002', network: base, payTo: seller, maxTimeoutSeconds: 60 }],
    description: 'Search in a corpus',
    mimeType: 'application/json',
  },
  'POST /chat': {
    accepts: [{ scheme: 'upto', price: '$0.50', network: base, payTo: seller }],
    description: 'An answer, charged by its length',
    mimeType: 'text/event-stream',
  },
}

const server = new x402ResourceServer(facilitator)
  .register('eip155:*', new ExactEvmScheme())
  .register('eip155:*', new UptoEvmScheme())
  .register('solana:*', new ExactSvmScheme())
await server.initialize()

const declared = []
for (const [endpoint, route] of Object.entries(routes)) {
  const accepts = []
  for (const option of route.accepts) {
    for (const row of await server.buildPaymentRequirements(option)) accepts.push({ ...row, dollars: option.price })
  }
  declared.push({ endpoint, description: route.description, mimeType: route.mimeType, accepts })
}

const app = express()
app.use(paymentMiddleware(routes, server))
const listener = app.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: listener.address().port, declared }))
})
