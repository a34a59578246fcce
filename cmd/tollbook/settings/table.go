// Package settings is the one table of what an operator configures, and reads it: from flags, variables and the
// configuration file. Key name of section [section] is the flag --section-name and the variable TOLLBOOK_SECTION_NAME.
// The first keys have no section: data is the flag --data and the variable TOLLBOOK_DATA.
// It must never know what a command does with a setting.
package settings

import (
	"strings"
	"time"

	"tollbook/site"
)

// Setting is a row of the table.
type Setting struct {
	Key     string // section.name, or a name without a section
	Default any    // a string, int, bool, time.Duration or []string, which is the type of the setting
	Meaning string // one line; the word in backquotes names the value
	IsPath  bool   // in the configuration file, relative to the file's folder
	// Advanced says that few operators need the setting: the page lists it apart, and no --help.
	Advanced bool
	// IsCommand says that the value is a program and its arguments. Arguments may be secrets and are never shown; a
	// program with a slash is a path, as above.
	IsCommand bool
}

// Flag returns the name of the flag, without its dashes.
func (s Setting) Flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(s.Key) }

// Variable returns the name of the environment variable.
func (s Setting) Variable() string {
	return "TOLLBOOK_" + strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_"))
}

// split returns the section of the key, "" for none, and the name in it.
func (s Setting) split() (section, name string) {
	section, name, ok := strings.Cut(s.Key, ".")
	if !ok {
		return "", s.Key
	}
	return section, name
}

// Default values that commands compare with.
const (
	DefaultBaseURL = "http://127.0.0.1:4020"
	DefaultListen  = "127.0.0.1:4020"
	// DefaultRateLimit is the number of requests a minute that a client may send.
	DefaultRateLimit = 200
)

// Table contains all settings, in the order of the documentation.
var Table = []Setting{
	{Key: "data", Default: "tollbook-data", IsPath: true,
		Meaning: "`folder` of this directory: its private Postgres and, in public, what is published"},
	{Key: "directory", Default: "",
		Meaning: "`URL` of the directory that find, best, show and check read; by default what is published in --data"},
	{Key: "fetch_postgres", Default: false,
		Meaning: "download PostgreSQL for the private Postgres if this machine has none, without a question; " +
			"by default a terminal is asked"},

	{Key: "site.title", Default: "Tollbook", Meaning: "`name` of the directory on its pages"},
	{Key: "site.base_url", Default: DefaultBaseURL,
		Meaning: "`URL` at which readers find the directory"},
	{Key: "site.contact", Default: "",
		Meaning: "e-mail address or `URL` for questions, on pages and in security.txt"},
	{Key: "site.description", Default: "",
		Meaning: "the directory in one `sentence`, for search engines and shared links"},
	{Key: "site.colours", Default: []string{},
		Meaning: "`token=#rrggbb` colours of the stylesheet, such as link=#7a1f5c or dark.link=#ff9ad5; " +
			"colours with too little contrast are rejected"},
	{Key: "site.explorers", Default: []string{},
		Meaning: "`CAIP2=URL` of an account's page at a block explorer, such as " +
			"eip155:8453=https://explorer.example/address/{address}; CAIP2= links no account; " +
			"by default explorers of EVM chains, Solana and Stellar"},
	{Key: "site.footer", Default: "", Meaning: "footer of each page, in `Markdown`"},
	{Key: "site.pages", Default: "", IsPath: true,
		Meaning: "`folder` of pages in Markdown: imprint.md becomes /pages/imprint.html, linked from each page"},
	{Key: "site.templates", Default: "", IsPath: true,
		Meaning: "`folder` of files that replace Tollbook's of the same name: home.html, site.css, pages/about.md"},

	{Key: "crawl.host_gap", Default: time.Second,
		Meaning: "shortest `time` between two requests to a host"},
	{Key: "crawl.workers", Default: 32, Meaning: "`number` of services visited at the same time"},
	{Key: "crawl.contact", Default: "",
		Meaning: "`URL` or e-mail address for questions, in the user agent of each request to a service; without one " +
			"crawl, up and work refuse to visit hosts of others"},
	{Key: "crawl.key", Default: "", IsPath: true,
		Meaning: "`file` of the key that signs each request to a service (Web Bot Auth), so that services can recognise " +
			"this crawler; tollbook key new makes one; without it requests are not signed"},
	{Key: "crawl.control", Default: []string{},
		Meaning: "`HOST:PORT` that accepts connections whenever this machine's network works; while none does, services " +
			"that are not reached are not charged; without this, the network counts as failed when several unrelated " +
			"hosts that answered before fail together"},
	{Key: "crawl.vantage", Default: "",
		Meaning: "`name` of the place from which this program visits services, such as fra1, where programs in several " +
			"places share a database; checks show it, and what one place alone finds is confirmed by others"},
	{Key: "crawl.allow_private", Default: []string{},
		Meaning: "`HOST[:PORT]` on a private network that may be visited all the same; for tests"},
	{Key: "crawl.free_hosts", Default: []string{}, IsPath: true,
		Meaning: "`file` with more free-hosting domains, one a line; use the same file for crawl, build and serve"},

	{Key: "services.file", Default: "", IsPath: true,
		Meaning: "`file` of services, such as services.toml, that up applies at each start; none by default"},
	{Key: "services.prune", Default: false,
		Meaning: "let up retire services of an earlier file that services.file lacks"},

	{Key: "serve.listen", Default: DefaultListen, Meaning: "`address` on which readers are served"},
	{Key: "serve.rate_limit", Default: DefaultRateLimit, Advanced: true,
		Meaning: "API `requests` a minute that one client may send (/v1, /api/v1, /discovery); 0 for no limit"},
	{Key: "serve.trusted_proxies", Default: []string{},
		Meaning: "`networks` (CIDR) of proxies whose X-Forwarded-For or Forwarded header names the client"},
	{Key: "serve.metrics", Default: "",
		Meaning: "`address` for /metrics (Prometheus), /healthz and /readyz; none by default"},
	{Key: "serve.empty_searches", Default: false,
		Meaning: "count the texts of searches that find nothing, in memory and without who searched; " +
			"/empty-searches at the address of serve.metrics lists those that came three times"},
	{Key: "serve.submissions", Default: false,
		Meaning: "receive submissions of services, suggestions and requests for re-checks; needs the database"},
	{Key: "serve.max_pending", Default: site.MaxPending, Advanced: true,
		Meaning: "`number` of submissions that may wait for review, and of open suggestions, before more are " +
			"refused; 0 for no limit"},
	{Key: "serve.max_connections", Default: 4096, Advanced: true,
		Meaning: "`number` of open connections; over it, the one that has waited longest for its client is closed; " +
			"0 for no limit"},
	{Key: "serve.max_client_connections", Default: 256, Advanced: true,
		Meaning: "the same for the connections of one client; does not count trusted proxies; 0 for no limit"},
	{Key: "serve.sending_memory", Default: 32, Advanced: true,
		Meaning: "`MB` of memory for responses that clients have not accepted yet; 0 for no limit"},
	{Key: "serve.min_rate", Default: 4, Advanced: true,
		Meaning: "`KB` a second that a client must accept of a response on average; 0 for no limit"},
	{Key: "serve.send_timeout", Default: 30 * time.Second, Advanced: true,
		Meaning: "longest `time` in which a client accepts nothing of a response"},

	{Key: "submissions.notify", Default: []string{}, IsCommand: true,
		Meaning: "`program` and its arguments, run when submissions or suggestions arrive, with those as JSON on " +
			"stdin; in serve and up"},

	{Key: "publish.to", Default: "",
		Meaning: "`place` to publish to beside <data>/public: s3://bucket/prefix, or a folder"},
	{Key: "publish.keep_daily", Default: 365,
		Meaning: "`number` of days of which one snapshot each is kept"},
	{Key: "publish.keep_size", Default: 0,
		Meaning: "`MB` of snapshots and packs in a place, above which old snapshots are deleted; 0 for any size"},
	{Key: "publish.key", Default: "",
		Meaning: "`file` of the key that signs checkpoints; tollbook key new makes one"},

	{Key: "schedule.build", Default: 15 * time.Minute,
		Meaning: "`time` from one build to the next, for which readers may cache a response"},
	{Key: "schedule.publish", Default: time.Duration(0),
		Meaning: "shortest `time` from one publication to the next; 0 to publish each build"},
	{Key: "schedule.index", Default: time.Minute, Meaning: "`time` from one read of each chain to the next"},
	{Key: "schedule.facilitators", Default: 15 * time.Minute,
		Meaning: "`time` from one question to a facilitator, what it settles, to the next; 0 asks none"},
	{Key: "schedule.retention", Default: time.Hour, Meaning: "`time` from one deletion of old data to the next"},

	{Key: "log.level", Default: "",
		Meaning: "`level` from which lines are logged to stderr: debug, info, warn or error; by default info, and warn " +
			"for the steps of single commands"},
	{Key: "log.format", Default: "text", Meaning: "`form` of these lines: text or json"},

	{Key: "synthesis.base_url", Default: "",
		Meaning: "`URL` of an OpenAI-compatible API (https://…/v1) that summarises services; none by default"},
	{Key: "synthesis.model", Default: "", Meaning: "`name` of the model; its key is read from OPENAI_API_KEY"},
	{Key: "synthesis.per_day", Default: 200, Meaning: "`number` of requests to the model in a UTC day, at most"},
}

// NetworkTable contains the keys of [[network]] and [[network.token]], which exist in the configuration file only.
var NetworkTable = []Setting{
	{Key: "network.caip2", Default: "", Meaning: "CAIP-2 id of the network, such as eip155:8453"},
	{Key: "network.rpc", Default: []string{},
		Meaning: "URLs of its JSON-RPC nodes, or Horizon servers of Stellar; if one fails, the next is asked"},
	{Key: "network.confirmations", Default: 0,
		Meaning: "blocks below the newest that count as final; 0 for the block that the node calls finalized"},
	{Key: "network.start", Default: "", Meaning: "day such as 2025-10-01 before which no settlement is looked for"},
	{Key: "network.token.address", Default: "",
		Meaning: "address of a token to measure; without a [[network.token]] that is USDC"},
	{Key: "network.token.symbol", Default: "", Meaning: "name of the token, 1 to 32 characters"},
	{Key: "network.token.decimals", Default: 0, Meaning: "one token is 10 to this power in atomic units"},
	{Key: "network.token.usd", Default: false, Meaning: "one token counts as one US dollar in volumes"},
}

// SourceTable contains the keys of [[source]], which exist in the configuration file only.
var SourceTable = []Setting{
	{Key: "source.name", Default: "",
		Meaning: "name of the source, in a-z, 0-9 and hyphens; the name of a source that comes with Tollbook " +
			"changes that one"},
	{Key: "source.kind", Default: "",
		Meaning: "how its answers are read: " + strings.Join(sourceKinds(), ", ")},
	{Key: "source.address", Default: "", Meaning: "URL of its first page"},
	{Key: "source.period", Default: defaultPeriod,
		Meaning: "time from one pull to the next, at least 10m; 6h by default"},
	{Key: "source.take", Default: defaultTake,
		Meaning: "which of its resources are listed as services: all; answering, only of hosts that ask to be paid " +
			"when they are asked, which is the default; or none"},
	{Key: "source.trust", Default: true,
		Meaning: "whether its names and descriptions describe new services; " +
			"if false, services are named by their host"},
	{Key: "source.enabled", Default: true,
		Meaning: "whether it is read; tollbook sources enable and disable win over it"},
}

// Variable is an environment variable that has no key and no flag.
type Variable struct {
	Name    string
	Meaning string
	shown   bool                // by the command config
	show    func(string) string // returns the part of the value that is no secret; nil for none of it
}

// Of returns the setting of a key. It panics if there is none.
func Of(key string) Setting {
	for _, s := range Table {
		if s.Key == key {
			return s
		}
	}
	panic("no setting " + key)
}
