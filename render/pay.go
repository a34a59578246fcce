package render

import (
	"strings"

	"tollbook/site"
)

// payExamples is how many endpoints of a service show how to pay them; of more, the first ones do.
const payExamples = 50

// pay is a program that pays an endpoint with the x402 client for fetch and prints what it answers, "" where that client
// can't: it pays the scheme exact on EVM networks. As with curl, every part is plain, and nothing in it can leave the quotes.
func pay(base string, e *site.Endpoint) string {
	address := link(endpointURL(base, e.Path))
	if address == "" || e.Method == "" || len(e.Method) > 16 || strings.Trim(e.Method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || !paidOnEVM(e) {
		return ""
	}
	request := ""
	switch e.Method {
	case "GET":
	case "POST", "PUT", "PATCH":
		request = `, {` + "\n" + `  method: "` + e.Method + `", headers: { "content-type": "application/json" }, body: JSON.stringify({}),` + "\n}"
	default:
		request = `, { method: "` + e.Method + `" }`
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

func paidOnEVM(e *site.Endpoint) bool {
	for _, p := range e.Pricing {
		if p.Scheme == "exact" && p.NetworkCAIP2 != nil && strings.HasPrefix(*p.NetworkCAIP2, "eip155:") {
			return true
		}
	}
	return false
}
