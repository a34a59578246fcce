// A seller made of x402-express, the last SDK of protocol version 1, on loopback. Its facilitator believes every
// signature and settles nothing; it answers at the same port. GET /signed returns what it was given. The program prints
// its port as one line of JSON when it listens.
import express from 'express'
import { paymentMiddleware } from 'x402-express'

const app = express()
const signed = []
const facilitator = {} // its URL is known when the server listens
app.post('/facilitator/verify', express.json(), (request, response) => {
  const { authorization } = request.body.paymentPayload.payload
  signed.push(authorization)
  response.json({ isValid: true, payer: authorization.from })
})
app.post('/facilitator/settle', express.json(), (request, response) => {
  const { from: payer } = request.body.paymentPayload.payload.authorization
  response.json({ success: true, transaction: '0x' + '1'.repeat(64), network: 'base', payer })
})
app.get('/signed', (_, response) => response.json(signed))
app.use(paymentMiddleware('0x209693Bc6afc0C5328bA36FaF03C514EF312287C', {
  'GET /weather': {
    price: '$0.01',
    network: 'base',
    config: {
      description: 'Weather',
      mimeType: 'application/json',
      inputSchema: { queryParams: { city: 'string' } },
      outputSchema: { temp: 'number' },
    },
  },
}, facilitator))
app.get('/weather', (request, response) => response.json({ temp: 3 }))
const listener = app.listen(0, '127.0.0.1', () => {
  const { port } = listener.address()
  facilitator.url = `http://127.0.0.1:${port}/facilitator`
  console.log(JSON.stringify({ port }))
})
