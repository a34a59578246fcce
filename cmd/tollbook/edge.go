package main

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"tollbook/site/serve/edge"
)

func newEdgeCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "edge",
		Short: "Print the reading rules for other servers",
		Long: `Edge prints what makes another server answer readers as tollbook serve does: a configuration or a program, complete and
explained, made from the table of routes. What it can't do stands at its head. Print it anew after an upgrade.

EXIT STATUS

0 when it is printed, 1 when not.`,
	}, newEdgeNginxCommand(), newEdgeCloudflareCommand(), newEdgeCloudFrontCommand())
}

// Values that are written into programs: nothing that would end where it stands.
var (
	plainName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	plainID    = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	plainPath  = regexp.MustCompile(`^[A-Za-z0-9._/ -]*$`)
	plainWords = regexp.MustCompile(`^[A-Za-z0-9.:_*\[\] =-]+$`)
)

// printed writes a program that was made.
func printed(stdout io.Writer, program []byte, err error) error {
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
		return usagef("--rate-limit %d: it is 1 or more", limit)
	}
	return nil
}

const edgeRate = "`requests` of the API that a client may make in a minute"

func newEdgeNginxCommand() *cobra.Command {
	var o edge.Nginx
	cmd := &cobra.Command{
		Use:   "nginx",
		Short: "Print a configuration for nginx over an expanded folder",
		Long: `Nginx prints a configuration for nginx (1.18 or newer, as Debian packages it) that belongs into the context http. It sends
finished files out of the folder that build or publish expands, follows its link "current" without a reload, and hands
everything else to a tollbook serve beside it: windows, q, logs, look-ups, earlier snapshots, submissions, whatever is
written in an unusual way.

    tollbook edge nginx --server-name tollbook.example > /etc/nginx/conf.d/tollbook.conf && nginx -t

EXIT STATUS

0 when it is printed, 1 when not.`,
		Args: arguments(),
		PreRunE: func(*cobra.Command, []string) error {
			if !plainWords.MatchString(o.Listen) || !plainWords.MatchString(o.ServerName) {
				return usagef("--listen %q, --server-name %q: they are words that nginx takes, such as 80 and tollbook.example", o.Listen, o.ServerName)
			}
			if _, _, err := net.SplitHostPort(o.Upstream); err != nil || !plainWords.MatchString(o.Upstream) {
				return usagef("--upstream %q: it is a host with a port, such as 127.0.0.1:4020", o.Upstream)
			}
			if !plainPath.MatchString(o.Folder) || strings.Contains(o.Folder, " ") {
				return usagef("--root %q: nginx is given letters, digits and . _ - / alone", o.Folder)
			}
			if o.MaxAge < 1 {
				return usagef("--max-age %d: it is 1 or more", o.MaxAge)
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
			return printed(cmd.OutOrStdout(), config, err)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Folder, "root", filepath.Join("tollbook-data", "public"), "`folder` of the publication, in which current is the expanded tree")
	f.StringVar(&o.Listen, "listen", "80", "`address` that nginx listens on, in its words")
	f.StringVar(&o.ServerName, "server-name", "_", "`names` that nginx answers to; _ is any")
	f.StringVar(&o.Upstream, "upstream", "127.0.0.1:4020", "`host:port` of tollbook serve")
	f.IntVar(&o.RateLimit, "rate-limit", rateLimit, edgeRate)
	f.IntVar(&o.MaxAge, "max-age", 60, "`seconds` that caches may keep an answer")
	return cmd
}

func newEdgeCloudflareCommand() *cobra.Command {
	var o edge.Cloudflare
	cmd := &cobra.Command{
		Use:   "cloudflare",
		Short: "Print a worker that reads the zip in an R2 bucket",
		Long: `Cloudflare prints a Worker, one JavaScript module without dependencies, that answers every reader from an R2 bucket: it
reads the pointer, then the snapshot's zip by ranges, and holds all rules that tollbook serve has. The bucket needs no
expanded objects: tollbook publish --expand none. What wrangler.toml must say stands at its head.

    tollbook edge cloudflare > worker.js && npx wrangler deploy

EXIT STATUS

0 when it is printed, 1 when not.`,
		Args: arguments(),
		PreRunE: func(*cobra.Command, []string) error {
			for _, name := range []string{o.Bucket, o.Limiter, o.Serve} {
				if !plainName.MatchString(name) {
					return usagef("--bucket, --limiter, --serve: %q is no name of a binding, such as BUCKET", name)
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
			return printed(cmd.OutOrStdout(), worker, err)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Bucket, "bucket", "BUCKET", "`name` of the binding of the R2 bucket")
	f.StringVar(&o.Limiter, "limiter", "LIMITER", "`name` of the binding of the rate limit, which may be absent")
	f.StringVar(&o.Serve, "serve", "SERVE", "`name` of the variable with the address of a tollbook serve that takes submissions, which may be absent")
	f.StringVar(&o.Prefix, "prefix", "", "`prefix` in the bucket, as publish --to has it behind the bucket's name")
	f.IntVar(&o.RateLimit, "rate-limit", rateLimit, edgeRate)
	return cmd
}

func newEdgeCloudFrontCommand() *cobra.Command {
	var o edge.CloudFront
	cmd := &cobra.Command{
		Use:   "cloudfront",
		Short: "Print a function that rewrites requests to keys in a bucket",
		Long: `Cloudfront prints a CloudFront Function for viewer requests (runtime 2.0, less than 10 KB). It can only rewrite: a request
that one finished file answers becomes that file's key in the bucket, to which publish --expand all writes; the rest goes
to a tollbook serve as a second origin, whose answers CloudFront caches too. How the distribution is set up stands at its
head.

    tollbook edge cloudfront --bucket tollbook-bucket --serve tollbook-serve > function.js

EXIT STATUS

0 when it is printed, 1 when not.`,
		Args: arguments(),
		PreRunE: func(*cobra.Command, []string) error {
			if !plainID.MatchString(o.Bucket) || !plainID.MatchString(o.Serve) || o.Bucket == o.Serve {
				return usagef("--bucket %q, --serve %q: they are the ids of two origins", o.Bucket, o.Serve)
			}
			return checkRate(o.RateLimit)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			function, err := o.Function()
			return printed(cmd.OutOrStdout(), function, err)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Bucket, "bucket", "bucket", "`id` of the origin that is the bucket")
	f.StringVar(&o.Serve, "serve", "serve", "`id` of the origin that is tollbook serve")
	f.BoolVar(&o.Lists, "lists", false, "have the bucket answer pages of lists too: without Link, and with an error past the last one")
	f.IntVar(&o.RateLimit, "rate-limit", rateLimit, edgeRate)
	return cmd
}
