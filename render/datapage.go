package render

import (
	"strings"

	"tollbook/site"
)

const (
	kindData  = "data"
	dataRoute = "data-page"
)

// dataset returns the tables of the directory.
func (e *Renderer) dataset() *site.Dataset {
	if e.snapshot.Dataset == nil {
		return &site.Dataset{}
	}
	return e.snapshot.Dataset
}

// DataPage returns data.html: the tables of the directory as files, and what they answer.
func (e *Renderer) DataPage() ([]byte, error) {
	base := strings.TrimSuffix(e.address(""), "/")
	return e.render(page{
		Key: bareKey(dataRoute, ""), Kind: kindData, JSON: bareKey("data", ""), Title: "Data", HasMarkdown: true,
		Description: "All tables of this directory as Parquet, SQLite and CSV, with ten questions that they answer.",
		Body:        newDataBody(e.dataset(), e.pages.href(bareKey("data", "")), base),
	})
}

// maxAnswerRows limits the rows of an answer; the JSON has all of them.
const maxAnswerRows = 12

// dataBody is what the page about the tables shows.
type dataBody struct {
	*site.Dataset
	Questions []dataQuestion
	Bytes     int64 // of all files
	DayFiles  int
	JSON      string // address of the same as JSON
	Python    string // a program that reads tables as CSV
	SQLite3   string // a program in Python that asks the downloaded SQLite file
	Pull      string // the command that copies them
}

// dataQuestion is a question with the first rows of its answer.
type dataQuestion struct {
	*site.DatasetAnswer
	Rows     [][]*string
	MoreRows int
}

// newDataBody returns what the page shows. json is the address of the same as JSON, base the URL of the directory.
func newDataBody(d *site.Dataset, json, base string) dataBody {
	b := dataBody{Dataset: d, JSON: json, Bytes: d.SQLite.Bytes, Python: pythonProgram(base + "/data"), SQLite3: sqliteProgram,
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
		shown := q.Rows[:min(maxAnswerRows, len(q.Rows))]
		b.Questions = append(b.Questions, dataQuestion{q, shown, len(q.Rows) - len(shown)})
	}
	return b
}

// pythonProgram returns a program for the tables at a URL.
func pythonProgram(base string) string {
	return `import pandas as pd
services = pd.read_csv("` + base + `/services.csv.gz")
prices = pd.read_csv("` + base + `/prices.csv.gz")
now = prices[prices.until.isna()].merge(services, on="slug")
print(now.groupby("category").price_usd.describe())
`
}

// sqliteProgram asks the SQLite file.
const sqliteProgram = `import sqlite3
import pandas as pd
db = sqlite3.connect("tollbook.sqlite")
paid = pd.read_sql("SELECT payee, network_caip2, settlements, usd FROM payees_30d", db)
print(paid.sort_values("usd", ascending=False).head(10))
`
