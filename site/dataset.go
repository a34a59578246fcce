package site

// Dataset is the data of /v1/data: the tables of the directory as files, and what they answer.
type Dataset struct {
	AsOf      Time            `json:"as_of"`
	Tables    []DatasetTable  `json:"tables"`
	SQLite    DatasetFile     `json:"sqlite"`
	Questions []DatasetAnswer `json:"questions"`
}

// DatasetFile is one file. Its path is that of a request to the directory.
type DatasetFile struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// DatasetTable is a table with its files. A table by day has a file for each UTC day that is over, and one for the
// rest.
type DatasetTable struct {
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Columns     []string     `json:"columns"`
	RowCount    *int64       `json:"row_count"` // of parquet; null without that file
	Parquet     *DatasetFile `json:"parquet"`
	CSV         *DatasetFile `json:"csv"`
	Days        *DatasetDays `json:"days"` // null for a table that is whole in each snapshot
}

// DatasetDays are the files of a table's days.
type DatasetDays struct {
	FileCount int    `json:"file_count"`
	Bytes     int64  `json:"bytes"` // of all of them
	First     string `json:"first"` // UTC day
	Last      string `json:"last"`
	Pattern   string `json:"pattern"` // path of a day's file, with {day}
}

// DatasetAnswer is a question, the statements that answer it, and the answer as of the snapshot.
type DatasetAnswer struct {
	Name    string      `json:"name"`
	Title   string      `json:"title"`
	SQLite  string      `json:"sqlite"` // for the SQLite file
	DuckDB  string      `json:"duckdb"` // for the Parquet files at their addresses
	Columns []string    `json:"columns"`
	Rows    [][]*string `json:"rows"` // values as texts; null for an unknown one
}
