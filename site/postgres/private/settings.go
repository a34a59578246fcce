package private

import (
	"net/url"
	"os"
	"strings"
)

// settings are given on the server's command line, so that they hold for
// clusters of any age and nothing in the data folder can turn them around.
func settings(o Options, socketDir string) []string {
	list := []string{
		// Nobody but the owner of socketDir, and nothing by TCP.
		"listen_addresses=",
		"port=5432",
		"unix_socket_directories=" + quoteListItem(socketDir),
		"unix_socket_permissions=0700",

		// A small machine that does other things too.
		"max_connections=60",
		"shared_buffers=128MB",
		"effective_cache_size=512MB",
		"work_mem=8MB",
		"maintenance_work_mem=64MB",
		"max_wal_size=512MB",
		"min_wal_size=64MB",
		"wal_compression=on",
		"checkpoint_timeout=10min",
		"random_page_cost=1.1",
		"jit=off", // queries are short; compiling them takes longer than running them

		"timezone=UTC",
		"log_timezone=UTC",
		"logging_collector=off", // the server's stderr is ours: see rotatingLog
		"log_destination=stderr",
		"log_line_prefix=%m [%p] %q%d ",
		"log_checkpoints=off",
		"lc_messages=C",
	}
	if o.Throwaway {
		list = append(list, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	} else {
		list = append(list, "fsync=on", "full_page_writes=on")
	}
	return append(list, o.Settings...)
}

// quoteListItem writes one folder for a setting that is a list of them.
func quoteListItem(dir string) string {
	return `"` + strings.ReplaceAll(dir, `"`, `""`) + `"`
}

// environment is ours without what would change the server's mind: PGDATA,
// PGPORT and their like, languages, and the time zone.
func environment() []string {
	var env []string
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, "PG") || strings.HasPrefix(name, "LC_") || name == "LANG" || name == "LANGUAGE" ||
			name == "TZ" {
			continue
		}
		env = append(env, e)
	}
	return append(env, "LC_ALL=C", "TZ=UTC")
}

// dsn is a URL that names everything, so that no PG* variable of the user's
// can lead a client elsewhere.
func dsn(socketDir, database string) string {
	q := url.Values{"host": {socketDir}, "port": {"5432"}, "user": {superuser}, "sslmode": {"disable"}}
	// Not every client takes + for a space; a + itself is written %2B.
	return "postgres:///" + url.PathEscape(database) + "?" + strings.ReplaceAll(q.Encode(), "+", "%20")
}
