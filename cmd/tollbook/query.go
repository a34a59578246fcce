package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/directory"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/site/routes"
)

// textParam is the parameter whose value is the text of the command line. It has no flag.
const textParam = "q"

// directoryQuery are the flags of a command that sends a request to a route: one for each parameter of the route table.
type directoryQuery struct {
	route  *routes.Route
	values map[string]*string
	flags  *pflag.FlagSet
}

// newQuery adds the flags of a route to a command.
func newQuery(cmd *cobra.Command, name string) *directoryQuery {
	q := &directoryQuery{route: routes.ByName(name), values: map[string]*string{}, flags: cmd.Flags()}
	q.flags.SetNormalizeFunc(normalizeFlag)
	for i := range q.route.Params {
		p := &q.route.Params[i]
		if p.Name == textParam {
			continue
		}
		value := new(string)
		q.values[p.Name] = value
		f := q.flags.VarPF(&paramValue{value, p}, flagName(p.Name), "", flagUsage(p))
		f.DefValue = p.Default
		switch p.Kind {
		case routes.KindBoolean:
			f.NoOptDefVal = "true"
		case routes.KindChoice, routes.KindSet:
			_ = cmd.RegisterFlagCompletionFunc(f.Name,
				cobra.FixedCompletions(p.Values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	return q
}

// flagName returns the name of a parameter's flag: max_price_usd is --max-price.
func flagName(param string) string {
	return strings.TrimSuffix(strings.ReplaceAll(param, "_", "-"), "-usd")
}

// normalizeFlag accepts the name of a parameter as the name of its flag.
func normalizeFlag(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(flagName(name))
}

// maxValueNames is how long the values of a flag may be to stand in place of its value's name: a page of the manual can't
// break them.
const maxValueNames = 60

// flagUsage returns the help of a parameter's flag.
func flagUsage(p *routes.Param) string {
	about := cmp.Or(p.Usage, p.About)
	if p.Kind == routes.KindBoolean {
		about = strings.Replace(about, ", or ", ", or with =false ", 1)
	}
	if len(strings.Join(p.Values, "|")) > maxValueNames {
		about += "; one of " + strings.Join(p.Values, ", ")
	}
	return strings.ToLower(about[:1]) + about[1:]
}

// paramValue is the value of a flag. It implements pflag.Value.
type paramValue struct {
	text  *string
	param *routes.Param
}

func (v *paramValue) String() string { return *v.text }

func (v *paramValue) Set(s string) error {
	*v.text = s
	return nil
}

// Type implements pflag.Value. The help shows it as the name of the value.
func (v *paramValue) Type() string {
	if names := strings.Join(v.param.Values, "|"); len(names) > maxValueNames {
		return "value" // the description lists them
	} else if names != "" {
		return names
	}
	switch v.param.Kind {
	case routes.KindBoolean:
		return "bool" // has no name in the help
	case routes.KindInteger, routes.KindDecimal:
		return "number"
	}
	return "text"
}

// encode returns the request for a text and the flags that were given. The route table checks it, before the directory
// does.
func (q *directoryQuery) encode(text string) (url.Values, error) {
	values := url.Values{}
	if text != "" {
		values.Set(textParam, text)
	}
	for name, value := range q.values {
		if *value != "" {
			values.Set(name, *value)
		} else if f := q.flags.Lookup(flagName(name)); f.Changed {
			return nil, terminal.UsageErrorf("--%s: give a value", f.Name)
		}
	}
	_, err := routes.ParseRequest(q.route.Pattern, values.Encode())
	if param := new(routes.ParamError); errors.As(err, &param) {
		return nil, terminal.UsageErrorf("%s: %s", q.label(param.Param), param.Message)
	}
	return values, err
}

// label returns a parameter as the command line names it.
func (q *directoryQuery) label(param string) string {
	if param == textParam {
		return "the text"
	}
	return "--" + flagName(param)
}

// get sends the request for a text. Networks and categories are resolved by the directory's own lists. The directory
// must not ignore a filter, so an unknown parameter is an error.
func (q *directoryQuery) get(ctx context.Context, r *directory.Reader, text string) (body []byte, values url.Values, err error) {
	return q.getWith(ctx, r, text, url.Values{"strict": {"1"}})
}

// getWith sends the request for a text with further parameters.
func (q *directoryQuery) getWith(ctx context.Context, r *directory.Reader, text string, more url.Values) (body []byte,
	values url.Values, err error) {
	if values, err = q.encode(text); err != nil {
		return nil, nil, err
	}
	if err := resolve(ctx, r, values); err != nil {
		return nil, nil, err
	}
	sent := maps.Clone(more)
	for name, value := range values {
		sent[name] = value
	}
	body, err = r.Get(ctx, q.route.Pattern, sent)
	return body, values, r.RequireRoute(ctx, q.route.Pattern, err)
}

// resolve replaces the network and the category of a request by the values that the directory uses.
func resolve(ctx context.Context, r *directory.Reader, values url.Values) error {
	if name := values.Get("network"); name != "" {
		list, err := r.Networks(ctx)
		if err != nil {
			return err
		}
		n, ok := directory.FindNetwork(list, name)
		if !ok {
			return noNetwork(name, n, list)
		}
		values.Set("network", directory.NetworkValue(n))
	}
	if name := values.Get("category"); name != "" {
		list, err := r.Categories(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(c string) bool { return strings.EqualFold(c, name) })
		if i < 0 {
			return terminal.UsageErrorf("--category %q: there is no such category%s", own(name), suggest(name, list,
				"the directory has "+own(strings.Join(list, ", "))))
		}
		values.Set("category", list[i])
	}
	return nil
}

// describe returns the filters of a request as the command line names them, in the order of the route table. A set says
// what a response includes.
func (q *directoryQuery) describe(values url.Values) string {
	var parts []string
	for i := range q.route.Params {
		p := &q.route.Params[i]
		if value := values.Get(p.Name); value != "" && p.Filter && p.Kind != routes.KindSet && p.Name != textParam {
			parts = append(parts, q.argument(p.Name, value))
		}
	}
	return strings.Join(parts, " ")
}

// argument returns a flag with its value.
func (q *directoryQuery) argument(param, value string) string {
	switch value {
	case "true":
		return q.label(param)
	case "false":
		return q.label(param) + "=false"
	}
	if strings.ContainsRune(value, ' ') {
		value = `"` + value + `"`
	}
	return q.label(param) + " " + value
}
