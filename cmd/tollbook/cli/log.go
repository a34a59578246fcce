package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/redact"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/usage"
)

// LogOptions say what is logged, and how.
type LogOptions struct {
	Level  string // "" is the level of the command
	Format string // text or json
}

// AddFlags adds --log-level and --log-format, which are settings.
func (o *LogOptions) AddFlags(f *pflag.FlagSet) {
	settings.AddFlag(f, "log.level", &o.Level)
	settings.AddFlag(f, "log.format", &o.Format)
}

// Validate returns an error for an unknown level or format.
func (o *LogOptions) Validate() error {
	if o.Level != "" && new(slog.Level).UnmarshalText([]byte(o.Level)) != nil {
		return usage.Errorf("--log-level %q: use debug, info, warn or error", o.Level)
	}
	if o.Format != "text" && o.Format != "json" {
		return usage.Errorf("--log-format %q: use text or json", o.Format)
	}
	return nil
}

type logKey struct{}

// WithLog returns a context whose loggers follow the options, which are valid.
func WithLog(ctx context.Context, o LogOptions) context.Context {
	return context.WithValue(ctx, logKey{}, o)
}

// NewLogger returns a logger to stderr that prints no secret, from level on unless the settings name another. Results
// go to stdout.
func NewLogger(ctx context.Context, level slog.Level) *slog.Logger {
	o, _ := ctx.Value(logKey{}).(LogOptions)
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
		a.Value = slog.StringValue(redact.Text(v))
	case error:
		a.Value = slog.StringValue(redact.Text(v.Error()))
	case fmt.Stringer:
		if a.Value.Kind() == slog.KindAny {
			a.Value = slog.StringValue(redact.Text(v.String()))
		}
	}
	return a
}
