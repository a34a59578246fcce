// A seller made of mppx, which speaks the "Payment" HTTP authentication scheme (MPP) and no x402, on loopback. It prints
// its port as one line of JSON when it listens.
import { createServer } from 'node:http'
import { Mppx, tempo } from 'mppx/server'

const mppx = Mppx.create({
  realm: 'api.acme.test',
  secretKey: 'a secret of thirty-two bytes and more',
  methods: [tempo({
    currency: '0x20c0000000000000000000000000000000000000',
    recipient: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
  })],
})

const server = createServer(async (request, response) => {
  const asked = new Request(new URL(request.url, 'http://127.0.0.1'), { method: request.method, headers: request.headers })
  const result = await mppx.charge({ amount: '0.01' })(asked)
  const answer = result.status === 402 ? result.challenge : new Response('{}')
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  response.end(Buffer.from(await answer.arrayBuffer()))
})
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })))
