// Package command writes the commands and programs with which readers ask an endpoint for its price or pay it. They
// contain addresses that strangers wrote, and readers paste them into a shell.
//
// It must never know a page.
package command

import (
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// Address returns the address of an endpoint for a command, or "" unless method and address are plain: neither can
// leave the quotes.
func Address(base string, e *site.Endpoint) string {
	if e.Method == "" || len(e.Method) > 16 || strings.Trim(e.Method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return ""
	}
	return display.Link(display.EndpointURL(base, e.Path))
}

// Curl returns the command that asks for a price without paying. The answer is a 402 with the price.
func Curl(method, address string) string {
	command := "curl -i"
	if strings.ContainsAny(address, "[]{}") {
		command += " -g"
	}
	switch method {
	case "GET":
	case "HEAD":
		command = strings.Replace(command, "-i", "-I", 1)
	default:
		command += " -X " + method
	}
	command += " '" + address + "'"
	switch method {
	case "POST", "PUT", "PATCH":
		command += " -H 'content-type: application/json' -d '{}'"
	}
	return command
}

// Pay returns a program that pays with the x402 client for fetch and prints the answer.
func Pay(method, address string) string {
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

// IsPayable returns whether Pay can pay an endpoint: its client knows the scheme exact on EVM networks.
func IsPayable(e *site.Endpoint) bool {
	for _, p := range e.X402Pricing() {
		if p.Scheme == "exact" && p.NetworkCAIP2 != nil && strings.HasPrefix(*p.NetworkCAIP2, "eip155:") {
			return true
		}
	}
	return false
}
