// A seller made of x402-express, the last SDK of protocol version 1, on loopback. Routes on EVM chains need no facilitator
// until somebody pays. It prints its port as one line of JSON when it listens.
import express from 'express'
import { paymentMiddleware } from 'x402-express'

const app = express()
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
}, { url: 'http://127.0.0.1:9' }))
app.get('/weather', (request, response) => response.json({ temp: 3 }))
const listener = app.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: listener.address().port })))
