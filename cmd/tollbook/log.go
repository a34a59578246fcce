package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
)

// logOptions say what is logged, and how.
type logOptions struct {
	Level  string // "" is the level of the command
	Format string // text or json
}

// AddFlags adds --log-level and --log-format, which are settings.
func (o *logOptions) AddFlags(f *pflag.FlagSet) {
	settings.AddFlag(f, "log.level", &o.Level)
	settings.AddFlag(f, "log.format", &o.Format)
}

// Validate returns an error for an unknown level or format.
func (o *logOptions) Validate() error {
	if o.Level != "" && new(slog.Level).UnmarshalText([]byte(o.Level)) != nil {
		return terminal.UsageErrorf("--log-level %q: use debug, info, warn or error", o.Level)
	}
	if o.Format != "text" && o.Format != "json" {
		return terminal.UsageErrorf("--log-format %q: use text or json", o.Format)
	}
	return nil
}

type logKey struct{}

// withLog returns a context whose loggers follow the options, which are valid.
func withLog(ctx context.Context, o logOptions) context.Context {
	return context.WithValue(ctx, logKey{}, o)
}

// newLogger returns a logger to stderr that prints no secret, from level on unless the settings name another. Results
// go to stdout.
func newLogger(ctx context.Context, level slog.Level) *slog.Logger {
	o, _ := ctx.Value(logKey{}).(logOptions)
	if o.Level != "" {
		if err := level.UnmarshalText([]byte(o.Level)); err != nil {
			panic(err) // Validate was not called
		}
	}
	h := &slog.HandlerOptions{Level: level, ReplaceAttr: redactAttr}
	if o.Format == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, h))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, h))
}

func redactAttr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(settings.RedactText(v))
	case error:
		a.Value = slog.StringValue(settings.RedactText(v.Error()))
	case fmt.Stringer:
		if a.Value.Kind() == slog.KindAny {
			a.Value = slog.StringValue(settings.RedactText(v.String()))
		}
	}
	return a
}
