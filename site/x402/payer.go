package x402

import "slices"

// The clients that TestClients in site/rail runs, by the names of their packages.
const (
	ClientFirst     = "x402-fetch"
	ClientSecond    = "@x402/fetch"
	ClientMPP       = "mppx"
	ClientSolanaMPP = "@solana/mpp"
	ClientLightning = "@getalby/lightning-tools"
)

// Clients are these clients, in the order in which they are published.
var Clients = []string{ClientFirst, ClientSecond, ClientMPP, ClientSolanaMPP, ClientLightning}

// Payers says who can pay by one option. It contains no judgment of the seller.
type Payers struct {
	Clients      []string    // of Clients, in its order; nil if unknown, empty if none of them pays
	SmartWallets *bool       // whether a wallet that is a contract can pay (EIP-1271, EIP-6492); nil if unknown
	Conditions   []Condition // what a buyer needs first
}

// clientKinds are the schemes for which @x402/fetch 2.27 signs by its packages @x402/evm, @x402/svm, @x402/stellar and
// @x402/avm, each with the namespaces of its networks.
var clientKinds = map[string][]string{
	"exact":            {"algorand", "eip155", "solana", "stellar"},
	"upto":             {"eip155", "solana"},
	"batch-settlement": {"eip155"},
	"auth-capture":     {"eip155"},
}

// nodeHeaders is the most that Node.js reads of a response's headers, in bytes, without --max-http-header-size.
const nodeHeaders = 16 << 10

// PayersOf returns for each row of a captured envelope who can pay by it. It has the length of UnsignableRows. A row
// that standard clients cannot pay has no clients. Which clients pay for tools of MCP servers is unknown.
func PayersOf(e Evidence) []Payers {
	reasons := UnsignableRows(e)
	if len(reasons) == 0 {
		return nil
	}
	x := &examine([]Evidence{e})[0]
	list := make([]Payers, len(reasons))
	for i := range x.rows {
		r := &x.rows[i]
		p := &list[i]
		p.SmartWallets = r.smartWallets()
		p.Conditions = x.Captured.Envelope.Conditions(i)
		if sponsored(x.top) {
			p.Conditions = slices.DeleteFunc(p.Conditions, func(c Condition) bool { return c.Code == NeedApproval })
		}
		switch {
		case reasons[i] != "":
			p.Clients = []string{}
		case x.Captured.Envelope.Channel != ChannelMCP:
			p.Clients = clientsOf(x, r)
		}
	}
	return list
}

// clientsOf returns which clients pay by a row that can be paid.
func clientsOf(x *exhibit, r *exhibitRow) []string {
	pays := []string{}
	if r.NeedsGateway() {
		return pays // they sign under the token's address, and Circle Gateway asks for its own
	}
	env := x.Captured.Envelope
	if paysFirst(x, r) {
		pays = append(pays, ClientFirst)
	}
	inBody := env.Channel == ChannelBody
	fits := inBody || len(env.Raw)*4/3 < nodeHeaders
	if r.version == 1 {
		if !slices.ContainsFunc(x.Captured.Defects, func(d Defect) bool { return d.Code == headerUndecodable }) &&
			!slices.ContainsFunc(x.Captured.Others, func(e Envelope) bool { return e.Channel == ChannelHeader }) && fits {
			pays = append(pays, ClientSecond)
		}
		return pays
	}
	if !fits {
		return pays
	}
	if slices.Contains(clientKinds[r.Scheme], AddressNamespace(r.NetworkCAIP2)) {
		pays = append(pays, ClientSecond)
	}
	if paysMPP(x, r) {
		pays = append(pays, ClientMPP)
	}
	if r.extra.text("paymentMethod") == "lightning" && r.extra.text("invoice") != "" {
		pays = append(pays, ClientLightning)
	}
	return pays
}

// paysFirst reports whether the client of version 1 pays what a row asks. It reads the body alone, and there the same
// offer may stand in the form of version 1. One row that it does not know makes it refuse all.
func paysFirst(x *exhibit, r *exhibitRow) bool {
	for _, e := range append([]Envelope{*x.Captured.Envelope}, x.Captured.Others...) {
		isOther := func(own Requirement) bool {
			return own.Scheme != "exact" || !slices.Contains(clientNetworks, own.Network)
		}
		if e.Channel == ChannelBody && e.Decode == "json" && e.Version == 1 && len(schemaFaults(&e)) == 0 &&
			!slices.ContainsFunc(e.Accepts, isOther) && slices.ContainsFunc(e.Accepts, func(own Requirement) bool {
			return own.SameOffer(r.Requirement)
		}) {
			return true
		}
	}
	return false
}

// paysMPP reports whether mppx pays by a row of version 2: it signs EIP-3009 under the domain that extra names, and
// asks for the description of the resource.
func paysMPP(x *exhibit, r *exhibitRow) bool {
	method := r.extra.text("assetTransferMethod")
	return r.Scheme == "exact" && AddressNamespace(r.NetworkCAIP2) == "eip155" && (method == "" || method == "eip3009") &&
		r.extra.text("name") != "" && r.extra.text("version") != "" && isObject(x.top.get("resource")) &&
		isString(r.members.get("amount"))
}

// sponsored reports whether an envelope declares that the facilitator sends the approval of Permit2 itself.
func sponsored(top object) bool {
	extensions := top.child("extensions")
	return extensions.get("eip2612GasSponsoring") != nil || extensions.get("erc20ApprovalGasSponsoring") != nil
}

// circleNative are the networks on which Circle itself issues USDC as FiatToken 2.2, which accepts signatures of
// contracts. Source: github.com/circlefin/stablecoin-evm, release 2.2.0, and Circle's list of contract addresses.
var circleNative = []string{"eip155:1", "eip155:10", "eip155:137", "eip155:42161", "eip155:43114", "eip155:8453"}

// smartWallets reports whether a wallet that is a contract can pay by a row, nil if that is unknown. Circle Gateway
// takes signatures of plain keys alone. Permit2 asks a contract whether a signature is its own (EIP-1271), and so does USDC
// where Circle issues it.
func (r *exhibitRow) smartWallets() *bool {
	method := r.extra.text("assetTransferMethod")
	if AddressNamespace(r.NetworkCAIP2) != "eip155" {
		return nil
	}
	switch asset, isListed := r.assetOf(); {
	case r.NeedsGateway():
		return new(false)
	case method == "permit2" && r.Scheme == "exact", r.Scheme == "upto":
		return new(true)
	case r.Scheme == "exact" && method == "" && isListed && asset.Symbol == "USDC" &&
		slices.Contains(circleNative, r.NetworkCAIP2):
		return new(true)
	}
	return nil
}
