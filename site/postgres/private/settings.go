package private

import (
	"net/url"
	"os"
	"slices"
	"strings"
)

// settings returns settings for the server's command line. There they apply to clusters of any version, and no file in
// the data folder overrides them.
func settings(o Options, clusterName, socketDir string) []string {
	list := []string{
		// Only the owner of socketDir can connect, and nobody by TCP.
		"listen_addresses=",
		"port=5432",
		"unix_socket_directories=" + quoteListItem(socketDir),
		"unix_socket_permissions=0700",
		"cluster_name=" + clusterName, // which all processes have among their arguments

		// For a small machine that also runs other programs.
		"max_connections=200", // of all programs that share it; an unused one costs little
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
		"logging_collector=off", // the server's stderr is the file of trimLog
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

// quoteListItem quotes a folder for a setting that is a list of folders.
func quoteListItem(dir string) string {
	return `"` + strings.ReplaceAll(dir, `"`, `""`) + `"`
}

// Variables that a child process inherits. All others stay here: they may be secrets, such as a signing key, or may
// change the server, as PGDATA, LC_ALL and TZ do.
var (
	// serverVariables are for the server's programs. The last ones let a user without an entry in /etc/passwd have a
	// name, in some containers.
	serverVariables = []string{"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LD_PRELOAD",
		"NSS_WRAPPER_PASSWD", "NSS_WRAPPER_GROUP"}

	// npmVariables are for npm besides.
	npmVariables = []string{"XDG_CACHE_HOME", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "SSL_CERT_FILE",
		"SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"}
)

// npmPrefix is how the names of variables begin that configure npm, in any case.
const npmPrefix = "NPM_CONFIG_"

// serverEnvironment returns the environment of the server's programs.
func serverEnvironment() []string {
	return environment(func(name string) bool { return slices.Contains(serverVariables, name) })
}

// npmEnvironment returns the environment of npm.
func npmEnvironment() []string {
	return environment(func(name string) bool {
		upper := strings.ToUpper(name) // proxies are named in either case
		return slices.Contains(serverVariables, name) || slices.Contains(npmVariables, upper) ||
			strings.HasPrefix(upper, npmPrefix)
	})
}

// environment returns the variables of this program whose names are allowed, and the server's language and time zone.
func environment(allowed func(name string) bool) []string {
	var env []string
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); allowed(name) {
			env = append(env, e)
		}
	}
	return append(env, "LC_ALL=C", "TZ=UTC")
}

// dsn returns a URL with every parameter, so that no PG* variable of the user can redirect a client.
func dsn(socketDir, database string) string {
	q := url.Values{"host": {socketDir}, "port": {"5432"}, "user": {superuser}, "sslmode": {"disable"}}
	// Not every client takes + for a space; a + itself is written %2B.
	return "postgres:///" + url.PathEscape(database) + "?" + strings.ReplaceAll(q.Encode(), "+", "%20")
}
