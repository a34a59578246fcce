package probe

import (
	"fmt"
	"strconv"
)

// forbiddenPorts names the ports above 1023 that are never dialled. A mail server, a shell or a database may read a GET
// as commands (Redis, SMTP and memcached read lines), and no paid API uses these ports.
var forbiddenPorts = map[uint16]string{
	1080: "SOCKS", 1099: "Java RMI", 1433: "SQL Server", 1434: "SQL Server", 1521: "Oracle", 1522: "Oracle",
	1526: "Oracle", 1583: "Pervasive SQL", 1883: "MQTT", 2049: "NFS", 2222: "SSH", 2375: "Docker", 2376: "Docker",
	2377: "Docker", 2379: "etcd", 2380: "etcd", 2483: "Oracle", 2484: "Oracle", 2525: "SMTP", 2638: "Sybase",
	3050: "Firebird", 3306: "MySQL", 3307: "MySQL", 3351: "Pervasive SQL", 3389: "remote desktop", 4190: "ManageSieve",
	4333: "mSQL", 5060: "SIP", 5061: "SIP", 5432: "PostgreSQL", 5433: "PostgreSQL", 5439: "Redshift",
	5555: "Android debug bridge", 5671: "AMQP", 5672: "AMQP", 5800: "VNC", 5900: "VNC", 5901: "VNC", 5902: "VNC",
	5903: "VNC", 5984: "CouchDB", 5985: "WinRM", 5986: "WinRM", 6000: "X11", 6001: "X11", 6002: "X11", 6003: "X11",
	6379: "Redis", 6380: "Redis", 6432: "PgBouncer", 6665: "IRC", 6666: "IRC", 6667: "IRC", 6668: "IRC", 6669: "IRC",
	6697: "IRC", 7199: "Cassandra", 7473: "Neo4j", 7474: "Neo4j", 7687: "Neo4j", 8086: "InfluxDB", 8529: "ArangoDB",
	8883: "MQTT", 9042: "Cassandra", 9092: "Kafka", 9142: "Cassandra", 9160: "Cassandra", 9200: "Elasticsearch",
	9300: "Elasticsearch", 10024: "mail filter", 10025: "mail filter", 10026: "mail filter", 10250: "kubelet",
	10255: "kubelet", 11210: "Couchbase", 11211: "memcached", 16379: "Redis", 22222: "SSH", 26257: "CockroachDB",
	26379: "Redis", 27017: "MongoDB", 27018: "MongoDB", 27019: "MongoDB", 28015: "RethinkDB", 28017: "MongoDB",
	29015: "RethinkDB", 33060: "MySQL", 50000: "DB2",
}

// checkPort refuses a port that is not for web services. An empty port is the default of the scheme.
func checkPort(port string) error {
	if port == "" || port == "80" || port == "443" {
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("%w: %q is not a port", ErrRefused, clip(port))
	}
	if n < 1024 {
		return fmt.Errorf("%w: port %d is not for web services; use 80, 443 or one above 1023", ErrRefused, n)
	}
	if service, ok := forbiddenPorts[uint16(n)]; ok {
		return fmt.Errorf("%w: port %d is used by %s", ErrRefused, n, service)
	}
	return nil
}
