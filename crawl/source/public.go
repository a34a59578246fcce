package source

import "time"

// Public is a source that everyone may read without a key. SOURCES.md says where its address is documented.
type Public struct {
	Name    string
	Kind    string
	Address string
	Period  time.Duration // between two readings
}

const (
	often = 6 * time.Hour
	daily = 24 * time.Hour // lists that people edit
)

// PublicSources returns the sources that come with Tollbook, by name. None is read until an operator enables it.
func PublicSources() []Public {
	return []Public{
		{"402index", "402index", "https://402index.io/api/v1/services", often},
		{"anyspend", "x402-discovery", "https://mainnet.anyspend.com/x402/discovery/resources", often},
		{"aurracloud", "x402-discovery", "https://x402-facilitator.aurracloud.com/discovery/resources", often},
		{"awesome-x402", "markdown-list", "https://raw.githubusercontent.com/xpaysh/awesome-x402/main/README.md",
			daily},
		{"b402", "b402", "https://www.binance.com/bapi/ramp/v1/public/ramp/b402/bazaar/resources", often},
		{"bitrefill", "x402-discovery", "https://api.bitrefill.com/x402/discovery/resources", often},
		{"cdp", "x402-discovery", "https://api.cdp.coinbase.com/platform/v2/x402/discovery/resources", often},
		{"dexter", "x402-discovery", "https://x402.dexter.cash/discovery/resources", often},
		{"fluxa", "x402-discovery", "https://facilitator.fluxapay.xyz/discovery/resources", often},
		{"gold-402", "markdown-list", "https://raw.githubusercontent.com/Haustorium12/gold-402/main/directory/apis.md",
			daily},
		{"l402-directory", "l402-directory", "https://l402.directory/api/services?status=all", often},
		{"l402apps", "l402apps", "https://www.l402apps.com/", daily},
		{"mpp-dev", "mpp-services", "https://mpp.dev/api/services", often},
		{"mppscan", "mppscan", "https://www.mppscan.com/api/trpc/servers.list", often},
		{"payai", "x402-discovery", "https://facilitator.payai.network/discovery/resources", often},
		{"questflow", "x402-discovery", "https://facilitator.questflow.ai/discovery/resources", often},
		{"relai", "x402-discovery", "https://facilitator.x402.fi/discovery/resources", often},
		{"satring", "satring", "https://satring.com/api/v1/services", daily},
		{"ultravioletadao", "x402-discovery", "https://facilitator.ultravioletadao.xyz/discovery/resources", often},
		{"x402scan", "x402scan", "https://www.x402scan.com/api/trpc/public.resources.list.paginated", daily},
	}
}
