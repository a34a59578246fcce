// This file writes the help of a command line as pages in the format of man(7).
//
// cobra's own writer reads help as Markdown, which ours is not (it would lose the <id> of a path), forgets what the
// value of a flag is, and dates pages by the clock. It must never know what a command does.

package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// WriteManual writes the page of cmd, and of each command below it, into dir. The pages carry the date and version.
func WriteManual(cmd *cobra.Command, dir, date, version string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write the manual: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, ManualName(cmd)+".1"), []byte(page(cmd, date, version)),
		0o644); err != nil {
		return fmt.Errorf("write the manual: %w", err)
	}
	for _, sub := range documented(cmd) {
		if err := WriteManual(sub, dir, date, version); err != nil {
			return err
		}
	}
	return nil
}

// documented are the commands below cmd that have a page.
func documented(cmd *cobra.Command) []*cobra.Command {
	var list []*cobra.Command
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			list = append(list, c)
		}
	}
	return list
}

// ManualName returns the name of a command's page: "tollbook-services-import".
func ManualName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// page is a command's page. Long help is prose in paragraphs, with what is to be typed indented by four; its last
// part is the section EXIT STATUS.
func page(cmd *cobra.Command, date, version string) string {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	var b strings.Builder
	name := ManualName(cmd)
	fmt.Fprintf(&b, ".TH %s 1 %q %q \"Tollbook's Manual\"\n.nh\n.ad l\n", strings.ToUpper(roffText(name)), date,
		"tollbook "+version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roffText(name), roffText(strings.ToLower(cmd.Short[:1])+cmd.Short[1:]))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.nf\n")
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\\fB%s\\fR COMMAND [flags]\n", roffText(cmd.CommandPath()))
	} else {
		rest := strings.TrimPrefix(cmd.UseLine(), cmd.CommandPath())
		fmt.Fprintf(&b, "\\fB%s\\fR%s\n", roffText(cmd.CommandPath()), roffText(rest))
	}
	b.WriteString(".fi\n")
	description, status, _ := strings.Cut(cmd.Long, "\n\nEXIT STATUS\n\n")
	b.WriteString(".SH DESCRIPTION\n")
	writeProse(&b, description)
	if list := documented(cmd); len(list) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, c := range list {
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR(1)\n%s.\n", roffText(ManualName(c)), roffText(c.Short))
		}
	}
	writeFlags(&b, "OPTIONS", cmd.LocalNonPersistentFlags())
	if cmd.HasParent() {
		writeFlags(&b, "OPTIONS OF EVERY COMMAND", cmd.InheritedFlags())
	} else {
		writeFlags(&b, "OPTIONS OF EVERY COMMAND", cmd.PersistentFlags())
	}
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		writeProse(&b, indentExample(cmd.Example))
	}
	b.WriteString(".SH EXIT STATUS\n")
	writeProse(&b, status)
	if cmd.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n\\fB%s\\fR(1)\n", roffText(ManualName(cmd.Parent())))
	}
	return b.String()
}

// indentExample indents examples by four columns, as commands in the long help are. Help indents them by two.
func indentExample(text string) string {
	return "  " + strings.ReplaceAll(text, "\n  ", "\n    ")
}

// writeProse writes paragraphs; lines that are indented stand as they are.
func writeProse(b *strings.Builder, text string) {
	const indent = "    "
	typed, fresh := false, true
	for _, line := range strings.Split(text, "\n") {
		switch is := strings.HasPrefix(line, indent); {
		case line == "":
			if typed {
				b.WriteByte('\n')
			}
			fresh = true
			continue
		case is && !typed:
			b.WriteString(".PP\n.in +4n\n.nf\n")
			typed = true
		case !is && typed:
			b.WriteString(".fi\n.in\n.PP\n")
			typed = false
		case fresh && !typed:
			b.WriteString(".PP\n")
		}
		fresh = false
		if typed {
			line = strings.TrimPrefix(line, indent)
		}
		b.WriteString(roffLine(line) + "\n")
	}
	if typed {
		b.WriteString(".fi\n.in\n")
	}
}

func writeFlags(b *strings.Builder, section string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", section)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		b.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(b, "\\fB\\-%s\\fR, ", f.Shorthand)
		}
		fmt.Fprintf(b, "\\fB\\-\\-%s\\fR", roffText(f.Name))
		if value != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roffText(value))
		}
		b.WriteString("\n" + roffLine(usage))
		switch f.DefValue {
		case "", "false", "0", "[]", "0s":
		default:
			fmt.Fprintf(b, " (default %s)", roffText(f.DefValue))
		}
		b.WriteByte('\n')
	})
}

var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, "…",
	"...")

// roffText is s as text within a line.
func roffText(s string) string { return roffEscapes.Replace(s) }

// roffLine is s as a line of its own, which a dot at its beginning would make an order.
func roffLine(s string) string {
	s = roffText(s)
	if strings.HasPrefix(s, ".") {
		return `\&` + s
	}
	return s
}
