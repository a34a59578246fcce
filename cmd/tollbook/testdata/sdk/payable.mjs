// A seller made of the official x402 SDK that accepts payments, on loopback. Its facilitator believes every signature
// and settles nothing, so no chain is asked. One route answers in version 1 of the protocol, as recorded from
// x402-express; the SDK of version 2 has no server for it. It prints its port as one line of JSON when it listens.
import express from 'express'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { UptoEvmScheme } from '@x402/evm/upto/server'
import { ExactSvmScheme } from '@x402/svm/exact/server'

const base = 'eip155:8453'
const solana = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'
const seller = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C'
const usdc = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const signed = [] // what facilitator and version 1 were given

// authorization returns what a payment allows: by EIP-3009, or by Permit2 up to a maximum.
const authorization = ({ authorization, permit2Authorization: permit }) =>
  authorization ?? { from: permit.from, value: permit.permitted.amount }

const facilitator = {
  getSupported: async () => ({
    kinds: [
      { x402Version: 2, scheme: 'exact', network: base },
      { x402Version: 2, scheme: 'upto', network: base, extra: { facilitatorAddress: '0x1111111111111111111111111111111111111111' } },
      { x402Version: 2, scheme: 'exact', network: solana, extra: { feePayer: 'EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd' } },
    ],
    extensions: [],
    signers: {},
  }),
  verify: async (payload) => {
    signed.push(authorization(payload.payload))
    return { isValid: true, payer: authorization(payload.payload).from }
  },
  settle: async (payload) => ({
    success: true, transaction: '0x' + '1'.repeat(64), network: base, payer: authorization(payload.payload).from,
  }),
}

const app = express()
app.use(express.json())
app.use(paymentMiddleware({
  'GET /quote': { accepts: [{ scheme: 'exact', price: '$0.01', network: base, payTo: seller }] },
  'POST /search': { accepts: [{ scheme: 'exact', price: '$2.50', network: base, payTo: seller }] },
  'POST /chat': { accepts: [{ scheme: 'upto', price: '$1.50', network: base, payTo: seller }] },
  'DELETE /draft': { accepts: [{ scheme: 'exact', price: '$0.01', network: base, payTo: seller }] },
  'GET /solana': { accepts: [{ scheme: 'exact', price: '$0.01', network: solana, payTo: '2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4' }] },
}, new x402ResourceServer(facilitator)
  .register('eip155:*', new ExactEvmScheme())
  .register('eip155:*', new UptoEvmScheme())
  .register('solana:*', new ExactSvmScheme())))
app.get('/quote', (request, response) => response.json({ symbol: request.query.symbol ?? null }))
app.post(['/search', '/chat'], (request, response) => response.json(request.body))
app.delete('/draft', (_, response) => response.json({ deleted: true }))
app.get('/first', (request, response) => {
  const payment = request.get('X-PAYMENT')
  if (!payment) {
    response.status(402).json({
      x402Version: 1,
      error: 'X-PAYMENT header is required',
      accepts: [{
        scheme: 'exact', network: 'base', maxAmountRequired: '10000', resource: 'http://127.0.0.1/first', description: '',
        mimeType: 'application/json', payTo: seller, maxTimeoutSeconds: 60, asset: usdc,
        extra: { name: 'USD Coin', version: '2' },
      }],
    })
    return
  }
  signed.push(JSON.parse(Buffer.from(payment, 'base64')).payload.authorization)
  response.json({ version: 1 })
})
app.get('/signed', (_, response) => response.json(signed))
const listener = app.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: listener.address().port })))
