package build_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/build"
	"tollbook/build/data"
	"tollbook/cmd/bench/crowd"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/rail"
	"tollbook/site/testgate"
)

// historyTemplate contains a generated directory with a history that is longer than any window, and visits of two days
// before that of moment.
var historyTemplate = postgrestest.New(func(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := crowd.Load(ctx, db, crowd.Options{Services: 150, Seed: 5, Moment: moment, Days: 100,
		Raw: 2}); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `
		INSERT INTO offer_sets SELECT id, '2026-11-01', '2026-11-10', '[{"protocol":"mpp","scheme":"tempo/charge",
			"network":"eip155:4217","network_caip2":"eip155:4217","asset":"0x20c0000000000000000000000000000000000000",
			"amount":"20000","pay_to":"0x742d35cc6634c0532925a3b844bc454e4438f44e"},
			{"protocol":"mpp","scheme":"stripe/session","network":"stripe","asset":"usd","amount":"2",
			"variable":true}, {"protocol":"l402","scheme":"bolt11",
			"network":"bip122:000000000019d6689c085ae165831e93","network_caip2":
			"bip122:000000000019d6689c085ae165831e93","asset":"BTC","amount":"5000","max_timeout_seconds":3600}]'::jsonb
			FROM endpoints WHERE method = 'GET' ORDER BY path, id LIMIT 1;
		INSERT INTO offer_sets SELECT endpoint_id, '2026-11-10', NULL, '[{"protocol":"crawler-price",
			"scheme":"crawl","network":"cloudflare:402","asset":"USD","amount":"0.01"}]'::jsonb FROM offer_sets`)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `
		INSERT INTO assessments SELECT id, day, 'A', 14, '{}', 'clean', '{}',
			round(nullif(id % 9, 0) * 0.0037 / extract(week FROM day), 6), 120, 1, 'good'
		FROM services, generate_series($1::date - 60, $1::date - 1, interval '1 day') AS day`, moment)
	if err != nil {
		return err
	}
	return addBuyers(ctx, db, conn)
})

// addBuyers adds what the generated settlements lack, to the recipients that were paid most in a token of an EVM network:
// each pays itself, is paid by a scout, and redeems a batch.
func addBuyers(ctx context.Context, db *postgres.DB, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `
		SELECT c.network, f.facilitator_id, f.token, max(s.address), a.address FROM payee_days d
		JOIN facilitator_tokens f ON f.id = d.token_id JOIN chains c ON c.id = f.chain_id
		JOIN settlers s ON s.facilitator_id = f.facilitator_id AND s.network = c.network
		JOIN accounts a ON a.id = d.payee_id
		WHERE c.network = 'eip155:8453' AND d.day > $1::timestamptz - interval '30 days'
		GROUP BY 1, 2, 3, 5 ORDER BY sum(d.settlements) DESC, 5, 2, 3 LIMIT 5`, moment)
	if err != nil {
		return err
	}
	var list []ledger.Settlement
	s := ledger.Settlement{BlockHash: "0x" + strings.Repeat("ab", 32), Amount: "10000", Method: "eip3009"}
	add := func(payer, payee, method string) {
		s.Block, s.Time = int64(len(list)+1), moment.AddDate(0, 0, -len(list)%20)
		s.Transaction = fmt.Sprintf("0x%064x", len(list)+1)
		s.Payer, s.Payee, s.Method = payer, payee, method
		list = append(list, s)
	}
	scout := "0x" + strings.Repeat("5c", 20)
	var payee string
	_, err = pgx.ForEachRow(rows, []any{&s.Network, &s.Facilitator, &s.Token, &s.Settler, &payee}, func() error {
		add(payee, payee, "eip3009")
		add(scout, payee, "eip3009")
		add(scout, payee, ledger.MethodBatch)
		return nil
	})
	for n := range site.ScoutRecipients { // whom no service names
		add(scout, fmt.Sprintf("0x%040x", n+1), "eip3009")
	}
	if err == nil {
		_, err = db.RecordSettlements(ctx, list)
	}
	return err
}

// dataOptions are the options of builds without single files.
func dataOptions(now time.Time) build.Options {
	o := options(now)
	o.Expand, o.Program = output.ExpandNone, "this one"
	return o
}

// unpackData writes the data files of a snapshot into a folder as they are served, and returns the folder.
func unpackData(t *testing.T, dir, snapshot string) string {
	t.Helper()
	to := filepath.Join(tempDir(t), archive.DataDir)
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, archive.DataDir), 0o755),
		os.CopyFS(to, os.DirFS(filepath.Join(dir, archive.DataDir)))); err != nil {
		t.Fatal(err)
	}
	z, err := archive.OpenZipFile(filepath.Join(dir, archive.SnapshotsDir, snapshot+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, name := range z.Names() {
		if rest, ok := strings.CutPrefix(name, archive.DataDir+"/"); ok {
			text, err := z.ReadFile(name)
			if err == nil {
				err = os.WriteFile(filepath.Join(to, rest), text, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return to
}

// readDataIndex reads the data package of a folder, and checks that it names every file with its length and hash.
func readDataIndex(t *testing.T, folder string) data.Package {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "datapackage.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index data.Package
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	files := digestFiles(t, folder)
	named := 0
	check := func(path string, bytes int64, hash string) {
		named++
		info, err := os.Stat(filepath.Join(folder, path))
		if err != nil || info.Size() != bytes || hash != "sha256:"+files[path] {
			t.Errorf("%s is named with %d bytes and hash %s (%v)", path, bytes, hash, err)
		}
	}
	for _, r := range index.Resources {
		if path, isText := r.Path.(string); isText {
			check(path, r.Bytes, r.Hash)
		}
		for _, p := range r.Parts {
			check(p.Path, p.Bytes, p.Hash)
		}
	}
	for name := range files {
		if !strings.HasSuffix(name, ".sha256") && name != path.Base(archive.GateFile) { // no table
			named--
		}
	}
	if named != -1 { // the index itself
		t.Errorf("the index names %d more files than there are", named+1)
	}
	return index
}

// readTable returns the rows of a Parquet file.
func readTable(t *testing.T, path string, table *data.Table) (rows []data.Row) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := data.OpenParquet(bytes.NewReader(text), int64(len(text)), table)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if err := data.EachParquetRow(f, table, func(row data.Row) error {
		rows = append(rows, slices.Clone(row))
		return nil
	}); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return rows
}

// TestPricesOfAllProtocols checks the prices of an endpoint that offered MPP, L402 and crawler-price beside x402.
func TestPricesOfAllProtocols(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	db, dir := openCopy(t, historyTemplate), tempDir(t)
	r := run(t, db, dir, dataOptions(moment.Add(time.Minute)))
	table := &data.Prices.Table
	rows := readTable(t, filepath.Join(unpackData(t, dir, r.Snapshot), "prices.parquet"), table)
	text := func(row data.Row, column string) string {
		at := table.Place(column)
		return data.FormatCSV(&table.Columns[at], row[at])
	}
	ofOther := slices.IndexFunc(rows, func(row data.Row) bool { return text(row, "protocol") != rail.X402 })
	if ofOther < 0 {
		t.Fatal("all prices are over x402")
	}
	var got []string
	x402 := 0
	for _, row := range rows {
		if text(row, "endpoint_id") != text(rows[ofOther], "endpoint_id") {
			continue
		}
		if text(row, "protocol") == rail.X402 {
			x402++
			continue
		}
		var line []string
		for _, c := range []string{"since", "protocol", "position", "until", "scheme", "network", "testnet",
			"asset_name", "pay_to", "amount", "amount_text", "variable", "price_usd", "max_timeout_seconds",
			"x402_version"} {
			line = append(line, text(row, c))
		}
		got = append(got, strings.Join(line, " "))
	}
	want := []string{
		"2026-11-01T00:00:00.000Z l402 2 2026-11-10T00:00:00.000Z bolt11 BTC false BTC  5000  false  3600 ",
		"2026-11-01T00:00:00.000Z mpp 0 2026-11-10T00:00:00.000Z tempo/charge TMP false pathUSD " +
			"0x742d35Cc6634C0532925a3b844Bc454e4438f44e 20000  false 0.02  ",
		"2026-11-01T00:00:00.000Z mpp 1 2026-11-10T00:00:00.000Z stripe/session stripe false USD  2  true 0.02  ",
		"2026-11-10T00:00:00.000Z crawler-price 0  crawl cloudflare:402 false USD   0.01 false 0.01  ",
	}
	if diff := cmp.Diff(want, got); diff != "" || x402 == 0 {
		t.Errorf("prices (-want +got), and %d over x402:\n%s", x402, diff)
	}
}

// tableFiles returns the paths of the Parquet files of a table, by day.
func tableFiles(t *testing.T, folder string, table *data.Table) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, table.Name, "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if file := filepath.Join(folder, table.Name+".parquet"); !table.Days || table.Open {
		files = append(files, file)
	}
	return files
}

// TestDataFiles builds twice in different folders and checks that all data files have the same bytes, that each day is
// written once, that rows are sorted and have different keys, and that foreign keys exist.
func TestDataFiles(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	db := openCopy(t, historyTemplate)
	one, two := tempDir(t), tempDir(t)
	o := dataOptions(moment.Add(time.Minute))
	a, b := run(t, db, one, o), run(t, db, two, o)
	folder := unpackData(t, one, a.Snapshot)
	if diff := cmp.Diff(digestFiles(t, folder), digestFiles(t, unpackData(t, two, b.Snapshot))); diff != "" {
		t.Errorf("the same facts (-one +two):\n%s", diff)
	}
	index := readDataIndex(t, folder)
	if len(index.Resources) < 7*2+3+3+1 {
		t.Errorf("%d resources", len(index.Resources))
	}
	for _, table := range data.Tables() {
		want := 1
		switch table {
		case &data.Uptime.Table:
			want = 100
		case &data.Assessments.Table: // recorded by the first build, for the next day
			want = 0
		}
		if files := tableFiles(t, folder, table); len(files) < want {
			t.Errorf("%s: %d files", table.Name, len(files))
		}
	}
	checkKeys(t, folder)

	days := func() map[string]string { return digestFiles(t, filepath.Join(one, archive.DataDir)) }
	before := days()
	o.Now = o.Now.Add(time.Minute)
	run(t, db, one, o)
	if diff := cmp.Diff(before, days()); diff != "" {
		t.Errorf("days after another build (-before +after):\n%s", diff)
	}

	o.Now = o.Now.AddDate(0, 0, 1)
	r := run(t, db, one, o)
	folder = unpackData(t, one, r.Snapshot)
	readDataIndex(t, folder)
	services, grades := &data.Services.Table, map[string]string{}
	for _, row := range readTable(t, filepath.Join(folder, "services.parquet"), services) {
		grades[row[0].Text()] = row[services.Place("grade")].Text()
	}
	assessed := readTable(t, filepath.Join(folder, "assessments/2026-11-20.parquet"), &data.Assessments.Table)
	for _, row := range assessed {
		if got, want := row[2].Text(), grades[row[0].Text()]; got != want {
			t.Errorf("the day before, %s had the grade %s, today %s", row[0].Text(), got, want)
		}
	}
	if len(assessed) != len(grades) {
		t.Errorf("%d assessments of %d services", len(assessed), len(grades))
	}
}

// checkKeys checks the order and the keys of all tables.
func checkKeys(t *testing.T, folder string) {
	t.Helper()
	keys := map[string]map[string]bool{}
	for _, table := range data.Tables() {
		key := func(row data.Row, columns []string) (k string) {
			for _, name := range columns {
				v := row[table.Place(name)]
				k += fmt.Sprintf("%s\x00%020d\x00", v.Text(), v.Number())
			}
			return k
		}
		keys[table.Name] = map[string]bool{}
		rows := 0
		for _, file := range tableFiles(t, folder, table) {
			last := ""
			for _, row := range readTable(t, file, table) {
				rows++
				if k := key(row, table.Key); keys[table.Name][k] {
					t.Errorf("%s: two rows have the key %q", file, k)
				} else {
					keys[table.Name][k] = true
				}
				if k := key(row, table.Sort); k < last && table != &data.Changes.Table {
					t.Errorf("%s: %q follows %q", file, k, last)
				} else {
					last = k
				}
				for _, r := range table.References {
					if k := key(row, []string{r.Column}); !keys[r.Table][k] {
						t.Errorf("%s: no row of %s has the key %q", file, r.Table, k)
					}
				}
			}
		}
		if rows == 0 && !slices.Contains([]string{"sources", "changes", "assessments"}, table.Name) {
			t.Errorf("%s has no rows", table.Name)
		}
	}
}

// TestPastInParts checks that a build with few rows of days writes the newest days, and that later builds add the rest.
func TestPastInParts(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	db := openCopy(t, historyTemplate)
	whole, parts := tempDir(t), tempDir(t)
	o := dataOptions(moment.Add(time.Minute))
	run(t, db, whole, o)
	o.DataRows = 3000
	var newest []string
	for i := 0; ; i++ {
		o.Now = moment.Add(time.Duration(i+1) * time.Minute)
		r := run(t, db, parts, o)
		readDataIndex(t, unpackData(t, parts, r.Snapshot))
		files := digestFiles(t, filepath.Join(parts, archive.DataDir))
		if i == 0 {
			for name := range files {
				newest = append(newest, name)
			}
			slices.Sort(newest)
		}
		if cmp.Equal(files, digestFiles(t, filepath.Join(whole, archive.DataDir))) {
			if i < 3 || i > 40 {
				t.Errorf("%d builds wrote all days", i+1)
			}
			break
		}
		if i == 50 {
			t.Fatal("50 builds did not write all days")
		}
	}
	if want := "checks/2026-11-19.parquet"; len(newest) == 0 || !slices.Contains(newest, want) {
		t.Errorf("the first build wrote %q, want %s", newest, want)
	}
}

// TestErasedDays checks that no data file names an erased service, and that the files equal those of a folder that
// never had it.
func TestErasedDays(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	db := openCopy(t, historyTemplate)
	dir, fresh := tempDir(t), tempDir(t)
	o := dataOptions(moment.Add(time.Minute))
	first := run(t, db, dir, o)
	slug := readTable(t, filepath.Join(unpackData(t, dir, first.Snapshot), "services.parquet"),
		&data.Services.Table)[3][0].Text()
	if err := db.EraseService(t.Context(), slug, "anna", "", moment); err != nil {
		t.Fatal(err)
	}
	o.Now = o.Now.Add(time.Minute)
	r := run(t, db, dir, o)
	folder := unpackData(t, dir, r.Snapshot)
	readDataIndex(t, folder)
	for _, table := range data.Tables() {
		place := table.Place("slug")
		if place < 0 {
			continue
		}
		for _, file := range tableFiles(t, folder, table) {
			for _, row := range readTable(t, file, table) {
				if row[place].Text() == slug {
					t.Fatalf("%s names the erased service", file)
				}
			}
		}
	}
	run(t, db, fresh, o)
	if diff := cmp.Diff(digestFiles(t, filepath.Join(fresh, archive.DataDir)),
		digestFiles(t, filepath.Join(dir, archive.DataDir))); diff != "" {
		t.Errorf("days (-of a new folder +after the erasure):\n%s", diff)
	}
}

// TestLateSettlements checks that the file of a day is written again when settlements of the day are found later, and
// that no other file is.
func TestLateSettlements(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	dsn := historyTemplate.Database(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	dir := tempDir(t)
	o := dataOptions(moment.Add(time.Minute))
	run(t, db, dir, o)
	before := digestFiles(t, filepath.Join(dir, archive.DataDir))
	var day time.Time
	if err := postgrestest.Connect(t, dsn).QueryRow(t.Context(), `
		WITH one AS (SELECT day, token_id, payee_id, payer_id FROM payer_days WHERE day < '2026-11-15'
				ORDER BY day DESC, token_id, payee_id, payer_id LIMIT 1),
			more AS (UPDATE payer_days p SET settlements = p.settlements + 2, amount = p.amount + 20 FROM one
				WHERE p.day = one.day AND p.token_id = one.token_id AND p.payee_id = one.payee_id
				AND p.payer_id = one.payer_id),
			sums AS (UPDATE token_days t SET settlements = t.settlements + 2, amount = t.amount + 20 FROM one
				WHERE t.day = one.day AND t.token_id = one.token_id)
		SELECT day FROM one`).Scan(&day); err != nil {
		t.Fatal(err)
	}
	o.Now = o.Now.Add(time.Minute)
	r := run(t, db, dir, o)
	readDataIndex(t, unpackData(t, dir, r.Snapshot))
	name := data.Settlements.Name + "/" + day.Format(time.DateOnly) + ".parquet"
	after := digestFiles(t, filepath.Join(dir, archive.DataDir))
	if before[name] == after[name] {
		t.Errorf("%s is as before", name)
	}
	for other, sum := range before {
		if !strings.HasPrefix(other, name) && after[other] != sum {
			t.Errorf("%s has changed", other)
		}
	}
}

// TestSettlementsReadAgain checks that the file of a day is written again when a chain was read again and settlements of
// the day are of others now, though their number and sum are the same, and that no other file is.
func TestSettlementsReadAgain(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	db := open(t)
	addListings(t, db)
	settled := storeSettlements(t, db)
	dir := tempDir(t)
	o := dataOptions(moment.Add(time.Minute))
	run(t, db, dir, o)
	before := digestFiles(t, filepath.Join(dir, archive.DataDir))

	changed := slices.Clone(settled)
	slices.SortFunc(changed, func(a, b ledger.Settlement) int { return a.Time.Compare(b.Time) })
	i := slices.IndexFunc(changed, func(s ledger.Settlement) bool { return s.Time.After(moment.AddDate(0, 0, -20)) })
	changed[i].Payee, changed[i].Payer = account("c", 77), account("b", 77)
	day := changed[i].Time.UTC().Format(time.DateOnly)
	from := moment.AddDate(0, 0, -160).Truncate(24 * time.Hour)
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := db.BeginReplacement(ctx, ledger.ReplacementOptions{Network: chainBase, From: from,
		Tokens: []string{chainUSDC, chainEURC}})
	check(err)
	defer r.Close()
	check(r.OpenScans(ctx, chainBase, nil, 0, from, 0))
	scans, err := r.Scans(ctx, chainBase)
	check(err)
	for _, s := range scans {
		one := ledger.Range{Scan: s.ID, Network: chainBase, First: s.Next, Last: *s.End - 1, Hash: "0xhead", Time: moment}
		for _, settlement := range changed {
			if settlement.Block >= one.First && settlement.Block <= one.Last {
				one.Settlements = append(one.Settlements, settlement)
			}
		}
		_, err := r.CommitRanges(ctx, one)
		check(err)
	}
	done, err := r.Apply(ctx, moment)
	check(err)
	if done.Added != 1 || done.Removed != 1 || done.Changed != 1 || len(done.Days) != 1 ||
		done.Days[0].Format(time.DateOnly) != day {
		t.Fatalf("one settlement of %s has other accounts, but %+v", day, done)
	}

	o.Now = o.Now.Add(time.Minute)
	run(t, db, dir, o)
	after := digestFiles(t, filepath.Join(dir, archive.DataDir))
	name := data.Settlements.Name + "/" + day + ".parquet"
	for other, sum := range before {
		if is := strings.HasPrefix(other, name); is == (after[other] == sum) {
			t.Errorf("%s: changed %t, want %t", other, after[other] != sum, is)
		}
	}
	fresh := tempDir(t)
	run(t, db, fresh, o)
	if diff := cmp.Diff(digestFiles(t, filepath.Join(fresh, archive.DataDir)), after); diff != "" {
		t.Errorf("days (-of a new folder +of the old one):\n%s", diff)
	}
	o.Now = o.Now.Add(time.Minute)
	run(t, db, dir, o)
	if diff := cmp.Diff(after, digestFiles(t, filepath.Join(dir, archive.DataDir))); diff != "" {
		t.Errorf("the next build writes days again (-before +after):\n%s", diff)
	}
}

// TestAbandonedData checks that a build removes the temporary files of one that was killed while it wrote data files.
func TestAbandonedData(t *testing.T) {
	t.Parallel()
	db, dir := open(t), tempDir(t)
	run(t, db, dir, dataOptions(moment))
	left := filepath.Join(dir, ".tmp-data-sqlite")
	for _, path := range []string{left, left + "-journal", filepath.Join(dir, ".tmp-data-prices.csv")} {
		if err := os.WriteFile(path, []byte("half a fi"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := run(t, db, dir, dataOptions(moment.Add(time.Minute)))
	if names, err := filepath.Glob(filepath.Join(dir, ".tmp*")); err != nil || len(names) > 0 {
		t.Errorf("%q is left (%v)", names, err)
	}
	readDataIndex(t, unpackData(t, dir, r.Snapshot))
}
