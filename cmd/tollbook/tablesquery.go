package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tollbook/build/data"
	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/site/display"
)

// sqliteFile is the file of all tables in a pulled folder.
const sqliteFile = "tollbook.sqlite"

// queryOptions are the flags of query.
type queryOptions struct {
	From      string
	JSON, CSV bool
}

func newQueryCommand() *cobra.Command {
	var o queryOptions
	cmd := &cobra.Command{
		Use:   "query SQL",
		Short: "Ask pulled tables with SQL",
		Long: `Query runs one SQL statement on tollbook.sqlite, which "tollbook data pull" fetched, and prints the
rows. The file is opened for reading only. The page /data of a directory has examples. The statement
"SELECT name, sql FROM sqlite_schema" lists the tables and their columns.

EXIT STATUS

0 if the statement was run, 1 if it failed or the file is missing.`,
		Example: `  tollbook data query "SELECT slug, min_price_usd FROM services WHERE category = 'AI' ORDER BY slug"
  tollbook data query --csv "SELECT * FROM facilitator_volume_30d" > volume.csv`,
		Args: arguments("SQL"),
		PreRunE: func(*cobra.Command, []string) error {
			if o.JSON && o.CSV {
				return terminal.UsageErrorf("--json and --csv exclude each other")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runTablesQuery(cmd.Context(), o, args[0], cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&o.From, "from", defaultFolder, "`folder` of pulled tables")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print the rows as JSON")
	cmd.Flags().BoolVar(&o.CSV, "csv", false, "print the rows as CSV")
	return cmd
}

func runTablesQuery(ctx context.Context, o queryOptions, query string, stdout io.Writer) error {
	path := filepath.Join(o.From, sqliteFile)
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf(`open tables: %w; "tollbook data pull URL --to %s" fetches them`, err, o.From)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("open tables: %s is no file", path)
	}
	db, err := data.OpenSQLite(path)
	if err != nil {
		return fmt.Errorf("open tables: %w", err)
	}
	defer db.Close()
	columns, rows, err := data.QuerySQLite(ctx, db, query, 0)
	if err != nil {
		return fmt.Errorf("query %s: %w", path, err)
	}
	switch {
	case o.JSON:
		return report.JSON(stdout, struct {
			Columns []string    `json:"columns"`
			Rows    [][]*string `json:"rows"`
		}{columns, rows})
	case o.CSV:
		return writeCSV(stdout, columns, rows)
	}
	return printRows(stdout, columns, rows)
}

// writeCSV writes rows as CSV; an unknown value is empty.
func writeCSV(w io.Writer, columns []string, rows [][]*string) error {
	to := csv.NewWriter(w)
	if err := to.Write(columns); err != nil {
		return err
	}
	for _, row := range rows {
		if err := to.Write(texts(row, "")); err != nil {
			return err
		}
	}
	to.Flush()
	return to.Error()
}

// printRows prints rows as a table. Texts of services are shown in one line, without invisible characters.
func printRows(w io.Writer, columns []string, rows [][]*string) error {
	to := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	names := make([]string, len(columns))
	for i, name := range columns {
		names[i] = display.Line(name, display.MaxName)
	}
	fmt.Fprintln(to, strings.Join(names, "\t"))
	for _, row := range rows {
		shown := texts(row, "-")
		for i := range shown {
			shown[i] = display.Line(shown[i], display.MaxName)
		}
		fmt.Fprintln(to, strings.Join(shown, "\t"))
	}
	return to.Flush()
}

// texts returns the values of a row, with a text for unknown ones.
func texts(row []*string, unknown string) []string {
	list := make([]string, len(row))
	for i, v := range row {
		if list[i] = unknown; v != nil {
			list[i] = *v
		}
	}
	return list
}
