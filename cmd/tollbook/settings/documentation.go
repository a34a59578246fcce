package settings

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// sectionIntros say what each section of the configuration file is for.
var sectionIntros = []struct{ name, about string }{
	{"", "These keys come before the first section of the file. Commands that find and check services use all, " +
		"others not `directory`"},
	{"site", "Name, words and look of the pages: build, up, work, demo"},
	{"crawl", "Visits to services: crawl, up, work, services import, services verify, lint, build, serve, doctor. " +
		"Services are asked directly: HTTPS_PROXY, HTTP_PROXY and ALL_PROXY are ignored and there is no key for a proxy, " +
		"because a proxy resolves names itself and the guard against private addresses must see where a request goes"},
	{"services", "A file of services that is applied at each start: up"},
	{"serve", "Readers and the operator's metrics: serve, up, work"},
	{"submissions", "The operator's command on new submissions and suggestions: serve, up"},
	{"publish", "A place beside `<data>/public`, what both keep: build, publish, rollback, prune, up, work, doctor"},
	{"schedule", "How often each task runs: up, work"},
	{"log", "Log lines on stderr: all commands"},
	{"synthesis", "A language model that summarises services: crawl, up, work"},
}

// Example is a complete configuration file.
const Example = `data = "/var/lib/tollbook"

[site]
title       = "Acme Directory"
base_url    = "https://tollbook.example"
contact     = "mailto:directory@acme.example"
description = "Paid APIs that Acme has measured."
colours     = ["link=#7a1f5c", "dark.link=#ff9ad5"]
pages       = "pages"

[crawl]
contact    = "mailto:bot@acme.example"
workers    = 32
host_gap   = "1s"
free_hosts = ["freehosts.txt"]

[serve]
listen          = "127.0.0.1:4020"
trusted_proxies = ["127.0.0.1/32"]
metrics         = "127.0.0.1:9402"
submissions     = true

[publish]
to  = "s3://bucket/directory"
key = "signing.pem"

[schedule]
build = "15m"

[[network]]
caip2 = "eip155:8453"
rpc   = ["https://base.example/rpc", "https://other.example/base"]
start = "2025-10-01"

[[network.token]]
address  = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
symbol   = "USDC"
decimals = 6
usd      = true

[[source]]
name    = "acme-facilitator"
kind    = "x402-discovery"
address = "https://facilitator.acme.example/discovery/resources"
take    = "all"
`

// introduction is the part of the page before the tables. A ´ stands for a backquote.
var introduction = strings.ReplaceAll(`# Configuration

Where settings are read from, and every setting with its key, flag, variable and default.

## Sources

Settings are read from the file that ´--config´ or ´TOLLBOOK_CONFIG´ names, else from ´./tollbook.toml´, else from
´/etc/tollbook/tollbook.toml´ with the variables in ´/etc/tollbook/tollbook.env´ that are not set. A flag wins over a
variable, a variable over the file. ´tollbook config´ prints every setting in force and its origin.

## Names

One rule gives every setting three names. The key ´per_day´ of section ´[synthesis]´ is the flag ´--synthesis-per-day´
and the variable ´TOLLBOOK_SYNTHESIS_PER_DAY´. The first keys have no section: ´data´ is ´--data´ and ´TOLLBOOK_DATA´.
Every command refuses an unknown key or ´TOLLBOOK_´ variable and suggests the nearest name. Commas separate the values
of a list in a variable or flag; a flag may also be repeated. Paths of files and folders in the configuration file are
relative to that file. A duration is text such as ´"90s"´, ´"15m"´ or ´"1h30m"´.

Options of single commands, such as ´--once´ or ´--json´, are not settings; ´--help´ lists them. Commands that run
beside a server (´demo´, ´mcp´, ´index´, ´edge´) have their own ´--listen´, ´--metrics´ or ´--rate-limit´, so that two
processes with one file do not use the same address.

## A complete file

`, "´", "`")

// Documentation returns the page of the documentation that lists every setting, in Markdown.
func Documentation() string {
	var b strings.Builder
	b.WriteString(introduction)
	for line := range strings.Lines(Example) {
		if strings.TrimSpace(line) != "" {
			line = "    " + line
		}
		b.WriteString(line)
	}
	for _, s := range sectionIntros {
		heading := "[" + s.name + "]"
		if s.name == "" {
			heading = "Which directory"
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n", heading, s.about)
		writeTable(&b, s.name, false)
		if hasAdvanced(s.name) {
			fmt.Fprintf(&b, "\n### Advanced keys of %s\n\nFew directories need these; no `--help` lists them.\n\n", heading)
			writeTable(&b, s.name, true)
		}
	}
	b.WriteString("\n## [[network]]\n\nOne table for each chain whose payments are read: index, up, work, doctor. " +
		"These keys exist in the file only.\nThe flags `--rpc`, `--confirmations` and `--start` of these commands " +
		"win over them.\n\n| key | meaning |\n| --- | --- |\n")
	for _, row := range NetworkTable {
		name := strings.TrimPrefix(row.Key, "network.")
		if child, ok := strings.CutPrefix(name, "token."); ok {
			name = "[[network.token]] " + child
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, plainMeaning(row.Meaning))
	}
	b.WriteString(
		"\n## [[source]]\n\nOne table for each public source of services, beside those that come with Tollbook: " +
			"up, work, sources.\nThese keys exist in the file only. `tollbook sources list` prints all sources.\n\n" +
			"| key | meaning |\n| --- | --- |\n")
	for _, row := range SourceTable {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.TrimPrefix(row.Key, "source."), plainMeaning(row.Meaning))
	}
	b.WriteString("\n## Variables without a key\n\nSecrets, and variables that other programs share.\n\n" +
		"| variable | meaning |\n| --- | --- |\n")
	for _, v := range Variables {
		fmt.Fprintf(&b, "| `%s` | %s |\n", v.Name, v.Meaning)
	}
	return b.String()
}

func hasAdvanced(section string) bool {
	return slices.ContainsFunc(Table, func(s Setting) bool {
		of, _ := s.split()
		return of == section && s.Advanced
	})
}

// writeTable writes the settings of a section, those that are advanced or the others.
func writeTable(b *strings.Builder, section string, advanced bool) {
	b.WriteString("| key | flag | variable | default | meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, row := range Table {
		if of, name := row.split(); of == section && row.Advanced == advanced {
			fmt.Fprintf(b, "| `%s` | `--%s` | `%s` | %s | %s |\n", name, row.Flag(), row.Variable(), row.defaultText(),
				plainMeaning(row.Meaning))
		}
	}
}

// defaultText returns the default as the configuration file has it, in Markdown.
func (s Setting) defaultText() string {
	switch d := s.Default.(type) {
	case string:
		if d == "" {
			return "none"
		}
		return fmt.Sprintf("`%q`", d)
	case time.Duration:
		return fmt.Sprintf("`%q`", ShortDuration(d))
	case []string:
		return "none"
	}
	return fmt.Sprintf("`%v`", s.Default)
}

// ShortDuration returns a duration without parts that are zero: 15m for 15m0s.
func ShortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

var valueName = regexp.MustCompile("`([^`]*)`")

// plainMeaning returns a meaning without the marks of the value's name, as a cell of a table.
func plainMeaning(text string) string {
	text = valueName.ReplaceAllString(text, "$1")
	return strings.NewReplacer("<", "&lt;", ">", "&gt;", "|", "\\|").Replace(text)
}
