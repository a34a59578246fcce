import { createConfig } from "ponder";
import { http, parseAbi } from "viem";

export const abi = parseAbi([
  "event Transfer(address indexed from, address indexed to, uint256 value)",
  "event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)",
]);

export default createConfig({
  database: { kind: "postgres", connectionString: process.env.DATABASE_URL! },
  networks: { bench: { chainId: 8453, transport: http(process.env.RPC!), maxRequestsPerSecond: 10000 } },
  contracts: {
    Token: {
      network: "bench", abi, address: "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913",
      startBlock: 1, endBlock: Number(process.env.END),
    },
  },
});
