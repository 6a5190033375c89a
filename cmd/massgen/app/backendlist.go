package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
)

// listBackends shows the table of providers, and what of it can be used here; with
// a word on the command line, all that is known of that type. No key is shown.
func (p *program) listBackends(ctx context.Context) error {
	lookup, err := p.lookup()
	if err != nil {
		return err
	}
	r, err := p.resolver(lookup, configs.Default(), nil)
	if err != nil {
		return err
	}
	var text string
	switch len(p.words) {
	case 0:
		text = r.backendTable(ctx)
	case 1:
		if text, err = r.backendDetails(ctx, p.words[0]); err != nil {
			return err
		}
	default:
		return errors.New("--list-backends: it takes one type at most")
	}
	_, err = io.WriteString(p.console.out, text)
	return err
}

func (r *resolver) backendTable(ctx context.Context) string {
	asked := r.askLocal(ctx)
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(w, strings.Join(cells, "\t")) }
	row("TYPE", "SERVICE", "DEFAULT MODEL", "HERE")
	first := r.chooseFrom(asked)
	row(autoType, "the first that is here", "", "takes "+reached{provider: first.provider, model: first.model}.name())
	for _, p := range providers() {
		model := p.model
		if p.local {
			model = "the first it lists"
		}
		row(p.name, p.title, model, r.here(p, asked))
	}
	if err := w.Flush(); err != nil {
		return "" // a strings.Builder takes everything
	}
	return b.String() + "\nmassgen --list-backends TYPE shows the address, the variables and what is odd about one.\n"
}

// here says whether a provider can be used from here.
func (r *resolver) here(p provider, asked []server) string {
	switch {
	case p.local:
		for _, s := range asked {
			if s.provider.name == p.name {
				return s.state()
			}
		}
		return "is not looked for"
	case len(p.keyVars) > 0:
		_, variable := r.keyOf(p)
		switch {
		case variable == "":
			return "no key: set " + p.keyVars[0]
		case r.address(p, configs.Backend{}) == "":
			return "no address: set " + p.urlVar
		}
		return "key in " + variable
	case p.baseURL == "":
		return "needs base_url"
	}
	return "always"
}

// state says whether the server answers.
func (s server) state() string {
	if s.err == nil {
		return "answers, " + count(len(s.models), "model")
	}
	switch backends.KindOf(s.err) {
	case backends.KindNetwork, backends.KindTimeout, backends.KindCancelled:
		return "does not answer at " + hostOf(s.baseURL)
	}
	return "something else is at " + hostOf(s.baseURL)
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "its address"
	}
	return oneLine(u.Host)
}

func (r *resolver) backendDetails(ctx context.Context, name string) (string, error) {
	p, ok := findProvider(name)
	if !ok {
		return "", unknownType(name)
	}
	var asked []server
	if p.local {
		asked = r.askLocal(ctx)
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, text)
		}
	}
	row("type", p.name)
	row("service", p.title)
	row("address", joinWords(p.baseURL, p.urlVar))
	row("key", strings.Join(p.keyVars, " or "))
	row("default model", p.model)
	row("here", r.here(p, asked))
	for i, note := range p.notes() {
		head := ""
		if i == 0 {
			head = "to know"
		}
		fmt.Fprintf(w, "%s\t%s\n", head, note)
	}
	if err := w.Flush(); err != nil {
		return "", err
	}
	return b.String(), nil
}

// joinWords is "address, or VARIABLE" of what is there.
func joinWords(address, variable string) string {
	switch {
	case address == "none":
		return ""
	case address == "":
		return variable
	case variable == "":
		return address
	}
	return address + ", or " + variable
}
