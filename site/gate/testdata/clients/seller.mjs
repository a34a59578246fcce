// A seller on loopback that is paid by x402 in both versions, over HTTP and MCP, and by MPP. All but MPP is settled by
// a facilitator, made of the official SDK, at the node whose URL is the argument; there the program puts a token at the
// address of USDC, and gives the payer some. The node of MPP has no chain and accepts every transaction. Each protocol
// sells at /match, and at paths where it asks for something else than there. GET /paid returns what each recipient has.
// The program prints its port as one line of JSON when it listens.
import { readFileSync } from 'node:fs'
import express from 'express'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { registerExactEvmScheme } from '@x402/evm/exact/facilitator'
import { paymentMiddleware as firstMiddleware } from 'x402-express'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { Mppx, tempo } from 'mppx/server'
import { createClient, createWalletClient, custom, decodeFunctionData, encodeAbiParameters, http, keccak256, pad, publicActions, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { Abis, Transaction } from 'viem/tempo'
import { tempo as tempoChain } from 'viem/tempo/chains'

const [node, contracts] = process.argv.slice(2)
const network = 'eip155:8453'
const usdc = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const other = '0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb'
const payee = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C'
const thief = '0xbad0000000000000000000000000000000000bad'
const payer = privateKeyToAccount('0x' + '01'.repeat(32)).address

// What is asked at each path.
const terms = {
  match: { payTo: payee, amount: '10000', asset: usdc },
  danger: { payTo: payee, amount: '10000', asset: usdc },
  unlisted: { payTo: payee, amount: '10000', asset: usdc },
  swapped: { payTo: thief, amount: '10000', asset: usdc },
  dear: { payTo: payee, amount: '10001', asset: usdc },
  token: { payTo: payee, amount: '10000', asset: other },
}
const extra = { name: 'USD Coin', version: '2' }

const account = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
const wallet = createWalletClient({ account, chain: base, transport: http(node), pollingInterval: 20 }).extend(publicActions)
const { Token } = JSON.parse(readFileSync(contracts))
for (const token of [usdc, other]) {
  await wallet.request({ method: 'anvil_setCode', params: [token, '0x' + Token.runtime] })
  const balance = keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [payer, 0n]))
  await wallet.request({ method: 'anvil_setStorageAt', params: [token, balance, pad(toHex(10n ** 18n), { size: 32 })] })
}
const balanceOf = (of, address = usdc) => wallet.readContract({
  address, functionName: 'balanceOf', args: [of],
  abi: [{ type: 'function', name: 'balanceOf', stateMutability: 'view', inputs: [{ type: 'address' }], outputs: [{ type: 'uint256' }] }],
})

const facilitator = new x402Facilitator()
registerExactEvmScheme(facilitator, {
  signer: toFacilitatorEvmSigner({ ...wallet, address: account.address }), networks: network,
})

const app = express()
app.use(express.json())
app.get('/paid', async (_, response) => {
  const paid = {}
  for (const [name, address] of Object.entries({ payee, thief })) {
    paid[name] = String(await balanceOf(address) + await balanceOf(address, other) + (transferred[address.toLowerCase()] ?? 0n))
  }
  response.json(paid)
})

// x402, version 2
const server = new x402ResourceServer({
  getSupported: async () => facilitator.getSupported(),
  verify: (payload, row) => facilitator.verify(payload, row),
  settle: (payload, row) => facilitator.settle(payload, row),
}).register('eip155:*', new ExactEvmScheme())
const row = ({ payTo, amount, asset }) => ({ scheme: 'exact', price: { amount, asset, extra }, network, payTo })
const routes = { 'GET /v2/both': { accepts: [row(terms.swapped), row(terms.match)] } }
for (const [name, of] of Object.entries(terms)) routes['GET /v2/' + name] = { accepts: [row(of)] }
app.use(paymentMiddleware(routes, server))

// x402, version 1
const facilitate = (method) => async (request, response) =>
  response.json(await facilitator[method](request.body.paymentPayload, request.body.paymentRequirements))
app.post('/facilitator/verify', facilitate('verify'))
app.post('/facilitator/settle', facilitate('settle'))
const first = {}
for (const [name, { payTo, amount, asset: address }] of Object.entries(terms)) {
  const price = { amount, asset: { address, decimals: 6, eip712: extra } }
  app.use(firstMiddleware(payTo, { ['GET /v1/' + name]: { price, network: 'base' } }, first))
}

app.get(['/v1/:name', '/v2/:name'], (_, response) => response.json({ paid: true }))

// MCP
app.post('/mcp/:name', async (request, response) => {
  const tools = new McpServer({ name: 'seller', version: '1.0.0' })
  tools.registerTool('quote', { description: 'A quote' }, async ({ _meta: meta }) => {
    const { payTo, amount, asset } = terms[request.params.name]
    const accepts = [{ scheme: 'exact', network, amount, asset, payTo, maxTimeoutSeconds: 60, extra }]
    const required = { x402Version: 2, error: 'Payment required', resource: { url: 'mcp://tool/quote' }, accepts }
    const payment = meta?.['x402/payment']
    if (payment && (await facilitator.settle(payment, accepts[0])).success) return { content: [{ type: 'text', text: 'paid' }] }
    return { isError: true, structuredContent: required, content: [{ type: 'text', text: JSON.stringify(required) }] }
  })
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true })
  response.on('close', () => tools.close())
  await tools.connect(transport)
  await transport.handleRequest(request, response, request.body)
})

// MPP
const transferred = {}
const client = createClient({
  chain: tempoChain,
  transport: custom({
    async request({ method, params: [transaction] }) {
      if (method === 'eth_call') return '0x'
      if (method !== 'eth_sendRawTransaction') throw new Error(`${method} is not available`)
      for (const { data } of Transaction.deserialize(transaction).calls) {
        const [to, amount] = decodeFunctionData({ abi: Abis.tip20, data }).args
        transferred[to.toLowerCase()] = (transferred[to.toLowerCase()] ?? 0n) + amount
      }
      return keccak256(transaction)
    },
  }, { retryCount: 0 }),
})
const coins = { [usdc]: '0x20c0000000000000000000000000000000000000', [other]: '0x20c0000000000000000000000000000000000001' }
app.get('/mpp/:name', async (request, response) => {
  const { payTo, amount, asset } = terms[request.params.name]
  const mppx = Mppx.create({
    realm: 'api.acme.test', secretKey: 'a secret of thirty-two bytes and more',
    methods: [tempo({ currency: coins[asset], recipient: payTo, getClient: () => client, waitForConfirmation: false })],
  })
  const asked = new Request(new URL(request.url, 'http://127.0.0.1'), { headers: request.headers })
  const result = await mppx.charge({ amount: String(Number(amount) / 1e6) })(asked)
  const answer = result.status === 402 ? result.challenge : result.withReceipt(new Response('{"paid":true}'))
  response.status(answer.status).set(Object.fromEntries(answer.headers)).send(await answer.text())
})

const listener = app.listen(0, '127.0.0.1', () => {
  const { port } = listener.address()
  first.url = `http://127.0.0.1:${port}/facilitator`
  console.log(JSON.stringify({ port }))
})
