// Tollbook behind CloudFront: a viewer-request function (runtime 2.0) printed by `tollbook edge cloudfront`.
// It rewrites plainly written requests for one finished file to the file's key, for the bucket (origin "«.Bucket»");
// the rest goes to a `tollbook serve` (origin "«.Serve»") as it is. Publish with --expand all.
//
// Set up: origin path of «.Bucket» = the prefix in the bucket; the behaviour's origin is a group, «.Bucket» and, where that
// answers 403 or 404, «.Serve»; a cache policy with all query strings in the key and gzip on.
// Rate rule, AWS WAF: {"RateBasedStatement": {"Limit": «.RateLimit», "EvaluationWindowSec": 60, "AggregateKeyType": "IP"}}
//
// What it can't do: cut windows, q, logs, look-ups, earlier snapshots (serve does); «if .Lists»Link to the next page, or
// an empty list past the end: lists come from the bucket (--lists);«else»pages of lists, whose Link only
// serve makes;«end» X-Snapshot and the contract's error bodies on what the bucket answers (add nosniff, CORS and
// Content-Security-Policy with a response headers policy); count an IPv6 network as one; see one build at a time.
import cf from 'cloudfront';
var ROUTES = «.Routes»;
var FILE = /^(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)+\.(?:«.Extensions»)$/;
var PLAIN = /^[A-Za-z0-9._,-]*$/;

// key of a request that one file answers; '' for serve's.
function keyOf(path, query) {
  if (path.indexOf('/api/v1/') === 0) path = path.slice(4);
  for (var name in query) {
    if (/[%+]/.test(name) || name === 'snapshot' && (query[name].multiValue || query[name].value !== '')) return '';
  }
  if (FILE.test(path) && path.indexOf('/v1/lookup/') !== 0) {
    return ROUTES.some(function (r) {
      if (r[4]) return new RegExp(r[0] + '\\.json$').test(path);
      return r[6] !== '' && path.indexOf(r[6]) === 0 && path.slice(-r[1].length) !== r[1];
    }) ? '' : path;
  }
  for (var i = 0; i < ROUTES.length; i++) {
    var r = ROUTES[i];
    if (!new RegExp(r[0] + '$').test(path)) continue;
    if (r[3]) return '';
    var bare = true, key = '', trim = '', sets = {};
    for (var j = 0; j < r[2].length; j++) {
      var p = r[2][j], given = query[p[0]], v = '';
      if (given) {
        if (given.multiValue) return '';
        v = given.value;
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
