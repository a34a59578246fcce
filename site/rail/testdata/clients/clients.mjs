// Runs the clients that buyers use, unchanged, against 402 responses on loopback. It reads {now, cases: [{name, url}]}
// from its input, and writes for each case and client a list of attempts. The first one is what the client does by
// itself. The others are what it does with each other row or challenge that it would consider, one after another. An
// attempt is {row, pays} or {row, reason}.
//
// No request leaves the machine. Clients ask nodes of chains before they sign some schemes: for the allowance of
// Permit2 and the state of a channel on EVM chains, for a mint, a blockhash and a simulation on Solana, for a ledger
// and a simulation on Stellar, for the parameters of transactions on Algorand. This program answers such requests
// itself, with facts of a payer who has money and has approved Permit2, and of a mint with six decimals. Keys are
// constants, and worth nothing. The clock shows the time of the responses.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const { now, cases } = JSON.parse(readFileSync(0))
const shift = now - Date.now()
const RealDate = Date
globalThis.Date = class extends RealDate {
  constructor(...of) {
    if (of.length) super(...of)
    else super(RealDate.now() + shift)
  }
  static now() {
    return RealDate.now() + shift
  }
}
const realFetch = globalThis.fetch
globalThis.fetch = async (input, init) => {
  const request = new Request(input, init)
  if (new URL(request.url).hostname === '127.0.0.1') return realFetch(request)
  chain = new URL(request.url).hostname
  if (request.url === algod + 'v2/transactions/params') return Response.json(algorandParameters)
  let calls
  try {
    calls = JSON.parse(await request.text())
  } catch {
    throw new Error('no network: asked ' + new URL(request.url).hostname)
  }
  const answer = (call) => ({ jsonrpc: '2.0', id: call.id, ...nodeAnswer(call) })
  return Response.json(Array.isArray(calls) ? calls.map(answer) : answer(calls))
}
let chain // the host of the node that is asked

// chainIDs are the ids of the chains of nodes, by host. Every other node is one of Base.
const chainIDs = { 'rpc.tempo.xyz': 4217, 'rpc.moderato.tempo.xyz': 42431 }

// The nodes that clients are given.
const node = 'http://node.test/', stellarNode = 'https://stellar.test/', algod = 'http://algod.test/'

// algorandParameters are the parameters of transactions on Algorand's main network.
const algorandParameters = {
  'consensus-version': 'test', fee: 0, 'min-fee': 1000, 'last-round': 1000, 'genesis-id': 'mainnet-v1.0',
  'genesis-hash': 'wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=',
}

// granted are the functions of contracts that answer with the largest number: allowance and balanceOf. Others answer 0.
const granted = ['0xdd62ed3e', '0x70a08231']

// nodeAnswer is the result of a call of a node, of an EVM chain, of Stellar or of Solana.
function nodeAnswer({ method, params }) {
  if (chain === 'stellar.test') {
    switch (method) {
      case 'getLatestLedger': return { result: { id: '0'.repeat(64), protocolVersion: 22, sequence: 1000 } }
      case 'simulateTransaction': return { result: simulateTransfer(params.transaction) }
    }
  }
  const context = { slot: 1 }
  switch (method) {
    case 'eth_chainId': return { result: '0x' + (chainIDs[chain] ?? 8453).toString(16) }
    case 'eth_call':
      return { result: '0x' + (granted.includes(params[0].data.slice(0, 10)) ? 'f' : '0').repeat(64 * 16) }
    case 'eth_getTransactionCount': return { result: '0x0' }
    case 'eth_estimateGas': return { result: '0x186a0' }
    case 'eth_gasPrice': case 'eth_maxPriorityFeePerGas': return { result: '0x1' }
    case 'eth_getCode': return { result: '0x' }
    case 'eth_getBlockByNumber':
      return {
        result: { number: '0x1', timestamp: '0x1', baseFeePerGas: '0x1', gasLimit: '0x1c9c380', transactions: [] },
      }
    case 'getLatestBlockhash':
      return {
        result: {
          context, value: { blockhash: '4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM', lastValidBlockHeight: 100 },
        },
      }
    case 'getAccountInfo': return { result: { context, value: mintAccount() } }
    case 'getMultipleAccounts': return { result: { context, value: params[0].map(() => mintAccount()) } }
    case 'getSlot': case 'getBlockHeight': return { result: 1 }
    case 'simulateTransaction': return { result: { context, value: { err: null, logs: [], unitsConsumed: 20000 } } }
  }
  return { error: { code: -32601, message: 'the stub of a node does not know ' + method } }
}

// simulateTransfer is the simulation of a transfer on Stellar: it succeeds, and the payer must authorise it unless the
// transaction contains that.
function simulateTransfer(text) {
  const { Address, SorobanDataBuilder, TransactionBuilder, xdr, Networks } = stellar
  const operation = TransactionBuilder.fromXDR(text, Networks.PUBLIC).operations[0]
  const invoked = operation.func.invokeContract()
  const credentials = new xdr.SorobanAddressCredentials({
    address: Address.fromScVal(invoked.args()[0]).toScAddress(), nonce: xdr.Int64.fromString('1'),
    signatureExpirationLedger: 0, signature: xdr.ScVal.scvVoid(),
  })
  const needed = new xdr.SorobanAuthorizationEntry({
    credentials: xdr.SorobanCredentials.sorobanCredentialsAddress(credentials),
    rootInvocation: new xdr.SorobanAuthorizedInvocation({
      function: xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(invoked), subInvocations: [],
    }),
  })
  const auth = (operation.auth?.length ? operation.auth : [needed]).map((entry) => entry.toXDR('base64'))
  return {
    latestLedger: 1000, minResourceFee: '100', events: [],
    transactionData: new SorobanDataBuilder().build().toXDR('base64'),
    results: [{ auth, xdr: xdr.ScVal.scvVoid().toXDR('base64') }],
  }
}

// mintAccount is a mint of the Token program with six decimals.
function mintAccount() {
  const data = Buffer.alloc(82)
  data[44] = 6 // decimals
  data[45] = 1 // initialised
  return {
    data: [data.toString('base64'), 'base64'], executable: false, lamports: 1461600, rentEpoch: 0, space: 82,
    owner: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  }
}

// The client of Stellar's nodes sends by axios, which must use the fetch of this program, as a module of either kind.
const axios = await import('axios')
for (const a of [axios.default, createRequire(import.meta.url)('axios')]) a.defaults.adapter = 'fetch'
const stellar = await import('@stellar/stellar-sdk')
const { wrapFetchWithPayment, x402Client } = await import('@x402/fetch')
const { ExactEvmScheme, registerExactEvmScheme } = await import('@x402/evm/exact/client')
const { UptoEvmScheme } = await import('@x402/evm/upto/client')
const { BatchSettlementEvmScheme } = await import('@x402/evm/batch-settlement/client')
const { AuthCaptureEvmScheme } = await import('@x402/evm/auth-capture/client')
const { registerExactSvmScheme } = await import('@x402/svm/exact/client')
const { UptoSvmScheme } = await import('@x402/svm/upto/client')
const { createEd25519Signer } = await import('@x402/stellar')
const { ExactStellarScheme } = await import('@x402/stellar/exact/client')
const { toClientAvmSigner } = await import('@x402/avm')
const { ExactAvmScheme } = await import('@x402/avm/exact/client')
const { toClientEvmSigner } = await import('@x402/evm')
const { wrapFetchWithPayment: wrapFirst } = await import('x402-fetch')
const { selectPaymentRequirements } = await import('x402/client')
const { Fetch, tempo, evm, stripe } = await import('mppx/client')
const { solana } = await import('@solana/mpp/client')
const { createKeyPairSignerFromPrivateKeyBytes } = await import('@solana/kit')
const { fetch402 } = await import('@getalby/lightning-tools/402')
const { createPublicClient, createWalletClient, http } = await import('viem')
const { base } = await import('viem/chains')
const { privateKeyToAccount } = await import('viem/accounts')

const key = new Uint8Array(32).fill(1)
const account = privateKeyToAccount('0x' + '01'.repeat(32))
const signer = toClientEvmSigner(account, createPublicClient({ chain: base, transport: http(node) }))
const solanaSigner = await createKeyPairSignerFromPrivateKeyBytes(key)
const stellarKey = stellar.Keypair.fromRawEd25519Seed(Buffer.from(key)).secret()
const algorandSigner = toClientAvmSigner(Buffer.concat([key, stellar.Keypair.fromSecret(stellarKey).rawPublicKey()])
  .toString('base64'))
const wallet = createWalletClient({ account, chain: base, transport: http(node) })

// paymentHeaders are the headers with which clients pay.
const paymentHeaders = ['payment-signature', 'x-payment', 'payment-authorization', 'authorization']

const decode = (text) => {
  try {
    return JSON.parse(Buffer.from(text, 'base64').toString())
  } catch {
    return null
  }
}

// ask requests url by a client made by wrap(fetch), and returns the payment that it sends, or why it sends none.
async function ask(url, wrap) {
  let sent
  const spy = async (input, init) => {
    const request = new Request(input, init)
    for (const name of paymentHeaders) {
      if (request.headers.has(name)) {
        sent ??= { name, value: request.headers.get(name) }
        return new Response('{"paid":true}', { status: 200 })
      }
    }
    return fetch(request)
  }
  let timer
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error('no answer in 5 s')), 5000) })
  try {
    const response = await Promise.race([wrap(spy)(url, {}), late])
    return sent ? { sent } : { reason: response.status === 402 ? 'hands back the 402' : 'asks for no payment' }
  } catch (error) {
    return sent ? { sent } : { reason: plainReason(error) }
  } finally {
    clearTimeout(timer)
  }
}

// attempts runs a client by itself, and then once for each other row that it considers. make(fetch, choose) makes the
// client; choose(rows, first) is what it asks which row to pay, where first is its own choice.
async function attempts(url, make, read) {
  const list = []
  let offered = [], first
  for (let pick = -1; pick < Math.min(offered.length, 16); pick++) {
    if (pick >= 0 && offered[pick] === first) continue
    let row
    const choose = (rows, own) => {
      if (pick < 0) [offered, first] = [rows, own]
      return row = pick < 0 ? own : rows[pick]
    }
    const { sent, reason } = await ask(url, (f) => make(f, choose))
    list.push(sent ? { row, pays: read(sent) } : { row, reason })
  }
  return list
}

// plainReason is the message of an error in one line.
function plainReason(error) {
  let text = String(error?.message ?? error)
  try { // zod lists its issues as JSON
    text = JSON.parse(text).map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ')
  } catch {}
  if (error?.cause?.message && !text.includes(error.cause.message)) text += ': ' + error.cause.message
  return text
}

// x402Payment reads a payment over x402: what was signed, and where the row says it, the row.
function x402Payment({ value }) {
  const payment = decode(value)
  const { payload = {}, accepted } = payment ?? {}
  const permit = payload.permit2Authorization
  const signed = payload.authorization ? { to: payload.authorization.to, amount: payload.authorization.value }
    : permit ? { to: permit.witness?.to ?? permit.spender, amount: permit.permitted?.amount }
    : { to: accepted?.payTo, amount: accepted?.amount ?? accepted?.maxAmountRequired }
  return {
    scheme: payment?.scheme ?? accepted?.scheme, network: payment?.network ?? accepted?.network, ...signed, accepted,
  }
}

// newClient is a client of @x402/fetch with all schemes that its packages have.
function newClient(choose) {
  const client = new x402Client((_, rows) => choose(rows, rows[0]))
  client.setSpendControls(false)
  registerExactEvmScheme(client, { signer, schemeOptions: { rpcUrl: node } })
  client.register('eip155:*', new UptoEvmScheme(signer, { rpcUrl: node }))
  client.register('eip155:*', new BatchSettlementEvmScheme(signer))
  client.register('eip155:*', new AuthCaptureEvmScheme(signer))
  registerExactSvmScheme(client, { signer: solanaSigner })
  client.register('solana:*', new UptoSvmScheme(solanaSigner))
  for (const network of ['stellar:pubnet', 'stellar:testnet']) {
    const signer = createEd25519Signer(stellarKey, network)
    client.register(network, new ExactStellarScheme(signer, { url: stellarNode }))
  }
  client.register('algorand:*', new ExactAvmScheme(algorandSigner, { algodUrl: algod }))
  return client
}

// mppPayment reads a payment over MPP: Payment and base64url of {challenge, payload}.
function mppPayment({ value }) {
  const { challenge } = decode(value.replace(/^Payment\s+/i, '')) ?? {}
  const request = decode(challenge?.request) ?? challenge?.request ?? {}
  return {
    scheme: `${challenge?.method}/${challenge?.intent}`,
    network: request.methodDetails?.chainId ?? request.methodDetails?.network,
    to: request.recipient, amount: request.amount ?? request.cap,
  }
}

const bigLimit = 10n ** 40n
const solanaNode = { svmConfig: { rpcUrl: node } }
const mppMethods = [
  tempo.common({ account, maxDeposit: '1000000' }), tempo.sessionLegacy.method({ account, maxDeposit: '1000000' }), 
  tempo.subscription({ account, accessKey: { accessKeyAddress: account.address, keyType: 'secp256k1' } }),
  evm({ account, authorization: { name: 'USD Coin', version: '2' } }),
  stripe.charge({ createToken: async () => 'spt_test', paymentMethod: 'pm_test' }),
].flat()

const anyMPP = (sent) => sent.name === 'payment-signature' ? x402Payment(sent) : mppPayment(sent)
const mpp = (methods) => (fetch, choose) => Fetch.from({
  fetch, methods,
  orderChallenges: (candidates) => {
    const requests = candidates.map((c) => c.challenge)
    const chosen = choose(requests, requests[0])
    return candidates.filter((c) => c.challenge === chosen)
  },
})

const clients = {
  'x402-fetch': (url) => attempts(url, (f, choose) => wrapFirst(f, { evm: wallet, svm: solanaSigner }, bigLimit,
    (rows, ...of) => choose(rows, selectPaymentRequirements(rows, ...of)), solanaNode), x402Payment),
  '@x402/fetch': (url) => attempts(url, (f, choose) => wrapFetchWithPayment(f, newClient(choose)), x402Payment),
  mppx: (url) => attempts(url, mpp(mppMethods), anyMPP),
  '@solana/mpp': (url) => attempts(url, mpp([solana.charge({ signer: solanaSigner })]), anyMPP),
  '@getalby/lightning-tools': lightning,
}

// lightning runs Alby's client. Its wallet records the invoice that the client asks it to pay.
async function lightning(url) {
  let invoice
  const purse = { payInvoice: async (of) => { invoice = of.invoice; throw new Error('paid') } }
  try {
    const response = await fetch402(url, {}, { wallet: purse })
    return [{ reason: response.status === 402 ? 'hands back the 402' : 'asks for no payment' }]
  } catch (error) {
    return [invoice ? { pays: { invoice } } : { reason: plainReason(error) }]
  }
}

const results = {}
for (const { name, url } of cases) {
  results[name] = {}
  for (const [client, run] of Object.entries(clients)) results[name][client] = await run(url)
}
process.stdout.write(JSON.stringify(results), () => process.exit(0))
