package crowd

import (
	"math"
	"math/rand/v2"
	"strings"

	"tollbook/site"
)

// topics are topics of services by category, in the words of real services.
var topics = map[string][]string{
	"AI": words(
		`chat completion embeddings image generation speech transcription translation summary agent memory
		prompt vision caption classifier moderation rerank inference code review voice avatar`),
	"Blockchain": words(
		`token balances wallet portfolio onchain transaction decoder gas oracle bridge swap quote NFT
		metadata holders mempool validator contract audit ENS block explorer staking yield`),
	"Compute": words(
		`sandbox browser session screenshot PDF rendering container job queue storage upload GPU rental
		function runner proxy scraping cron headless video transcoding`),
	"Content": words(
		`article archive newsletter recipe photo music lyrics podcast video transcript joke quote story ebook
		map tiles icon font meme template`),
	"Data": words(
		`weather forecast geocoding company registry flight status sports scores jobs listing patents search
		domain WHOIS postal address holidays census earthquake air quality product barcode`),
	"Finance": words(
		`stock price options chain earnings calendar exchange rate funding rate order book crypto market
		sentiment SEC filings macro indicator portfolio risk bond curve invoice tax VAT`),
	"Other": words(
		`random number dice fortune greeting reminder webhook relay echo time zone converter QR code short
		link poll survey physical mail gift card phone number`),
	"Verification": words(
		`identity check KYC sanctions screening email validation phone lookup IBAN proof signature
		attestation reputation score captcha malware scan URL safety certificate compliance`),
}

var (
	verbs = words(
		`Search Lookup Verify Convert Extract Summarize Score Rank Fetch Monitor Compare Resolve Generate
		Analyse Screen Enrich Detect Forecast`)
	nouns  = words("API Feed Service Endpoint Gateway Engine Hub Index Desk Stream Oracle Tools Kit Cloud Labs Works")
	common = words(
		`for agents per call real time with fast answers from public records and live sources as JSON no
		account no key needed pay only what you use batch requests history since global coverage low latency
		ranked results confidence updated every hour structured clean compact machine readable citations
		included`)
	onsets = words("b br c cl d dr f fl g gr h j k l m n p pl qu r s st t tr v w z")
	vowels = words("a e i o u ai ea io oa ou")
	codas  = words("n r l x m s t v nd rk lt th")
)

var registrars = []string{"NameCheap, Inc.", "Cloudflare, Inc.", "GoDaddy.com, LLC", "Squarespace Domains II LLC",
	"Porkbun LLC", "Gandi SAS", "Tucows Domains Inc.", "Dynadot Inc"}

func words(s string) []string { return strings.Fields(s) }

// brand returns an unused brand name.
func brand(r *rand.Rand) string {
	var b strings.Builder
	for range 2 {
		b.WriteString(onsets[r.IntN(len(onsets))] + vowels[r.IntN(len(vowels))])
	}
	return b.String() + codas[r.IntN(len(codas))]
}

// describe returns a description for a category. Half of all descriptions have less than 50 letters.
func describe(r *rand.Rand, category string) string {
	length := min(480, int(48*math.Exp(0.6*r.NormFloat64())))
	text := pick(r, verbs)
	for len(text) < length {
		from := common
		if r.IntN(2) == 0 {
			from = topics[category]
		}
		text += " " + pick(r, from)
	}
	return text + "."
}

// shareOfCategory gives the categories of a hundred services, in the order of site.Categories.
var shareOfCategory = []float64{16, 10, 8, 7, 30, 18, 5, 6}

func category(r *rand.Rand) string { return site.Categories[chosen(r, shareOfCategory)] }

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
