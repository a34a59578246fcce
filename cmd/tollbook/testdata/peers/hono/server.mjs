// A seller made of @x402/hono, on loopback: what its documentation shows, and no facilitator process, since an unpaid
// request is answered without one. It prints its port as one line of JSON when it listens.
import { Hono } from 'hono'
import { serve } from '@hono/node-server'
import { paymentMiddleware, x402ResourceServer } from '@x402/hono'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { UptoEvmScheme } from '@x402/evm/upto/server'
import { ExactSvmScheme } from '@x402/svm/exact/server'
import { bazaarResourceServerExtension, declareDiscoveryExtension } from '@x402/extensions/bazaar'

const base = 'eip155:8453'
const sepolia = 'eip155:84532'
const solana = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'
const seller = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C'

const facilitator = {
  getSupported: async () => ({
    kinds: [
      { x402Version: 2, scheme: 'exact', network: base },
      { x402Version: 2, scheme: 'exact', network: sepolia },
      { x402Version: 2, scheme: 'exact', network: solana, extra: { feePayer: 'EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd' } },
      { x402Version: 2, scheme: 'upto', network: base, extra: { facilitatorAddress: '0x1111111111111111111111111111111111111111' } },
    ],
    extensions: [],
    signers: {},
  }),
  verify: async () => ({ isValid: false, invalidReason: 'nobody pays here' }),
  settle: async () => ({ success: false, errorReason: 'nobody pays here', transaction: '', network: base }),
}

const server = new x402ResourceServer(facilitator)
  .register('eip155:*', new ExactEvmScheme())
  .register('eip155:*', new UptoEvmScheme())
  .register('solana:*', new ExactSvmScheme())
server.registerExtension(bazaarResourceServerExtension)

const app = new Hono()
app.use(paymentMiddleware({
  'GET /quote': {
    accepts: [
      { scheme: 'exact', price: '$0.01', network: base, payTo: seller },
      { scheme: 'exact', price: '$0.01', network: solana, payTo: '2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4' },
    ],
    description: 'A quote',
    mimeType: 'application/json',
    extensions: declareDiscoveryExtension({ input: { symbol: 'ACME' }, inputSchema: { properties: { symbol: { type: 'string' } } } }),
    unpaidResponseBody: () => ({ contentType: 'application/json', body: { hint: 'pay and you shall read' } }),
  },
  'POST /chat': {
    accepts: [{ scheme: 'upto', price: '$0.50', network: base, payTo: seller }],
    description: 'An answer, charged by its length',
    mimeType: 'text/event-stream',
  },
  'GET /users/[id]': {
    accepts: [{ scheme: 'exact', price: '$0.001', network: sepolia, payTo: seller, maxTimeoutSeconds: 7200 }],
    description: 'One user, for play money',
    mimeType: 'application/json',
  },
}, server))
app.get('/free', c => c.json({ free: true }))

serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, info => console.log(JSON.stringify({ port: info.port })))
