package render

import (
	"strings"

	"tollbook/site"
)

// payExamples is how many endpoints of a service show how to pay them; of more, the first ones do.
const payExamples = 50

// pay is a program that pays with the x402 client for fetch and prints what is answered.
func pay(method, address string) string {
	request := ""
	switch method {
	case "GET":
	case "POST", "PUT", "PATCH":
		request = `, {` + "\n" + `  method: "` + method +
			`", headers: { "content-type": "application/json" }, body: JSON.stringify({}),` + "\n}"
	default:
		request = `, { method: "` + method + `" }`
	}
	return `import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { registerExactEvmScheme } from "@x402/evm/exact/client";
import { privateKeyToAccount } from "viem/accounts";

const client = new x402Client();
registerExactEvmScheme(client, { signer: privateKeyToAccount(process.env.KEY) });
const pay = wrapFetchWithPayment(fetch, client);

const answer = await pay("` + address + `"` + request + `);
console.log(answer.status, await answer.text());`
}

// paidOnEVM says whether that client can pay an endpoint: it pays the scheme exact on EVM networks.
func paidOnEVM(e *site.Endpoint) bool {
	for _, p := range e.Pricing {
		if p.Scheme == "exact" && p.NetworkCAIP2 != nil && strings.HasPrefix(*p.NetworkCAIP2, "eip155:") {
			return true
		}
	}
	return false
}
