package guide

import (
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/rail"
)

// other returns how to pay over the first other protocol for which there is a client.
func (r Request) other(pricing []site.PricingEntry) *other {
	for _, o := range []other{
		{Protocol: rail.MPP, Text: "The command-line client of MPP shows the price and asks before it pays.",
			Samples: []Sample{{Language: "shell", Code: r.guardCommand(r.mppx())}}},
		{Protocol: rail.L402, Text: "Pay the Lightning invoice of the answer. Then repeat the request with the token " +
			"of the answer and the preimage of the payment.",
			Samples: []Sample{{Language: "shell", Code: r.guardCommand(r.Curl() +
				" -H 'authorization: L402 TOKEN:PREIMAGE'")}}},
	} {
		at := slices.IndexFunc(pricing, func(p site.PricingEntry) bool { return p.Protocol == o.Protocol })
		if at < 0 {
			continue
		}
		if s, ok := OtherSample(r, &pricing[at]); ok {
			o.Samples, o.Secret = append(o.Samples, s), secrets[o.Protocol]
		}
		return &o
	}
	return nil
}

// secrets are what programs need to pay over a protocol.
var secrets = map[string]string{
	rail.MPP:  "Set KEY to the private key of an account that holds no more than you can afford to lose.",
	rail.L402: "Set WALLET to a connection to a Lightning wallet by Nostr Wallet Connect, with a small budget.",
}

// OtherSample returns the program that pays a price over MPP or L402 with a client of that protocol, and false if there
// is none. Like the programs for x402 it pays at most the price, in its token.
func OtherSample(r Request, p *site.PricingEntry) (Sample, bool) {
	v := values{Request: r, Offer: Offer{Asset: strings.ToLower(p.AssetAddress), Amount: p.Price}}
	if !amountForm.MatchString(p.Price) {
		return Sample{}, false
	}
	switch {
	case p.Protocol == rail.L402:
		return Sample{"JavaScript", v.execute(l402JavaScript),
			"npm install @getalby/lightning-tools @getalby/sdk"}, true
	case p.Protocol == rail.MPP && p.Scheme == "tempo/charge" && accountForm.MatchString(p.AssetAddress):
		return Sample{"JavaScript", v.execute(mppJavaScript), "npm install mppx viem"}, true
	}
	return Sample{}, false
}

// mppx returns the command of MPP's official client that pays after a question.
func (r Request) mppx() string {
	command := "npx mppx --confirm --protocol mpp"
	if r.Method != "GET" {
		command += " -X " + r.Method
	}
	command += " '" + r.URL + "'"
	if r.Body != "" {
		command += " -J " + shellQuote(r.Body)
	}
	return command
}

var l402JavaScript = parse(guardJavaScript + `import { fetch402 } from "@getalby/lightning-tools/402";
import { Invoice } from "@getalby/lightning-tools/bolt11";
import { NWCClient } from "@getalby/sdk";

const nwc = new NWCClient({ nostrWalletConnectUrl: process.env.WALLET });
// Pays at most this price, in millisatoshi.
const wallet = {
  async payInvoice({ invoice }) {
    const { millisatoshi } = new Invoice({ pr: invoice });
    if (!(millisatoshi <= {{.Amount}})) throw new Error("the price rose to " + millisatoshi);
    return nwc.payInvoice({ invoice });
  },
};

const answer = await fetch402("{{.URL}}", ` + fetchOptions + `, { wallet });
console.log(answer.status, await answer.text());
nwc.close();
`)

var mppJavaScript = parse(guardJavaScript + `import { Mppx, tempo } from "mppx/client";
import { privateKeyToAccount } from "viem/accounts";

const { fetch: pay } = Mppx.create({
  methods: [tempo.charge({ account: privateKeyToAccount(process.env.KEY) })],
  polyfill: false,
  maxPaymentRetries: 1,
  // Pays at most this price, in this token.
  async onChallenge({ request }, { createCredential }) {
    if (BigInt(request.amount) > {{.Amount}}n || request.currency.toLowerCase() !== "{{.Asset}}")
      throw new Error("the price rose to " + request.amount + " of " + request.currency);
    return createCredential();
  },
});

const answer = await pay("{{.URL}}", ` + fetchOptions + `);
console.log(answer.status, await answer.text());
`)
