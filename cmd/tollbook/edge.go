package main

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/site/serve/edge"
)

func newEdgeCommand() *cobra.Command {
	return newGroup(&cobra.Command{
		Use:   "edge",
		Short: "Generate a configuration for nginx, Cloudflare or CloudFront",
		Long: `Edge prints a program or configuration with which another server answers readers as tollbook serve does.
It is complete and commented, and generated from the same table of routes. Its first lines list what that server
can't do. Generate it again after an upgrade.` + groupStatus,
	}, newEdgeNginxCommand(), newEdgeCloudflareCommand(), newEdgeCloudFrontCommand())
}

// Patterns of values that are written into programs. They exclude characters that would end a string there.
var (
	plainName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	plainID    = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	plainPath  = regexp.MustCompile(`^[A-Za-z0-9._/ -]*$`)
	plainWords = regexp.MustCompile(`^[A-Za-z0-9.:_*\[\] =-]+$`)
)

// writeProgram writes a generated program.
func writeProgram(stdout io.Writer, program []byte, err error) error {
	if err == nil {
		_, err = stdout.Write(program)
	}
	if err != nil {
		return fmt.Errorf("print edge: %w", err)
	}
	return nil
}

func checkRate(limit int) error {
	if limit < 1 {
		return terminal.UsageErrorf("--rate-limit %d: use 1 or more", limit)
	}
	return nil
}

const edgeRate = "API `requests` a minute that one client may send"

func newEdgeNginxCommand() *cobra.Command {
	var o edge.Nginx
	var data dataOptions
	cmd := &cobra.Command{
		Use:   "nginx",
		Short: "Generate a configuration for nginx",
		Long: `Nginx prints a configuration for nginx 1.18 or newer, for its http context. Nginx sends the files that
build or publish expands into a folder, and follows the link "current" without a reload. It forwards all other
requests to "tollbook serve": lists with a page or size other than the default, searches, logs, look-ups, requests
for earlier snapshots, submissions, and unusual spellings of a request.

EXIT STATUS

0 if it is printed, 1 if not.`,
		Example: "  tollbook edge nginx --server-name tollbook.example > /etc/nginx/conf.d/tollbook.conf && nginx -t",
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error {
			o.Folder = cmp.Or(o.Folder, data.Public())
			if !plainWords.MatchString(o.Listen) || !plainWords.MatchString(o.ServerName) {
				return terminal.UsageErrorf(
					"--listen %q, --server-name %q: give values of nginx such as 80 and tollbook.example", o.Listen,
					o.ServerName)
			}
			if _, _, err := net.SplitHostPort(o.Upstream); err != nil || !plainWords.MatchString(o.Upstream) {
				return terminal.UsageErrorf("--upstream %q: give a host with a port, such as 127.0.0.1:4020", o.Upstream)
			}
			if !plainPath.MatchString(o.Folder) || strings.Contains(o.Folder, " ") {
				return terminal.UsageErrorf("--root %q: use only letters, digits and . _ - /", o.Folder)
			}
			if o.MaxAge < 1 {
				return terminal.UsageErrorf("--max-age %d: use 1 or more", o.MaxAge)
			}
			return checkRate(o.RateLimit)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, err := filepath.Abs(o.Folder)
			if err != nil {
				return err
			}
			o := o
			o.Folder = filepath.ToSlash(folder)
			config, err := o.Config()
			return writeProgram(cmd.OutOrStdout(), config, err)
		},
	}
	f := cmd.Flags()
	data.AddFlags(f)
	f.StringVar(&o.Folder, "root", "",
		"`folder` that snapshots are published to, with the expanded tree in its subfolder current; by default "+
			"<data>/public")
	f.StringVar(&o.Listen, "listen", "80", "`address` that nginx listens on, as its directive listen has it")
	f.StringVar(&o.ServerName, "server-name", "_", "`names` of the server; _ for any")
	f.StringVar(&o.Upstream, "upstream", "127.0.0.1:4020", "`host:port` of tollbook serve")
	f.IntVar(&o.RateLimit, "rate-limit", settings.DefaultRateLimit, edgeRate)
	f.IntVar(&o.MaxAge, "max-age", 60, "`seconds` that caches may keep a response")
	return cmd
}

func newEdgeCloudflareCommand() *cobra.Command {
	var o edge.Cloudflare
	cmd := &cobra.Command{
		Use:   "cloudflare",
		Short: "Generate a Cloudflare Worker that reads an R2 bucket",
		Long: `Cloudflare prints a Worker, one JavaScript module without dependencies, that answers every reader from
an R2 bucket. It reads the pointer, then the snapshot's zip by ranges, and applies all rules of tollbook serve. The
bucket needs no expanded objects: tollbook publish --expand none. The first lines of the module say what
wrangler.toml needs.

EXIT STATUS

0 if it is printed, 1 if not.`,
		Example: "  tollbook edge cloudflare > worker.js && npx wrangler deploy",
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error {
			for _, name := range []string{o.Bucket, o.Limiter, o.Serve} {
				if !plainName.MatchString(name) {
					return terminal.UsageErrorf(
						"--bucket, --limiter, --serve: %q is no name of a binding; give one such as BUCKET", name)
				}
			}
			return checkRate(o.RateLimit)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := o
			if o.Prefix = strings.Trim(o.Prefix, "/"); o.Prefix != "" {
				o.Prefix += "/"
			}
			worker, err := edge.Worker(o)
			return writeProgram(cmd.OutOrStdout(), worker, err)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Bucket, "bucket", "BUCKET", "`name` of the binding of the R2 bucket")
	f.StringVar(&o.Limiter, "limiter", "LIMITER", "`name` of the binding of the rate limit; the binding is optional")
	f.StringVar(&o.Serve, "serve", "SERVE",
		"`name` of the optional variable with the URL of a tollbook serve that receives submissions")
	f.StringVar(&o.Prefix, "prefix", "", "`prefix` in the bucket, as in publish --publish-to s3://bucket/prefix")
	f.IntVar(&o.RateLimit, "rate-limit", settings.DefaultRateLimit, edgeRate)
	return cmd
}

func newEdgeCloudFrontCommand() *cobra.Command {
	var o edge.CloudFront
	cmd := &cobra.Command{
		Use:   "cloudfront",
		Short: "Generate a CloudFront Function that maps requests to objects",
		Long: `Cloudfront prints a CloudFront Function for viewer requests (runtime 2.0, less than 10 KB). Such a
function can only rewrite a request. If one file is the response, it rewrites the request to that file's key in the
bucket, which publish --expand all writes. All other requests go to a tollbook serve as a second origin, whose
responses CloudFront caches too. The first lines of the function say how to configure the distribution.

EXIT STATUS

0 if it is printed, 1 if not.`,
		Example: "  tollbook edge cloudfront --bucket tollbook-bucket --serve tollbook-serve > function.js",
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error {
			if !plainID.MatchString(o.Bucket) || !plainID.MatchString(o.Serve) || o.Bucket == o.Serve {
				return terminal.UsageErrorf("--bucket %q, --serve %q: give the ids of two different origins", o.Bucket, o.Serve)
			}
			return checkRate(o.RateLimit)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			function, err := o.Function()
			return writeProgram(cmd.OutOrStdout(), function, err)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Bucket, "bucket", "bucket", "`id` of the origin for the bucket")
	f.StringVar(&o.Serve, "serve", "serve", "`id` of the origin for tollbook serve")
	f.BoolVar(&o.Lists, "lists", false,
		"let the bucket answer pages of lists too, without the Link header and with an error after the last page")
	f.IntVar(&o.RateLimit, "rate-limit", settings.DefaultRateLimit, edgeRate)
	return cmd
}
