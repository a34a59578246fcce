// Package dataset makes what the page about the tables shows. It must never know a route or a template.
package dataset

import "tollbook/site"

// maxRows limits the rows of an answer; the JSON has all of them.
const maxRows = 12

// Body is what the page shows.
type Body struct {
	*site.Dataset
	Questions []Question
	Bytes     int64 // of all files
	DayFiles  int
	JSON      string // address of the same as JSON
	Python    string // a program that reads tables as CSV
	SQLite3   string // a program in Python that asks the downloaded SQLite file
	Pull      string // the command that copies them
}

// Question is a question with the first rows of its answer.
type Question struct {
	*site.DatasetAnswer
	Rows     [][]*string
	MoreRows int
}

// New returns what the page shows. json is the address of the same as JSON, base the URL of the directory.
func New(d *site.Dataset, json, base string) Body {
	b := Body{Dataset: d, JSON: json, Bytes: d.SQLite.Bytes, Python: python(base + "/data"), SQLite3: sqlite3,
		Pull: "tollbook data pull " + base}
	for i := range d.Tables {
		t := &d.Tables[i]
		for _, f := range []*site.DatasetFile{t.Parquet, t.CSV} {
			if f != nil {
				b.Bytes += f.Bytes
			}
		}
		if t.Days != nil {
			b.Bytes += t.Days.Bytes
			b.DayFiles += t.Days.FileCount
		}
	}
	for i := range d.Questions {
		q := &d.Questions[i]
		shown := q.Rows[:min(maxRows, len(q.Rows))]
		b.Questions = append(b.Questions, Question{q, shown, len(q.Rows) - len(shown)})
	}
	return b
}

// python returns a program for the tables at a URL.
func python(base string) string {
	return `import pandas as pd
services = pd.read_csv("` + base + `/services.csv.gz")
prices = pd.read_csv("` + base + `/prices.csv.gz")
now = prices[prices.until.isna()].merge(services, on="slug")
print(now.groupby("category").price_usd.describe())
`
}

const sqlite3 = `import sqlite3
import pandas as pd
db = sqlite3.connect("tollbook.sqlite")
paid = pd.read_sql("SELECT payee, network_caip2, settlements, usd FROM payees_30d", db)
print(paid.sort_values("usd", ascending=False).head(10))
`
