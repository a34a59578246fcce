// Tollbook behind CloudFront: a viewer-request function (runtime 2.0) printed by `tollbook edge cloudfront`.
// It rewrites requests for one finished file, if nothing in them is escaped, to the file's key in the bucket
// (origin "«.Bucket»"). Other requests go to a `tollbook serve` (origin "«.Serve»"). Publish with --expand all.
//
// Set the origin path of «.Bucket» to the prefix in the bucket. Make an origin group of «.Bucket» and, for its
// responses 403 and 404, «.Serve». Use a cache policy with all query strings in the key and with gzip.
// Rate rule for AWS WAF:
// {"RateBasedStatement": {"Limit": «.RateLimit», "EvaluationWindowSec": 60, "AggregateKeyType": "IP"}}
//
// Limits:
// - serve answers cut windows, searches, recommendations, filters and orders without files, logs, look-ups, earlier
//   snapshots and requests for JSON with unknown parameters.
«if .Lists»// - Pages of lists come from the bucket, without Link and without an empty list past the end.
«else»// - serve answers pages of lists, since only serve sets Link.
«end»// - The bucket's responses lack X-Snapshot and the contract's error bodies. Add nosniff, CORS and
//   Content-Security-Policy with a response headers policy, and
//   Link: «.License» for the paths /v1/* and /discovery/*.
// - The addresses of an IPv6 network count as separate clients.
// - During a publication, responses may come from two builds.
import cf from 'cloudfront';
var ROUTES = «.Routes»;
var FILE = /^(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)+\.(?:«.Extensions»)$/;
var COMMON = «.Common»;
var SERVES = /^(?:«.Serves»)/;
var PLAIN = /^[A-Za-z0-9._,-]*$/;

// hasOther returns whether a query has a value of a parameter that is neither common nor in a list: serve applies its
// rule, or names it as unknown.
function hasOther(query, params) {
  for (var name in query) {
    var known = name === '' || COMMON.indexOf(name) >= 0 || params.some(function (p) { return p[0] === name; });
    if (query[name].multiValue || query[name].value !== '' && !known) return true;
  }
  return false;
}

// keyOf returns the key of the file for a request, or '' for a request to serve.
function keyOf(path, query) {
  if (path.indexOf('/api/v1/') === 0) path = path.slice(4);
  for (var name in query) {
    if (/[%+]/.test(name) || SERVES.test(name + '=' + query[name].value)) return '';
  }
  if (FILE.test(path) && path.indexOf('/v1/lookup/') !== 0) {
    if (/\.json$/.test(path) && hasOther(query, [])) return '';
    return ROUTES.some(function (r) {
      if (r[4]) return new RegExp(r[0] + '\\.json$').test(path);
      return r[6] !== '' && path.indexOf(r[6]) === 0 && path.slice(-r[1].length) !== r[1];
    }) ? '' : path;
  }
  for (var i = 0; i < ROUTES.length; i++) {
    var r = ROUTES[i];
    if (!new RegExp(r[0] + '$').test(path)) continue;
    if (r[3] || r[1] === '.json' && hasOther(query, r[2])) return '';
    var bare = true, key = '', trim = '', sets = {};
    for (var j = 0; j < r[2].length; j++) {
      var p = r[2][j], sent = query[p[0]], v = '';
      if (sent) {
        if (sent.multiValue) return '';
        v = sent.value;
      }
      if (!PLAIN.test(v)) return '';
      if (v !== '') {
        bare = false;
        if (!new RegExp('^(?:' + p[1] + ')$').test(v)) return '';
        if (p[5] === 'integer' && (+v < p[6] || +v > p[7])) return '';
        if (p[5] === 'set') {
          var seen = v.split(',');
          if (seen.some(function (s, n) { return seen.indexOf(s) !== n; })) return '';
          v = seen.sort().join(',');
        }
      } else v = p[2];
      sets[p[0]] = v;
      if (p[3] !== '') { // trimmed
        var needs = p[4].split('=');
        if (v !== p[3] && (p[4] === '' || sets[needs[0]].split(',').indexOf(needs[1]) >= 0)) trim = 'yes';
        v = p[3];
      }
      if (v !== '') key += '/' + p[0] + '=' + v.replace(/,/g, '~2c');
    }
    if (bare) return r[5] ? '' : (path === '/' ? '/index' : path) + r[1];
    return trim ? '' : path + key + r[1];
  }
  return '';
}

function handler(event) {
  var request = event.request, key = '';
  if (request.method === 'GET' || request.method === 'HEAD') key = keyOf(request.uri, request.querystring);
  if (key === '') {
    cf.selectRequestOriginById('«.Serve»');
    return request;
  }
  request.uri = key;
  request.querystring = {};
  return request;
}
