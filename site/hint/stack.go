package hint

import (
	"bytes"
	"net/http"
	"strings"
)

// The programs for which there is a fix as code.
const (
	express    = "Express"
	hono       = "Hono"
	next       = "Next.js"
	fastAPI    = "FastAPI"
	goHTTP     = "Go"
	nginx      = "nginx"
	cloudflare = "Cloudflare"
)

// evidence lists the headers that name the program that answered. A program counts only if a header names it. The
// application comes before the proxies in front of it.
var evidence = []struct {
	stack, header string
	word          string // in lower case, anywhere in the value; "" for any value
}{
	{express, "X-Powered-By", "express"},
	{hono, "X-Powered-By", "hono"},
	{next, "X-Powered-By", "next.js"},
	{next, "X-Nextjs-Cache", ""},
	{next, "X-Nextjs-Prerender", ""},
	{fastAPI, "Server", "uvicorn"},
	{fastAPI, "X-Powered-By", "fastapi"},
	{goHTTP, "X-Powered-By", "golang"},
	{goHTTP, "X-Powered-By", "gin"},
	{goHTTP, "Server", "fasthttp"},
	{nginx, "Server", "nginx"},
	{nginx, "Server", "openresty"},
	{nginx, "Via", "nginx"},
	{cloudflare, "Server", "cloudflare"},
	{cloudflare, "Cf-Ray", ""},
	{cloudflare, "Via", "cloudflare"},
}

// Stacks returns the programs that a response names, the application first.
func Stacks(h http.Header, body []byte) (list []string) {
	add := func(stack string) {
		for _, s := range list {
			if s == stack {
				return
			}
		}
		list = append(list, stack)
	}
	for _, e := range evidence {
		for _, value := range h.Values(e.header) {
			if hasWord(strings.ToLower(value), e.word) {
				add(e.stack)
			}
		}
	}
	// The middleware of the Go SDK writes the terms into the header, and null as the body.
	if len(h.Values("Payment-Required")) > 0 && bytes.Equal(body, []byte("null\n")) {
		list = append([]string{goHTTP}, list...)
	}
	return list
}

// hasWord reports whether a value contains a word that no letter precedes or follows.
func hasWord(value, word string) bool {
	for from := 0; ; {
		at := strings.Index(value[from:], word)
		if at < 0 {
			return false
		}
		at += from
		end := at + len(word)
		if (at == 0 || !isLetter(value[at-1])) && (end == len(value) || !isLetter(value[end])) || word == "" {
			return true
		}
		from = at + 1
	}
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }

// snippet returns the fix of a hint for a program as code, "" if there is none. f is an endpoint that it concerns.
func snippet(code, stack string, f *Facts) string {
	text := snippets[code][stack]
	n, _ := needsOf(f)
	allow, expose := []string{"Content-Type", n.pay}, []string{}
	for _, name := range []string{n.read, n.paid} {
		if name != "" {
			expose = append(expose, name)
		}
	}
	quoted := func(list []string) string { return `"` + strings.Join(list, `", "`) + `"` }
	return strings.NewReplacer("ALLOW_LIST", quoted(allow), "EXPOSE_LIST", quoted(expose),
		"ALLOW_TEXT", strings.Join(allow, ", "), "EXPOSE_TEXT", strings.Join(expose, ", ")).Replace(text)
}

// snippets are fixes as code, by hint and program. ALLOW and EXPOSE stand for the names of headers.
var snippets = map[string]map[string]string{
	browserBlocked: {
		express: `import cors from "cors"

app.use(cors({ // before the payment middleware
  allowedHeaders: [ALLOW_LIST],
  exposedHeaders: [EXPOSE_LIST],
}))
`,
		hono: `import { cors } from "hono/cors"

app.use("*", cors({ // before the payment middleware
  origin: "*",
  allowHeaders: [ALLOW_LIST],
  exposeHeaders: [EXPOSE_LIST],
}))
`,
		next: `// next.config.js
headers: async () => [{
  source: "/api/:path*",
  headers: [
    { key: "Access-Control-Allow-Origin", value: "*" },
    { key: "Access-Control-Allow-Methods", value: "GET, POST, PUT, PATCH, DELETE, OPTIONS" },
    { key: "Access-Control-Allow-Headers", value: "ALLOW_TEXT" },
    { key: "Access-Control-Expose-Headers", value: "EXPOSE_TEXT" },
  ],
}]

// in each paid route; let the payment middleware pass OPTIONS
export const OPTIONS = () => new Response(null, { status: 204 })
`,
		fastAPI: `from fastapi.middleware.cors import CORSMiddleware

app.add_middleware(  # after the payment middleware is added: the last one runs first
    CORSMiddleware,
    allow_origins=["*"],
    allow_methods=["*"],
    allow_headers=[ALLOW_LIST],
    expose_headers=[EXPOSE_LIST],
)
`,
		goHTTP: `func allowBrowsers(paid http.Handler) http.Handler { // around the payment middleware
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Expose-Headers", "EXPOSE_TEXT")
		if r.Method == http.MethodOptions {
			w.Header().Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
			w.Header().Set("Access-Control-Allow-Headers", "ALLOW_TEXT")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		paid.ServeHTTP(w, r)
	})
}
`,
		nginx: `# in the location of the paid paths, unless the application behind it sends these headers itself
if ($request_method = OPTIONS) {
    add_header Access-Control-Allow-Origin "*";
    add_header Access-Control-Allow-Methods "GET, POST, PUT, PATCH, DELETE";
    add_header Access-Control-Allow-Headers "ALLOW_TEXT";
    return 204;
}
add_header Access-Control-Allow-Origin "*" always;
add_header Access-Control-Expose-Headers "EXPOSE_TEXT" always;
`,
		cloudflare: `// a Worker in front of the origin
const cors = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
  "Access-Control-Allow-Headers": "ALLOW_TEXT",
  "Access-Control-Expose-Headers": "EXPOSE_TEXT",
}
export default {
  async fetch(request) {
    if (request.method === "OPTIONS") return new Response(null, { status: 204, headers: cors })
    const answer = await fetch(request)
    const copy = new Response(answer.body, answer)
    for (const [name, value] of Object.entries(cors)) copy.headers.set(name, value)
    return copy
  },
}
`,
	},
	inputBeforePayment: {
		express: `app.use(paymentMiddleware(routes, server)) // first
app.use(express.json())
app.post("/search", validateInput, handler) // then check the input
`,
		hono: `app.use(paymentMiddleware(routes, server)) // first
app.post("/search", zValidator("json", schema), handler) // then check the input
`,
		next: `// check the input in the handler that withX402 wraps, not before it
const handler = async request => {
  const input = schema.parse(await request.json())
  return Response.json(await search(input))
}
export const POST = withX402(handler, terms, server)
`,
		fastAPI: `# A dependency runs after FastAPI has checked the body. A middleware runs before.
app.middleware("http")(payment_middleware(routes, server))
`,
		goHTTP: `http.Handle("POST /search", payment(validateInput(search))) // payment outside, input inside
`,
	},
	schemaMissing: {
		express: v1Schema,
		hono:    v1Schema,
		next:    v1Schema,
	},
	cacheable402: {
		express: `app.use((request, response, next) => { // before the payment middleware
  response.set("Cache-Control", "no-store")
  next()
})
`,
		hono: `app.use("*", async (c, next) => { // before the payment middleware
  await next()
  if (c.res.status === 402) c.header("Cache-Control", "no-store")
})
`,
		next: `// next.config.js
headers: async () => [{
  source: "/api/:path*",
  headers: [{ key: "Cache-Control", value: "no-store" }],
}]
`,
		fastAPI: `@app.middleware("http")  # after the payment middleware is added: the last one runs first
async def never_cache_402(request, call_next):
    response = await call_next(request)
    if response.status_code == 402:
        response.headers["Cache-Control"] = "no-store"
    return response
`,
		goHTTP: `func neverCache(paid http.Handler) http.Handler { // around the payment middleware
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		paid.ServeHTTP(w, r)
	})
}
`,
		nginx: `# outside of server
map $status $cache_of_answer {
    402     no-store;
    default $upstream_http_cache_control;
}
# in the location of the paid paths
proxy_hide_header Cache-Control;
add_header Cache-Control $cache_of_answer always;
`,
		cloudflare: `# Caching > Cache Rules, for the paid paths
When: (starts_with(http.request.uri.path, "/api/"))
Then: Bypass cache
`,
	},
	headersLarge: {
		nginx: `# nginx as the proxy in front of the service
proxy_buffer_size       32k;
proxy_buffers           8 32k;
proxy_busy_buffers_size 64k;
`,
	},
	namedElsewhere: {
		express: `app.set("trust proxy", 1) // the number of proxies in front of the service
`,
		fastAPI: `uvicorn app:app --proxy-headers --forwarded-allow-ips="10.0.0.1"  # the address of the proxy
`,
		nginx: `proxy_set_header Host              $host;
proxy_set_header X-Forwarded-Host  $host;
proxy_set_header X-Forwarded-Proto $scheme;
`,
	},
}

// v1Schema is the configuration of a route in the middlewares of x402 version 1, which are alike.
const v1Schema = `"POST /search": {
  price: "$0.01",
  network: "base",
  config: {
    discoverable: true,
    inputSchema: { bodyType: "json", bodyFields: { query: { type: "string", required: true } } },
    outputSchema: { results: { type: "array" } },
  },
},
`
