// A seller made of the official x402 SDK that accepts payments, on loopback. Its facilitator believes every signature
// and settles nothing, so no chain is asked. GET /signed returns what it was given. It prints its port as one line of
// JSON when it listens.
import express from 'express'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { UptoEvmScheme } from '@x402/evm/upto/server'
import { ExactSvmScheme } from '@x402/svm/exact/server'

const base = 'eip155:8453'
const solana = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'
const seller = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C'
const usdc = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const permitted = {
  amount: '10000', asset: usdc, extra: { name: 'USD Coin', version: '2', assetTransferMethod: 'permit2' },
}
const signed = []

// authorization returns what a payment allows: by EIP-3009, by Permit2, or as a transaction of Solana that transfers
// the amount.
const authorization = ({ authorization, permit2Authorization: permit, transaction }, { amount }) => authorization ??
  (transaction ? { value: amount, from: 'a payer' } : { from: permit.from, value: permit.permitted.amount })

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
  verify: async ({ payload }, terms) => {
    signed.push(authorization(payload, terms))
    return { isValid: true, payer: authorization(payload, terms).from }
  },
  settle: async ({ payload }, terms) => ({
    success: true, transaction: '0x' + '1'.repeat(64), network: terms.network,
    payer: authorization(payload, terms).from,
  }),
}

const app = express()
app.use(express.json())
app.use(paymentMiddleware({
  'GET /quote': { accepts: [{ scheme: 'exact', price: '$0.01', network: base, payTo: seller }] },
  'POST /search': { accepts: [{ scheme: 'exact', price: '$2.50', network: base, payTo: seller }] },
  'POST /chat': { accepts: [{ scheme: 'upto', price: '$1.50', network: base, payTo: seller }] },
  'GET /permit': { accepts: [{ scheme: 'exact', price: permitted, network: base, payTo: seller }] },
  'DELETE /draft': { accepts: [{ scheme: 'exact', price: '$0.01', network: base, payTo: seller }] },
  'GET /solana': { accepts: [{ scheme: 'exact', price: '$0.01', network: solana, payTo: '2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4' }] },
}, new x402ResourceServer(facilitator)
  .register('eip155:*', new ExactEvmScheme())
  .register('eip155:*', new UptoEvmScheme())
  .register('solana:*', new ExactSvmScheme())))
app.get('/quote', (request, response) => response.json({ symbol: request.query.symbol ?? null }))
app.post(['/search', '/chat'], (request, response) => response.json(request.body))
app.get(['/permit', '/solana'], (_, response) => response.json({ paid: true }))
app.delete('/draft', (_, response) => response.json({ deleted: true }))
app.get('/signed', (_, response) => response.json(signed))
const listener = app.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: listener.address().port })))
