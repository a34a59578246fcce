// A module that a program imports first, so that it asks no chain: requests to another host than this one are answered
// here, as nodes of Tempo and of Solana would answer a payer, or fail.
const ask = globalThis.fetch
const mint = Buffer.alloc(82)
mint[44] = 6 // decimals
mint[45] = 1 // initialised
const context = { slot: 1 }
const account = {
  data: [mint.toString('base64'), 'base64'], executable: false, lamports: 1461600, rentEpoch: 0, space: 82,
  owner: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
}
const answers = {
  eth_chainId: '0x1079',
  eth_estimateGas: '0x5208',
  eth_getTransactionCount: '0x0',
  eth_maxPriorityFeePerGas: '0x1',
  eth_getBlockByNumber: { number: '0x1', baseFeePerGas: '0x1', timestamp: '0x1', transactions: [] },
  getAccountInfo: { context, value: account },
  getLatestBlockhash: {
    context, value: { blockhash: '4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM', lastValidBlockHeight: 100 },
  },
}
globalThis.fetch = async (input, options) => {
  const request = new Request(input, options)
  const { hostname } = new URL(request.url)
  if (hostname === '127.0.0.1') return ask(request)
  const { id, method } = await request.json()
  if (!(method in answers)) throw new Error(`asked ${hostname} for ${method}`)
  return Response.json({ jsonrpc: '2.0', id, result: answers[method] })
}
