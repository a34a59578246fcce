package main

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commands returns c and all commands below it.
func commands(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		list = append(list, commands(sub)...)
	}
	return list
}

// TestEveryCommandExplainsItself checks that each command has a short and a long help, an example, and flags with a
// meaning.
func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	list := commands(newRootCommand())
	if len(list) < 8 {
		t.Fatalf("there are %d commands", len(list))
	}
	for _, c := range list {
		_, status, ok := strings.Cut(c.Long, "\n\nEXIT STATUS\n\n")
		if !ok || !strings.Contains(status, "0 ") {
			t.Errorf("%s: its help has no section EXIT STATUS at its end:\n%s", c.CommandPath(), c.Long)
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: the line that says what it does is %q", c.CommandPath(), c.Short)
		}
		if !c.HasSubCommands() && c.Example == "" {
			t.Errorf("%s: its help has no example", c.CommandPath())
		}
		if c.Args == nil || c.RunE == nil {
			t.Errorf("%s: it does not say which arguments it takes, or does nothing", c.CommandPath())
		}
		for _, line := range strings.Split(c.Long, "\n") {
			if utf8.RuneCountInString(line) > 120 {
				t.Errorf("%s: a line of its help has %d characters: %s", c.CommandPath(), len(line), line)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: --%s says nothing of itself", c.CommandPath(), f.Name)
			}
		})
	}
}

// TestHelpShowsFewFlags checks that the help of commands with many flags shows twelve, the limits of connections in none,
// and says where the others are.
func TestHelpShowsFewFlags(t *testing.T) {
	t.Parallel()
	flag := regexp.MustCompile(`(?m)^ +(?:-\w, | {4})--([a-z0-9-]+)`)
	for _, c := range commands(newRootCommand()) {
		path := strings.Fields(c.CommandPath())[1:]
		code, help, stderr := tollbook(t, nil, append(path, "--help")...)
		if code != 0 {
			t.Fatalf("%s --help: exit %d, %s", c.CommandPath(), code, stderr)
		}
		own, _, _ := strings.Cut(help, "\nGlobal Flags:")
		shown := map[string]bool{}
		for _, m := range flag.FindAllStringSubmatch(own, -1) {
			shown[m[1]] = true
		}
		if name := c.Name(); (name == "up" || name == "work") && len(shown) != 12 {
			t.Errorf("%s --help shows %d flags, want 12", name, len(shown))
		}
		for _, name := range []string{"serve-rate-limit", "serve-max-pending", "serve-max-connections",
			"serve-max-client-connections", "serve-sending-memory", "serve-min-rate", "serve-send-timeout"} {
			if shown[name] {
				t.Errorf("%s --help shows --%s, which is advanced", c.CommandPath(), name)
			}
		}
		hidden := 0
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if !shown[f.Name] && !f.Hidden && f.Name != "help" {
				hidden++
			}
		})
		if note := strings.Contains(help, `more settings are flags, too. "tollbook config" prints every setting`); note != (hidden > 0) {
			t.Errorf("%s --help hides %d flags; it says where they are: %v\n%s", c.CommandPath(), hidden, note, help)
		}
	}
}

// TestNoOldFlags checks that each flag of a setting has its key's name, that no command knows a name from before the
// first release, and that no document, unit or printed configuration gives a command a flag that it does not have.
func TestNoOldFlags(t *testing.T) {
	t.Parallel()
	old := []string{"title", "base-url", "colours", "footer", "pages", "templates", "host-gap", "workers", "contact",
		"allow-private", "free-hosts", "submissions", "max-pending", "signing-key"}
	flags := map[string]map[string]bool{} // by command
	for _, c := range commands(newRootCommand()) {
		known := map[string]bool{}
		c.InitDefaultHelpFlag()
		c.InitDefaultVersionFlag()
		c.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
		c.InheritedFlags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
		flags[c.CommandPath()] = known
		for _, name := range old {
			if known[name] {
				t.Errorf("%s has the old flag --%s", c.CommandPath(), name)
			}
		}
	}
	use := regexp.MustCompile(`tollbook((?: +[a-z]+\b)+)((?:[^\n` + "`" + `|;"&]|\\\n)*)`)
	flag := regexp.MustCompile(`(?:^| )--([a-z][a-z0-9-]*)`)
	uses := 0
	for _, folder := range []string{"README.md", "ARCHITECTURE.md", ".github", ".ci", "templates/pages", "cmd/tollbook/packaging",
		"site/serve/edge"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(file, ".go") || strings.HasSuffix(file, ".json") {
				return err
			}
			for _, m := range use.FindAllStringSubmatch(readFile(t, file), -1) {
				command := "tollbook"
				for _, word := range strings.Fields(m[1]) {
					if flags[command+" "+word] == nil {
						break
					}
					command += " " + word
				}
				for _, f := range flag.FindAllStringSubmatch(m[2], -1) {
					if uses++; !flags[command][f[1]] {
						t.Errorf("%s: %s has no flag --%s: %s", file, command, f[1], m[0])
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if uses < 60 {
		t.Errorf("the documents have %d uses of flags; are they read?", uses)
	}
}

// TestVersion checks that a program that was built without a record of its commit, as a test is, says so.
func TestVersion(t *testing.T) {
	t.Parallel()
	code, stdout, _ := tollbook(t, nil, "--version")
	if want := "tollbook version devel, commit not recorded (go build in a clone records it), go"; code != 0 ||
		!strings.HasPrefix(stdout, want) {
		t.Errorf("exit %d: %s, want %s", code, stdout, want)
	}
}

// TestCommandLineErrors checks that an invalid command line ends with exit status 2 and one line that names the fault.
// Nothing is started.
func TestCommandLineErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"--frob", "unknown flag: --frob; see tollbook --help"},
		{"frob", `unknown command "frob" for tollbook; see tollbook --help`},
		{"biuld", `unknown command "biuld" for tollbook; did you mean build?`},
		{"services frob", `unknown command "frob" for tollbook services; see tollbook services --help`},
		{"services import", "FILE is missing; see tollbook services import --help"},
		{"services import a b", `unexpected argument "b"; see tollbook services import --help`},
		{"services list all", `unexpected argument "all"; see tollbook services list --help`},
		{"demo now", `unexpected argument "now"; see tollbook demo --help`},
		{"demo --interval soon",
			`invalid argument "soon" for "--interval" flag: give a duration such as 90s, 15m or 1h30m; see`},
		{"crawl --crawl-workers many", `invalid argument "many" for "--crawl-workers" flag: give a whole number; see`},
		{"serve --serve-submissions=maybe", `flag: give true or false; see`},
		{"serve --from https://name:s3cret@directory.example", "give a folder, or s3://bucket/prefix"},
		{"mcp --from ftp://directory.example",
			`--from "ftp://directory.example": give a folder, or s3://bucket/prefix`},
		{"demo --interval 10ms", "--interval 10ms: use 1s or more"},
		{"demo --interval -1s", "--interval -1s: use 1s or more"},
		{"demo --listen 4020", `--listen "4020": missing port in address`},
		{"serve --serve-listen 127.0.0.1:99999", `--serve-listen "127.0.0.1:99999": invalid port`},
		{"serve --serve-empty-searches", "--serve-empty-searches: give --serve-metrics, too; its address lists them"},
		{"serve --serve-rate-limit -1", "--serve-rate-limit -1: use 0, for no limit, or more"},
		{"demo --rate-limit -1", "--rate-limit -1: use 0, for no limit, or more"},
		{"serve --serve-trusted-proxies 10.0.0.0/8,proxy",
			`--serve-trusted-proxies "proxy": give networks such as 10.0.0.0/8`},
		{"serve --serve-metrics 9402", `--serve-metrics "9402": missing port in address`},
		{"up --title Acme", "unknown flag: --title; did you mean --site-title?"},
		{"up --site-titel Acme", "unknown flag: --site-titel; did you mean --site-title?"},
		{"serve --once", "unknown flag: --once; see tollbook serve --help"},
		{"submissions list --state new", `--state "new": use pending, approved, rejected or all`},
		{"submissions show 7", `"7" is no id of a submission; tollbook submissions list shows the ids`},
		{"submissions reject 7", "--reason is missing; the submitter reads it"},
		{"services import ftp://x.example/a.json", `"ftp://x.example/a.json": give a file, or a URL`},
		{"submissions forget acme", `"acme" is no e-mail address`},
		{"submissions approve", "approve needs either IDs, or --grade or --verified; tollbook submissions list shows"},
		{"services verify", "SLUG is missing; see tollbook services verify --help"},
		{"mcp --http --listen 0.0.0.0:4021",
			"--listen 0.0.0.0:4021: other machines can reach this address; add --hosts with the names that " +
				"clients use"},
		{"mcp --http --listen :4021", "--listen :4021: other machines can reach this address"},
		{"mcp --http --listen 4021", `--listen "4021": missing port in address`},
		{"mcp --memory 1", "--memory 1: use 16 MB or more"},
		{"mcp --http --rate-limit -1", "--rate-limit -1: use 0, for no limit, or more"},
		{"mcp --http --trusted-proxies proxy", `--trusted-proxies "proxy": give networks`},
		{"crawl --once --crawl-allow-private http://x", `allow private "http://x": want HOST or HOST:PORT`},
		{"crawl --once --crawl-allow-private 127.0.0.1:0:1", `allow private "127.0.0.1:0:1": want HOST or HOST:PORT`},
		{"crawl --crawl-workers 0", "--crawl-workers 0: use 1 or more"},
		{"crawl --crawl-host-gap 0s", "--crawl-host-gap 0s: use a duration above 0"},
		{"crawl --synthesis-base-url model.example --synthesis-model m",
			"--synthesis-base-url: give a URL such as https://model.example/v1"},
		{"crawl --synthesis-base-url https://key@model.example --synthesis-model m", "without user, query or fragment"},
		{"crawl --synthesis-base-url https://model.example/v1", "add --synthesis-model"},
		{"crawl --synthesis-model m", "add --synthesis-base-url"},
		{"crawl --synthesis-base-url http://127.0.0.1:1 --synthesis-model m --synthesis-per-day -1",
			"--synthesis-per-day -1: use 0 or more"},
		{"index --rpc https://node.example/key", "--rpc: give a CAIP-2 id and a value"},
		{"index --rpc eip155:8453=node.example/key",
			"--rpc eip155:8453, number 1: give a URL that begins with https:// or http://"},
		{"index --rpc hedera:mainnet=https://node.example", "settlements can be read only from EVM chains"},
		{"index --rpc eip155:31337=https://node.example", "network eip155:31337 has no token to measure"},
		{"index --network base", "network eip155:8453 has no node to read it from"},
		{"index --confirmations base=-1", "--confirmations eip155:8453=\"-1\": give a number of blocks"},
		{"index --start base=soon", "give a day such as 2025-10-01"},
		{"index --metrics 9402 --rpc base=https://node.example", `--metrics "9402": missing port in address`},
		{"crawl --crawl-contact nobody",
			`--crawl-contact "nobody": it is neither a URL nor an e-mail address; give a URL`},
		{"lint --crawl-contact nobody https://acme.example", `--crawl-contact "nobody"`},
		{"work --drain -1s", "--drain -1s: use 0s or more"},
		{"work --schedule-build 10ms", "--schedule-build 10ms: use 1s or more"},
		{"up --schedule-publish -1s", "--schedule-publish -1s: use 0s or more"},
		{"up --crawl-allow-private 127.0.0.1 --serve-listen 0.0.0.0:4020",
			"--crawl-allow-private with --serve-listen 0.0.0.0:4020"},
		{"up --publish-to tollbook-data/public",
			"--publish-to tollbook-data/public: builds are published to this folder already"},
		{"up --visit-limit 0s", "--visit-limit 0s: use 1s or more"},
		{"up --rpc base=nonsense", "give a URL that begins with https:// or http://"},
		{"best x --prefer cheap", "--prefer: must be one of balanced, cheapest, fastest, most_reliable"},
		{"best x --max-price=", "--max-price: give a value"},
		{"best x --min-uptime 99", "unknown flag: --min-uptime; see tollbook best --help"},
		{"show", "SLUG is missing; see tollbook show --help"},
		{"show acme --directory directory.example", "give a URL such as https://directory.example"},
		{"show acme --directory https://directory.example?key=1", "give a URL such as https://directory.example"},
		{"show acme --directory https://directory.example --data x", "give --directory or --data, not both"},
		{"check acme.example", "check needs a URL such as https://api.acme.example/quote"},
		{"check https://acme.example --price cheap", `--price "cheap": give an amount in US dollars such as 0.01`},
		{"check https://acme.example --pay-to=", `--pay-to "": give the address of a recipient`},
		{"check https://acme.example --method POST", "--method has no effect without --ask"},
		{"build --expand some", `--expand "some": use all or none`},
		{"build --every 0s", "--every 0s: use 1s or more"},
		{"build --site-base-url tollbook.example",
			`--site-base-url "tollbook.example": give a URL such as https://tollbook.example`},
		{"build --site-base-url javascript:alert(1)", `--site-base-url "javascript:alert(1)": give a URL`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(tt.args)
			p := command(t, nil, args...)
			p.Dir = t.TempDir()
			p.start(t)
			if code := p.status(t); code != 2 {
				t.Errorf("exit status %d, want 2", code)
			}
			if got := p.said(); !strings.HasPrefix(got, "tollbook: ") || !strings.Contains(got, tt.want) ||
				strings.Count(got, "\n") != 1 {
				t.Errorf("it says\n%swant one line with\n%s", got, tt.want)
			}
			checkEmpty(t, p.Dir)
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"", "Find and check services:"},
		{"", "Run a directory:"},
		{"services", "EXIT STATUS"},
		{"help build", "--expand"},
		{"demo --help", "Ctrl-C stops"},
		{"--version", "tollbook version "},
	} {
		code, stdout, stderr := tollbook(t, nil, strings.Fields(tt.args)...)
		if code != 0 || !strings.Contains(stdout, tt.want) || stderr != "" {
			t.Errorf("tollbook %s: exit %d, stderr %q, want %q on stdout:\n%s", tt.args, code, stderr, tt.want, stdout)
		}
	}
}
