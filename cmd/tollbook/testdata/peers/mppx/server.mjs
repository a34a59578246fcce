// A seller made of mppx, which speaks the "Payment" HTTP authentication scheme (MPP) and no x402, on loopback. Its node
// accepts every transaction and has no chain; GET /signed returns the amounts of these transactions. The program prints
// its port as one line of JSON when it listens.
import { createServer } from 'node:http'
import { Mppx, tempo } from 'mppx/server'
import { createClient, custom, decodeFunctionData, keccak256 } from 'viem'
import { Abis, Transaction } from 'viem/tempo'
import { tempo as chain } from 'viem/tempo/chains'

const signed = []
const client = createClient({
  chain,
  transport: custom({
    async request({ method, params: [transaction] }) {
      if (method === 'eth_call') return '0x'
      if (method !== 'eth_sendRawTransaction') throw new Error(`${method} is not available`)
      for (const { data } of Transaction.deserialize(transaction).calls) {
        signed.push({ value: String(decodeFunctionData({ abi: Abis.tip20, data }).args[1]) })
      }
      return keccak256(transaction)
    },
  }, { retryCount: 0 }),
})

const mppx = Mppx.create({
  realm: 'api.acme.test',
  secretKey: 'a secret of thirty-two bytes and more',
  methods: [tempo({
    currency: '0x20c0000000000000000000000000000000000000',
    recipient: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
    getClient: () => client,
    waitForConfirmation: false,
  })],
})

const server = createServer(async (request, response) => {
  if (request.url === '/signed') {
    response.end(JSON.stringify(signed))
    return
  }
  const asked = new Request(new URL(request.url, 'http://127.0.0.1'), { method: request.method, headers: request.headers })
  const result = await mppx.charge({ amount: '0.01' })(asked)
  const answer = result.status === 402 ? result.challenge : result.withReceipt(new Response('{"paid":true}'))
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  response.end(Buffer.from(await answer.arrayBuffer()))
})
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })))
