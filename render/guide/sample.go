package guide

import (
	"fmt"
	"strconv"
	"strings"
	"text/template"
)

// Sample is a command or a whole program in one language.
type Sample struct {
	Language string // "JavaScript"
	Code     string
	Setup    string // the command that installs what it needs; "" if it needs nothing
}

// PaySamples returns programs that pay for a request with the official SDKs and print the answer. Each pays at most the
// amount of the offer, and only on its network: a price or a maximum that rose is refused before anything is signed. A
// tool is called by the official SDK of MCP, in JavaScript only. A program whose input is incomplete says so and stops.
func PaySamples(r Request, o Offer) []Sample {
	v := values{Request: r, Offer: o, EVM: o.isEVM(), First: o.isFirstVersion()}
	if r.Tool != "" {
		return []Sample{{"JavaScript", v.execute(toolJavaScript), v.execute(toolSetup)}}
	}
	return []Sample{
		{"JavaScript", v.execute(javaScript), v.execute(javaScriptSetup)},
		{"Python", v.execute(python), v.execute(pythonSetup)},
		{"Go", v.execute(golang), "go mod init call && go mod tidy"},
	}
}

// values are what a template of a program contains. All of it has passed NewRequest or FindOffer.
type values struct {
	Request
	Offer
	EVM, First bool
}

func (v values) execute(t *template.Template) string {
	var b strings.Builder
	if err := t.Execute(&b, v); err != nil {
		panic(fmt.Sprintf("write sample: %v", err)) // the templates are constants
	}
	return b.String()
}

func parse(text string) *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"quote": strconv.QuoteToASCII, // a string of Go and of Python
	}).Parse(text))
}

// guardJavaScript stops a program whose input is incomplete, before it imports anything.
const guardJavaScript = `{{with .Guard}}throw new Error("{{.}}");

{{end}}`

// fetchOptions is the second argument of fetch.
const fetchOptions = `{{if .Body}}{
  method: "{{.Method}}",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({{.Body}}),
}{{else}}{ method: "{{.Method}}" }{{end}}`

const schemeSetup = "{{if .EVM}}@x402/evm viem{{else}}@x402/svm @solana/kit @scure/base{{end}}"

var javaScriptSetup = parse("npm install @x402/fetch " + schemeSetup)

// clientJavaScript makes a client that pays the offer and no other.
const clientJavaScript = `
{{- if .EVM}}
{{- if .IsMaximum}}
import { UptoEvmScheme } from "@x402/evm/upto/client";
{{- else if .First}}
import { ExactEvmSchemeV1 } from "@x402/evm/exact/v1/client";
{{- else}}
import { registerExactEvmScheme } from "@x402/evm/exact/client";
{{- end}}
import { privateKeyToAccount } from "viem/accounts";

const signer = privateKeyToAccount(process.env.KEY);
{{- if .IsMaximum}}
const client = new x402Client().register("{{.Network}}", new UptoEvmScheme(signer));
{{- else if .First}}
const client = new x402Client().registerV1("{{.Name}}", new ExactEvmSchemeV1(signer));
{{- else}}
const client = registerExactEvmScheme(new x402Client(), { signer, networks: ["{{.Network}}"] });
{{- end}}
{{- else}}
{{- if .First}}
import { ExactSvmSchemeV1 } from "@x402/svm/exact/v1/client";
{{- else}}
import { registerExactSvmScheme } from "@x402/svm/exact/client";
{{- end}}
import { createKeyPairSignerFromBytes } from "@solana/kit";
import { base58 } from "@scure/base";

const signer = await createKeyPairSignerFromBytes(base58.decode(process.env.KEY));
{{- if .First}}
const client = new x402Client().registerV1("{{.Name}}", new ExactSvmSchemeV1(signer));
{{- else}}
const client = registerExactSvmScheme(new x402Client(), { signer, networks: ["{{.Network}}"] });
{{- end}}
{{- end}}
// Pays at most this price, in this token.
client.setSpendControls({
  maxAmountPerPayment: "$0",
  allowedAssets: [{
    network: "{{.Name}}",
    asset: "{{.Asset}}",
    maxAmountPerPayment: "{{.Amount}}",
  }],
});
`

var javaScript = parse(guardJavaScript + `import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
` + clientJavaScript + `const pay = wrapFetchWithPayment(fetch, client);

const answer = await pay("{{.URL}}"{{if or .Body (ne .Method "GET")}}, ` + fetchOptions + `{{end}});
console.log(answer.status, await answer.text());
`)

var toolSetup = parse("npm install @modelcontextprotocol/sdk @x402/core " + schemeSetup)

// The terms are in the result of the call, as an object or as text, or in the error of older servers.
var toolJavaScript = parse(guardJavaScript + `import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { x402Client } from "@x402/core/client";
` + clientJavaScript + `
const mcp = new Client({ name: "call", version: "1.0.0" });
await mcp.connect(new StreamableHTTPClientTransport(new URL("{{.URL}}")));
const call = { name: "{{.Tool}}", arguments: {{.Body}} };
let answer = await mcp.callTool(call).catch((error) => ({ isError: true, structuredContent: error.data }));
if (answer.isError) {
  const terms = answer.structuredContent ?? JSON.parse(answer.content[0].text);
  const payment = await client.createPaymentPayload(terms);
  answer = await mcp.callTool({ ...call, _meta: { "x402/payment": payment } });
}
console.log(JSON.stringify(answer.content));
await mcp.close();
process.exit(); // a stream of the server may still be open
`)

var pythonSetup = parse(`pip install "x402[requests,{{if .EVM}}evm{{else}}svm{{end}}]"`)

var python = parse(`{{with .Guard}}raise SystemExit("{{.}}")

{{end}}import os

from x402 import x402ClientSync
from x402.http.clients import x402_requests
{{- if .EVM}}
from eth_account import Account
from x402.mechanisms.evm import EthAccountSigner
{{- if .IsMaximum}}
from x402.mechanisms.evm.upto import UptoEvmScheme
{{- else}}
from x402.mechanisms.evm.exact.register import register_exact_evm_client
{{- end}}


def affordable(version, offers):
    """Pays at most this price, in this token."""
    asset, limit = "{{.Asset}}", {{.Amount}}
    return [o for o in offers if o.asset == asset and int(o.get_amount()) <= limit]


signer = EthAccountSigner(Account.from_key(os.environ["KEY"]))
{{- if .IsMaximum}}
client = x402ClientSync()
client.register("{{.Network}}", UptoEvmScheme(signer))
client.register_policy(affordable)
{{- else}}
client = register_exact_evm_client(
    x402ClientSync(),
    signer,
    networks="{{.Network}}",
    policies=[affordable],
)
{{- end}}
{{- else}}
from x402.mechanisms.svm import KeypairSigner
from x402.mechanisms.svm.exact.register import register_exact_svm_client


def affordable(version, offers):
    """Pays at most this price, in this token."""
    asset, limit = "{{.Asset}}", {{.Amount}}
    return [o for o in offers if o.asset == asset and int(o.get_amount()) <= limit]


signer = KeypairSigner.from_base58(os.environ["KEY"])
client = register_exact_svm_client(
    x402ClientSync(),
    signer,
    networks="{{.Network}}",
    policies=[affordable],
)
{{- end}}

with x402_requests(client) as session:
    answer = session.request(
        "{{.Method}}",
        "{{.URL}}",
{{- if .Body}}
        headers={"content-type": "application/json"},
        data={{quote .Body}}.encode(),
{{- end}}
    )
    print(answer.status_code, answer.text)
`)

var golang = parse(`package main

import (
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"os"
	"slices"
{{- if .Body}}
	"strings"
{{- end}}

	x402 "github.com/x402-foundation/x402/go/v2"
	x402http "github.com/x402-foundation/x402/go/v2/http"
{{- if .IsMaximum}}
	upto "github.com/x402-foundation/x402/go/v2/mechanisms/evm/upto/client"
	signers "github.com/x402-foundation/x402/go/v2/signers/evm"
{{- else if .EVM}}
	exact "github.com/x402-foundation/x402/go/v2/mechanisms/evm/exact/{{if .First}}v1/{{end}}client"
	signers "github.com/x402-foundation/x402/go/v2/signers/evm"
{{- else}}
	exact "github.com/x402-foundation/x402/go/v2/mechanisms/svm/exact/{{if .First}}v1/{{end}}client"
	signers "github.com/x402-foundation/x402/go/v2/signers/svm"
{{- end}}
)

func main() {
{{- with .Guard}}
	log.Fatal("{{.}}")
{{- end}}
	signer, err := signers.NewClientSignerFromPrivateKey(os.Getenv("KEY"))
	if err != nil {
		log.Fatal(err)
	}
	client := x402.Newx402Client()
{{- if .IsMaximum}}
	client.Register("{{.Name}}", upto.NewUptoEvmScheme(signer, nil))
{{- else if and .EVM .First}}
	client.RegisterV1("{{.Name}}", exact.NewExactEvmSchemeV1(signer))
{{- else if .EVM}}
	client.Register("{{.Name}}", exact.NewExactEvmScheme(signer, nil))
{{- else if .First}}
	client.RegisterV1("{{.Name}}", exact.NewExactSvmSchemeV1(signer))
{{- else}}
	client.Register("{{.Name}}", exact.NewExactSvmScheme(signer))
{{- end}}
	// Pays at most this price, in this token.
	limit, _ := new(big.Int).SetString("{{.Amount}}", 10)
	client.RegisterPolicy(func(offers []x402.PaymentRequirementsView) []x402.PaymentRequirementsView {
		return slices.DeleteFunc(offers, func(o x402.PaymentRequirementsView) bool {
			amount, ok := new(big.Int).SetString(o.GetAmount(), 10)
			return !ok || amount.Cmp(limit) > 0 || o.GetAsset() != "{{.Asset}}"
		})
	})
	pay := x402http.WrapHTTPClientWithPayment(http.DefaultClient, x402http.Newx402HTTPClient(client))

{{if .Body}}	body := strings.NewReader({{quote .Body}})
{{end}}	request, err := http.NewRequest("{{.Method}}", "{{.URL}}", {{if .Body}}body{{else}}nil{{end}})
	if err != nil {
		log.Fatal(err)
	}
{{- if .Body}}
	request.Header.Set("Content-Type", "application/json")
{{- end}}
	answer, err := pay.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.StatusCode, string(text))
}
`)
