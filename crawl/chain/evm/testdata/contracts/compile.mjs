// Compiles Contracts.sol, which lies beside it, and writes the contracts' creation and runtime code as JSON to stdout.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const solc = createRequire(process.cwd() + '/')('solc')
const out = JSON.parse(solc.compile(JSON.stringify({
  language: 'Solidity',
  sources: { 'Contracts.sol': { content: readFileSync(new URL('Contracts.sol', import.meta.url), 'utf8') } },
  settings: {
    evmVersion: 'paris', optimizer: { enabled: true, runs: 200 }, metadata: { appendCBOR: false },
    outputSelection: { '*': { '*': ['evm.bytecode.object', 'evm.deployedBytecode.object'] } },
  },
})))
if (out.errors) {
  console.error(out.errors.map((e) => e.formattedMessage).join('\n'))
  if (out.errors.some((e) => e.severity === 'error')) process.exit(1)
}
const contracts = {}
for (const name of ['Token', 'FeeToken', 'Wallet', 'Batch', 'Proxy', 'BatchSettlement']) {
  const { evm } = out.contracts['Contracts.sol'][name]
  contracts[name] = { creation: evm.bytecode.object, runtime: evm.deployedBytecode.object }
}
console.log(JSON.stringify(contracts, null, 1))
