# Runs nginx, tuned as its documentation recommends for static files, with its files in folder $1: as many workers as
# cores, no log, a cache of open files, persistent connections, compressed copies. With two more arguments it serves
# the tree $3 on the address $2; with one, the servers that file $2 configures.
set -e
. "$(dirname "$0")/apt.sh"
need nginx nginx-light
[ "$1" = install ] && exit
cat >"$1/nginx.conf" <<END
$([ "$(id -u)" = 0 ] && echo "user root;") # the account that runs the bench may read the files
worker_processes $(nproc);
daemon off;
pcre_jit on;
pid nginx.pid;
error_log stderr error;
events { worker_connections 4096; }
http {
	access_log off;
	sendfile on;
	tcp_nopush on;
	tcp_nodelay on;
	keepalive_timeout 120s;
	keepalive_requests 1000000000;
	open_file_cache max=10000 inactive=10m;
	open_file_cache_valid 10m;
	open_file_cache_min_uses 1;
	types { application/json json; text/html html; }
	client_body_temp_path body;
	proxy_temp_path proxy;
	fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
$(if [ -n "$3" ]; then echo "	gzip_static always;
	gzip_vary on;
	server {
		listen $2;
		root \"$3\";
	}"; else echo "	include \"$2\";"; fi)
}
END
exec nginx -p "$1" -c "$1/nginx.conf"
