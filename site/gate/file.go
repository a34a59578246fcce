package gate

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"tollbook/site"
)

// The file of a snapshot that payers ask (data/gate.bin). Integers are big-endian, uvarint is LEB128:
//
//	0       8   "TBGATE1\n"
//	8       8   built_at: Unix time in milliseconds
//	16      4   number of hosts
//	20      4   number of URLs
//	24    256 × for each bucket: its length in bytes (4) and its SHA-256 (32)
//	9240        the buckets, one after the other
//
// A host is what the normal form of a URL has between "://" and the next slash. The first byte of its SHA-256 is its
// bucket, which is a run of records, by hash:
//
//	7           bytes 1 to 7 of the host's SHA-256
//	uvarint     length of the rest of the record
//	uvarint     number of tokens; for each:
//	  16        of the SHA-256 of NormalRecipient(network, recipient)
//	  6         of the SHA-256 of NormalRecipient(network, asset)
//	            for each URL to the end of the record, by hash:
//	  5         of the SHA-256 of the URL in normal form
//	  1         its Level
//	  uvarint   number of options; for each:
//	    uvarint place of its token
//	    1, uvarint  e and m: the largest amount is m × 10^e
//
// 40 bits tell the URLs of one host apart, because a wrong answer there still needs the recipient, whose 128 bits nobody
// can meet. The signature of the header is in the publication's checkpoint, so that one key signs both.
const (
	magic = "TBGATE1\n"
	// HeaderSize is the size of the header in bytes. The checkpoint names its SHA-256.
	HeaderSize = 24 + buckets*bucketEntry

	buckets       = 256
	bucketEntry   = 4 + sha256.Size
	hostBytes     = 7
	urlBytes      = 5
	payToBytes    = 16
	assetBytes    = 6
	tokenBytes    = payToBytes + assetBytes
	maxAmountBits = 256
)

// Level is the verdict on a URL as the file has it.
type Level byte

// Levels, which are those of site.AdviceLevels.
const (
	LevelUnknown Level = iota
	LevelGood
	LevelCaution
	LevelDanger
)

// LevelOf returns the level of a published verdict on what clients are, or are not, sent to.
func LevelOf(advice string, payable bool) Level {
	switch {
	case advice == site.AdviceDoNotPay:
		return LevelDanger
	case !payable:
		return LevelUnknown
	case advice == site.AdviceGood:
		return LevelGood
	case advice == site.AdviceCaution:
		return LevelCaution
	}
	return LevelUnknown
}

// severity orders levels from the best to the worst.
var severity = [...]int{LevelGood: 0, LevelCaution: 1, LevelUnknown: 2, LevelDanger: 3}

// Option is a way to pay at a URL that was observed.
type Option struct {
	Network string // CAIP-2
	Asset   string
	PayTo   string
	Amount  string // in atomic units
}

// token is what an option pays and to whom, hashed.
type token [tokenBytes]byte

func newToken(network, asset, payTo string) (t token) {
	to := sha256.Sum256([]byte(site.NormalRecipient(network, payTo)))
	of := sha256.Sum256([]byte(site.NormalRecipient(network, asset)))
	copy(t[:payToBytes], to[:])
	copy(t[payToBytes:], of[:])
	return t
}

func (t token) payTo() [payToBytes]byte { return [payToBytes]byte(t[:payToBytes]) }

// Writer collects what was observed, and encodes it.
type Writer struct{ hosts map[string]map[string]*terms }

// terms are what was observed at one URL.
type terms struct {
	level   Level
	amounts []price // the largest of each token
}

// price is an amount of a token. Most URLs have one or two, and a map has room for eight.
type price struct {
	token  token
	amount *big.Int
}

// Add adds what was observed at a URL in normal form. Of several calls for one URL, the worst level and the largest
// amounts count. Options without an amount that can be paid are left out.
func (w *Writer) Add(normal string, level Level, options []Option) {
	host := hostOf(normal)
	if host == "" {
		return
	}
	if w.hosts == nil {
		w.hosts = map[string]map[string]*terms{}
	}
	if w.hosts[host] == nil {
		w.hosts[host] = map[string]*terms{}
	}
	t := w.hosts[host][normal]
	if t == nil {
		t = &terms{level: level}
		w.hosts[host][normal] = t
	}
	if severity[level] > severity[t.level] {
		t.level = level
	}
	for _, o := range options {
		amount, ok := parseAmount(o.Amount)
		if !ok || o.Network == "" {
			continue
		}
		key := newToken(o.Network, o.Asset, o.PayTo)
		if i := slices.IndexFunc(t.amounts, func(p price) bool { return p.token == key }); i < 0 {
			t.amounts = append(t.amounts, price{key, amount})
		} else if t.amounts[i].amount.Cmp(amount) < 0 {
			t.amounts[i].amount = amount
		}
	}
}

// parseAmount parses a whole number of atomic units.
func parseAmount(s string) (*big.Int, bool) {
	if s == "" || len(s) > 78 || strings.Trim(s, "0123456789") != "" {
		return nil, false
	}
	n, ok := new(big.Int).SetString(s, 10)
	return n, ok && n.BitLen() <= maxAmountBits
}

// hostOf returns the host of a URL in normal form, with its port; "" if it has none.
func hostOf(normal string) string {
	_, rest, _ := strings.Cut(normal, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// hashed is a host or a URL by its hash.
type hashed struct {
	sum  [sha256.Size]byte
	name string
}

func byHash(names []string) []hashed {
	list := make([]hashed, len(names))
	for i, name := range names {
		list[i] = hashed{sha256.Sum256([]byte(name)), name}
	}
	slices.SortFunc(list, func(a, b hashed) int { return bytes.Compare(a.sum[:], b.sum[:]) })
	return list
}

// Encode returns the file as of a time.
func (w *Writer) Encode(builtAt time.Time) ([]byte, error) {
	var bodies [buckets][]byte
	urls := 0
	for _, h := range byHash(slices.Collect(maps.Keys(w.hosts))) {
		record, err := encodeHost(w.hosts[h.name])
		if err != nil {
			return nil, fmt.Errorf("encode %.100s: %w", h.name, err)
		}
		b := append(bodies[h.sum[0]], h.sum[1:1+hostBytes]...)
		b = binary.AppendUvarint(b, uint64(len(record)))
		bodies[h.sum[0]] = append(b, record...)
		urls += len(w.hosts[h.name])
	}
	out := append(make([]byte, 0, HeaderSize), magic...)
	out = binary.BigEndian.AppendUint64(out, uint64(builtAt.UnixMilli()))
	out = binary.BigEndian.AppendUint32(out, uint32(len(w.hosts)))
	out = binary.BigEndian.AppendUint32(out, uint32(urls))
	for _, b := range bodies {
		sum := sha256.Sum256(b)
		out = binary.BigEndian.AppendUint32(out, uint32(len(b)))
		out = append(out, sum[:]...)
	}
	for _, b := range bodies {
		out = append(out, b...)
	}
	return out, nil
}

// encodeHost returns the record of a host from its tokens on.
func encodeHost(of map[string]*terms) ([]byte, error) {
	places := map[token]int{}
	for _, t := range of {
		for _, p := range t.amounts {
			places[p.token] = 0
		}
	}
	tokens := slices.SortedFunc(maps.Keys(places), func(a, b token) int { return bytes.Compare(a[:], b[:]) })
	out := binary.AppendUvarint(nil, uint64(len(tokens)))
	for i, key := range tokens {
		places[key] = i
		out = append(out, key[:]...)
	}
	var last []byte
	for _, u := range byHash(slices.Collect(maps.Keys(of))) {
		if hash := u.sum[:urlBytes]; bytes.Equal(hash, last) {
			return nil, fmt.Errorf("two URLs have the hash %x", hash)
		}
		last = u.sum[:urlBytes]
		t := of[u.name]
		out = append(append(out, u.sum[:urlBytes]...), byte(t.level))
		out = binary.AppendUvarint(out, uint64(len(t.amounts)))
		slices.SortFunc(t.amounts, func(a, b price) int { return cmp.Compare(places[a.token], places[b.token]) })
		for _, p := range t.amounts {
			out = binary.AppendUvarint(out, uint64(places[p.token]))
			out = appendAmount(out, p.amount)
		}
	}
	return out, nil
}

// appendAmount appends an amount as m × 10^e, with the largest e.
func appendAmount(out []byte, amount *big.Int) []byte {
	m, e, ten := new(big.Int).Set(amount), byte(0), big.NewInt(10)
	for m.Sign() > 0 {
		tenth, rest := new(big.Int).QuoRem(m, ten, new(big.Int))
		if rest.Sign() != 0 {
			break
		}
		m, e = tenth, e+1
	}
	out = append(out, e)
	low := big.NewInt(0x7f)
	for m.BitLen() > 7 {
		out = append(out, byte(new(big.Int).And(m, low).Uint64())|0x80)
		m.Rsh(m, 7)
	}
	return append(out, byte(m.Uint64()))
}

// ErrDamaged marks a file that no program of Tollbook wrote, or that was changed since.
var ErrDamaged = errors.New("the gate's file is damaged")

// Header is the first part of the file.
type Header struct {
	BuiltAt time.Time // when the facts were read
	Hosts   int
	URLs    int

	lengths [buckets]uint32
	sums    [buckets][sha256.Size]byte
}

// maxBucket is the size in bytes up to which a bucket is read.
const maxBucket = 4 << 20

// ParseHeader parses the first HeaderSize bytes of the file.
func ParseHeader(data []byte) (*Header, error) {
	if len(data) < HeaderSize || string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: it does not begin as one", ErrDamaged)
	}
	h := &Header{
		BuiltAt: time.UnixMilli(int64(binary.BigEndian.Uint64(data[8:]))).UTC(),
		Hosts:   int(binary.BigEndian.Uint32(data[16:])), URLs: int(binary.BigEndian.Uint32(data[20:])),
	}
	for i := range h.lengths {
		entry := data[24+i*bucketEntry:]
		if h.lengths[i] = binary.BigEndian.Uint32(entry); h.lengths[i] > maxBucket {
			return nil, fmt.Errorf("%w: a bucket has %d bytes, the limit is %d", ErrDamaged, h.lengths[i], maxBucket)
		}
		copy(h.sums[i][:], entry[4:])
	}
	return h, nil
}

// Bucket returns the place and the size in bytes of the bucket of a URL in normal form.
func (h *Header) Bucket(normal string) (at, size int64) {
	n := int(sha256.Sum256([]byte(hostOf(normal)))[0])
	at = HeaderSize
	for _, length := range h.lengths[:n] {
		at += int64(length)
	}
	return at, int64(h.lengths[n])
}

// Record is what the file has about one URL.
type Record struct {
	level   Level
	amounts map[token]*big.Int
}

// Find returns what the bucket of a URL has about it, nil if the URL is not listed. It returns an error that wraps
// ErrDamaged unless the header has the bucket's sum.
func (h *Header) Find(bucket []byte, normal string) (*Record, error) {
	host, sum := sha256.Sum256([]byte(hostOf(normal))), sha256.Sum256([]byte(normal))
	if sha256.Sum256(bucket) != h.sums[host[0]] {
		return nil, fmt.Errorf("%w: bucket %d is not the one that its header names", ErrDamaged, host[0])
	}
	in := &input{rest: bucket}
	for len(in.rest) > 0 && in.err == nil {
		name := in.next(hostBytes)
		record := in.next(in.number())
		if in.err == nil && bytes.Equal(name, host[1:1+hostBytes]) {
			return findURL(record, sum[:urlBytes])
		}
	}
	return nil, in.err
}

// findURL returns what the record of a host has about the URL with a hash.
func findURL(record, hash []byte) (*Record, error) {
	in := &input{rest: record}
	n := in.number()
	tokens := in.next(n * tokenBytes)
	for len(in.rest) > 0 && in.err == nil {
		found := bytes.Equal(in.next(urlBytes), hash)
		r := &Record{amounts: map[token]*big.Int{}}
		if level := in.next(1); in.err == nil {
			r.level = Level(level[0])
		}
		for range in.number() {
			place, amount := in.number(), in.amount()
			if place >= n {
				in.fail()
			}
			if in.err != nil {
				break
			}
			if found {
				r.amounts[token(tokens[place*tokenBytes:])] = amount
			}
		}
		if r.level > LevelDanger {
			in.fail()
		}
		if found && in.err == nil {
			return r, nil
		}
	}
	return nil, in.err
}

// input is the rest of a bucket or record. After an error it returns zero values.
type input struct {
	rest []byte
	err  error
}

func (in *input) fail() {
	in.rest = nil
	in.err = cmp.Or(in.err, fmt.Errorf("%w: a record ends before its end", ErrDamaged))
}

// next returns the next n bytes.
func (in *input) next(n int) []byte {
	if n < 0 || n > len(in.rest) {
		in.fail()
		return nil
	}
	b := in.rest[:n]
	in.rest = in.rest[n:]
	return b
}

// number reads a length or a place.
func (in *input) number() int {
	v, n := binary.Uvarint(in.rest)
	if n <= 0 || v > maxBucket {
		in.fail()
		return 0
	}
	in.rest = in.rest[n:]
	return int(v)
}

func (in *input) amount() *big.Int {
	exponent := in.next(1)
	m := new(big.Int)
	for shift := uint(0); in.err == nil; shift += 7 {
		b := in.next(1)
		if in.err != nil || shift > maxAmountBits {
			break
		}
		m.Or(m, new(big.Int).Lsh(big.NewInt(int64(b[0]&0x7f)), shift))
		if b[0] < 0x80 {
			if exponent[0] > 78 {
				break
			}
			return m.Mul(m, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(exponent[0])), nil))
		}
	}
	in.fail()
	return m
}
