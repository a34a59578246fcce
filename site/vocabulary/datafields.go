package vocabulary

// dataFields describes the fields of the tables to download.
var dataFields = map[string]Field{
	"Dataset.as_of":            {About: "Time of the snapshot whose rows the answers are of"},
	"Dataset.tables":           {About: "Tables in the order of the data package"},
	"Dataset.sqlite":           {About: "File with all tables, and the last 30 days of those by day, without visits"},
	"Dataset.questions":        {About: "Questions that the tables answer; a question whose sums overflow is left out"},
	"DatasetFile.path":         {About: "Path of the file on this directory"},
	"DatasetFile.bytes":        {About: "Size in bytes"},
	"DatasetFile.sha256":       {About: "SHA-256 of the file, in hex"},
	"DatasetTable.name":        {About: "Name of the table, the same in every format"},
	"DatasetTable.description": {About: "What a row is"},
	"DatasetTable.columns":     {About: "Names of the columns; /data/datapackage.json describes each"},
	"DatasetTable.row_count":   {About: "Number of rows in the Parquet file of the snapshot; null without that file"},
	"DatasetTable.parquet": {
		About: "Parquet file of the snapshot; of a table by day it has the days without a file of their own",
	},
	"DatasetTable.csv":       {About: "The same rows as CSV, compressed with gzip; null for large tables"},
	"DatasetTable.days":      {About: "Files of UTC days that are over; null for a table that each snapshot has whole"},
	"DatasetDays.file_count": {About: "Number of days with a file"},
	"DatasetDays.bytes":      {About: "Size of these files in bytes"},
	"DatasetDays.first":      {About: "First UTC day with a file"},
	"DatasetDays.last":       {About: "Last UTC day with a file"},
	"DatasetDays.pattern":    {About: "Path of a day's file, with {day} for the UTC day, such as 2026-11-22"},
	"DatasetAnswer.name":     {About: "Name of the question"},
	"DatasetAnswer.title":    {About: "The question in words"},
	"DatasetAnswer.sqlite":   {About: "Statement that answers it from the SQLite file"},
	"DatasetAnswer.duckdb":   {About: "Statements that answer it from the Parquet files at their addresses"},
	"DatasetAnswer.columns":  {About: "Names of the answer's columns"},
	"DatasetAnswer.rows":     {About: "Rows of the answer; values are texts, null for an unknown one"},
}
