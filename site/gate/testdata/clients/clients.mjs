// Pays by the clients that buyers use, with the gate below them. The argument is the module of the gate. The program
// reads {seller, cases: [{name, path, gate, clients}]} as its input, where gate are options of createGate, or null for
// none, and clients the names of those that take part, or null for all. It prints how often each client called the signer in each case, what the recipients got, and the result:
// {client: {case: {result, signed, payee, thief, ms}}}. With a number as repeat it does each as often, in ms milliseconds.
import { readFileSync } from 'node:fs'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { wrapAxiosWithPayment, x402Client as axiosClient } from '@x402/axios'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import axios from 'axios'
import { wrapFetchWithPayment as wrapFirst } from 'x402-fetch'
import { Mppx, evm, tempo } from 'mppx/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { createClient, createWalletClient, custom, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { tempo as tempoChain } from 'viem/tempo/chains'

const { createGate, gateFetch, gateTerms } = await import(process.argv[2])
const { seller, cases, repeat = 1 } = JSON.parse(readFileSync(0))

// The payer's account counts its signatures.
let signed = 0
const account = new Proxy(privateKeyToAccount('0x' + '01'.repeat(32)), {
  get(target, name) {
    const value = target[name]
    if (typeof value !== 'function' || !/^sign/.test(name)) return value
    return (...args) => {
      signed++
      return value(...args)
    }
  },
})
const answers = {
  eth_chainId: '0x1079', eth_estimateGas: '0x5208', eth_maxPriorityFeePerGas: '0x1', eth_getTransactionCount: '0x0',
  eth_getBlockByNumber: { number: '0x1', baseFeePerGas: '0x1', timestamp: '0x1', transactions: [] },
}
const tempoClient = createClient({
  chain: tempoChain,
  transport: custom({
    async request({ method }) {
      if (method in answers) return answers[method]
      throw Object.assign(new Error(`${method} is not available`), { code: -32601 })
    },
  }, { retryCount: 0 }),
})
const extra = { name: 'USD Coin', version: '2' }
const second = () => registerExactEvmScheme(new x402Client().setSpendControls(false), { signer: account, networks: ['eip155:8453'] })

// Each client has the path of what it is sold by, and pays with a fetch and, if there is no other way, a gate.
const clients = {
  '@x402/fetch': ['/v2/', (fetch) => wrapFetchWithPayment(fetch, second())],
  'x402-fetch': ['/v1/', (fetch) => wrapFirst(fetch, createWalletClient({ account, chain: base, transport: http('http://127.0.0.1:1') }))],
  '@x402/fetch, version 1': ['/v1/', (fetch) => wrapFetchWithPayment(fetch, second())],
  '@x402/axios': ['/v2/', (fetch) => {
    const client = registerExactEvmScheme(new axiosClient(), { signer: account, networks: ['eip155:8453'] })
    const pay = wrapAxiosWithPayment(axios.create({ adapter: 'fetch', env: { fetch } }), client)
    return (url) => pay.get(url)
  }],
  mppx: ['/mpp/', (fetch) => Mppx.create({
    fetch, polyfill: false, methods: [tempo.charge({ account, getClient: () => tempoClient })],
  }).fetch],
  'mppx, x402': ['/v2/', (fetch) => Mppx.create({
    fetch, polyfill: false, methods: [evm({ account, authorization: extra })],
  }).fetch],
  MCP: ['/mcp/', (fetch, gate) => async (url) => {
    const mcp = new Client({ name: 'payer', version: '1.0.0' })
    await mcp.connect(new StreamableHTTPClientTransport(new URL(url)))
    try {
      let answer = await mcp.callTool({ name: 'quote' })
      if (answer.isError) {
        const terms = gate ? await gateTerms(answer.structuredContent, url, gate) : answer.structuredContent
        const payment = await second().createPaymentPayload(terms)
        answer = await mcp.callTool({ name: 'quote', _meta: { 'x402/payment': payment } })
      }
      return { status: answer.isError ? 402 : 200 }
    } finally {
      await mcp.close()
    }
  }],
}

const paid = async () => (await fetch(seller + '/paid')).json()

// reason is the class of the error that the gate threw, whatever a client has made of it.
function reason(error) {
  for (let e = error; e; e = e.cause) {
    if (e.result) return e.result.verdict + (e.result.reason && ': ' + e.result.reason)
  }
  return String(error?.stack ?? error)
}

const results = {}
for (const [name, [path, make]] of Object.entries(clients)) {
  results[name] = {}
  for (const of of cases) {
    if (of.clients && !of.clients.includes(name)) continue
    const gate = of.gate && createGate(of.gate)
    const pay = make(gate ? gateFetch(fetch, gate) : fetch, gate)
    const before = await paid()
    signed = 0
    let result
    const begun = performance.now()
    try {
      for (let i = 0; i < repeat; i++) result = String((await pay(seller + path + of.path)).status)
    } catch (error) {
      result = reason(error)
    }
    const ms = performance.now() - begun
    const after = await paid()
    const got = (who) => Number(BigInt(after[who]) - BigInt(before[who]))
    results[name][of.name] = { result, signed, payee: got('payee'), thief: got('thief'), ms }
  }
}
console.log(JSON.stringify(results))
