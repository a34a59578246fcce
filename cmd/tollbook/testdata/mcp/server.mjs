// An MCP server made of the official SDK, on loopback over streamable HTTP without sessions, with tools that ask for
// payment as x402 over MCP has it: a result that is an error, with the payment terms as its structured content and as
// text, or as text alone if the city is "as text". A call with a payment that allows these terms gets its answer. GET
// /signed returns these payments. It prints its port as one line of JSON.
import { createServer } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { z } from 'zod'

const terms = (tool, amount) => ({
  x402Version: 2,
  error: 'Payment required',
  resource: { url: `mcp://tool/${tool}`, description: 'One answer' },
  accepts: [
    {
      scheme: 'exact',
      network: 'eip155:8453',
      amount,
      asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      payTo: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
      maxTimeoutSeconds: 60,
      extra: { name: 'USD Coin', version: '2' },
    },
  ],
})

const signed = []

function newServer() {
  const server = new McpServer({ name: 'almanac', version: '1.0.0' })
  const paid = (name, amount, more = {}) =>
    server.registerTool(
      name,
      {
        description: `Paid answers: ${name}`,
        inputSchema: { city: z.string() },
        _meta: { 'agents-x402/paymentRequired': true, 'agents-x402/priceUSD': Number(amount) / 1e6 },
        ...more,
      },
      ({ city }, { _meta: meta }) => {
        const required = terms(name, amount)
        const payment = meta?.['x402/payment']
        if (payment?.accepted?.payTo === required.accepts[0].payTo && payment.payload.authorization.value === amount) {
          signed.push(payment.payload.authorization)
          return { content: [{ type: 'text', text: `${name} of ${city}` }] }
        }
        const content = [{ type: 'text', text: JSON.stringify(required) }]
        return city === 'as text' ? { isError: true, content } : { isError: true, structuredContent: required, content }
      },
    )
  paid('forecast', '10000')
  paid('climate', '2500')
  paid('erase_history', '99', { annotations: { destructiveHint: true } })
  server.registerTool('cities', { description: 'A free list of cities' }, () => {
    throw new Error('a free tool was called')
  })
  return server
}

const listener = createServer(async (request, response) => {
  if (request.url === '/signed') {
    response.end(JSON.stringify(signed))
    return
  }
  if (request.url !== '/mcp') {
    response.writeHead(404).end()
    return
  }
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true })
  const server = newServer()
  response.on('close', () => server.close())
  await server.connect(transport)
  await transport.handleRequest(request, response)
})
listener.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: listener.address().port })))
