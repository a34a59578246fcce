# Runs ponder on the project in folder $1, on port $2. "install" FOLDER copies the project and installs its modules.
set -e
. "$(dirname "$0")/apt.sh"
need node nodejs
need npm npm
if [ "$1" = install ]; then
	mkdir -p "$2"
	cp -R "$(dirname "$0")/ponder/." "$2"
	cd "$2"
	[ -d node_modules/ponder ] || npm install --ignore-scripts --no-audit --no-fund >&2
	exit
fi
cd "$1"
rm -rf .ponder
export PONDER_TELEMETRY_DISABLED=true
exec node node_modules/ponder/dist/esm/bin/ponder.js start --port "$2" --hostname 127.0.0.1 --schema bench
