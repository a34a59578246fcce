// Pays charges with the client of mppx against a node that answers just enough, and prints the events of what it signed:
// one transaction as JSON for each line, its logs encoded by Tempo's ABI as viem has it. The last three pay without a
// charge's memo: a plain transfer, somebody else's memo, and the memo of a later version of MPP.
import { tempo } from 'mppx/client'
import { createClient, custom, decodeFunctionData, encodeAbiParameters, encodeEventTopics, encodeFunctionData, pad } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { Abis, Transaction } from 'viem/tempo'
import { tempo as chain } from 'viem/tempo/chains'

const answers = {
  eth_chainId: '0x1079', eth_estimateGas: '0x5208', eth_maxPriorityFeePerGas: '0x1',
  eth_getBlockByNumber: { number: '0x1', baseFeePerGas: '0x1', timestamp: '0x1', transactions: [] },
}
const client = createClient({
  chain,
  transport: custom({
    async request({ method }) {
      if (method in answers) return answers[method]
      throw Object.assign(new Error(`${method} is not available`), { code: -32601 })
    },
  }, { retryCount: 0 }),
})
const abi = Abis.tip20
const currency = '0x20c0000000000000000000000000000000000000'
const recipient = '0x209693bc6afc0c5328ba36faf03c514ef312287c'

function print(account, charge, calls) {
  const logs = calls.flatMap(({ to: address, data }) => {
    const { functionName, args: [to, amount, memo] } = decodeFunctionData({ abi, data })
    const log = (eventName) => ({
      address,
      topics: encodeEventTopics({ abi, eventName, args: { from: account.address, to, memo } }),
      data: encodeAbiParameters([{ type: 'uint256' }], [amount]),
    })
    return functionName === 'transfer' ? [log('Transfer')] : [log('Transfer'), log('TransferWithMemo')]
  })
  console.log(JSON.stringify({ from: account.address.toLowerCase(), charge, logs }))
}

const account = (n) => privateKeyToAccount(pad(`0x${n.toString(16)}`, { size: 32 }))
let memo
for (const [i, { realm, clientId, splits }] of [
  { realm: 'api.acme.test' }, { realm: 'api.acme.test', clientId: 'agent' }, { realm: 'é'.repeat(300), clientId: 'ü' },
  { realm: 'x402.bolt.test', splits: [{ amount: '7', recipient: pad('0x9', { size: 20 }) }] },
].entries()) {
  const payer = account(i + 1)
  const method = tempo.charge({ account: payer, getClient: () => client, clientId })
  const credential = await method.createCredential({
    challenge: {
      id: `challenge-${i}`, realm, method: 'tempo', intent: 'charge',
      request: { amount: String(1000 + i), currency, recipient, methodDetails: { chainId: 4217, splits } },
    },
    context: {},
  })
  const { payload } = JSON.parse(Buffer.from(credential.replace('Payment ', ''), 'base64url'))
  const { calls } = Transaction.deserialize(payload.signature)
  memo = decodeFunctionData({ abi, data: calls[0].data }).args[2]
  print(payer, true, calls)
}
const call = (functionName, ...args) => [{ to: currency, data: encodeFunctionData({ abi, functionName, args }) }]
print(account(9), false, call('transfer', recipient, 5n))
print(account(9), false, call('transferWithMemo', recipient, 5n, pad('0x07', { size: 32 })))
print(account(9), false, call('transferWithMemo', recipient, 5n, memo.slice(0, 10) + '02' + memo.slice(12)))
