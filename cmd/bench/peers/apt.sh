# Sourced by the other scripts: installs a Debian package if its program is missing.
need() {
	command -v "$1" >/dev/null || apt-get install -y --no-install-recommends "$2" >&2
}
# Compiles a program of a Go module at a version into the folder where tests look for such programs.
compiled() {
	bin=${XDG_CACHE_HOME:-$HOME/.cache}/tollbook/bin
	name=${1##*/}
	go version -m "$bin/$name" 2>/dev/null | grep -q "mod.*${2}" || GOFLAGS= GOBIN=$bin go install "$1@$2" >&2
	echo "$bin/$name"
}
