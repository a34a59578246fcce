package facts

// identityDigital is the RDAP server of the registry of several countries' domains.
const identityDigital = "https://rdap.identitydigital.services/rdap/"

// unlistedServers are RDAP servers, by top-level domain, that work without being in IANA's list. Their registries
// publish them at the URLs in SOURCES.md. IANA's list counts first: a registry that enters it later is asked as it says
// there. A domain without a server, here or there, has an unknown age, which is never young.
var unlistedServers = map[string]string{
	"ac": identityDigital,
	"ag": identityDigital,
	"bz": identityDigital,
	"io": identityDigital,
	"lc": identityDigital,
	"me": identityDigital,
	"mn": identityDigital,
	"pr": identityDigital,
	"sc": identityDigital,
	"sh": identityDigital,
	"vc": identityDigital,

	"ch": "https://rdap.nic.ch/",
	"co": "https://rdap.nic.co/",
	"de": "https://rdap.denic.de/", // says when a domain was changed, not when it was registered
	"li": "https://rdap.nic.li/",
	"nl": "https://rdap.sidn.nl/",
}
