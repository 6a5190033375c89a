package providers

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// Table lists the providers, and tells which can be used here. It shows no key.
func (r *Resolver) Table(ctx context.Context) string {
	asked := r.askLocal(ctx)
	chosen := r.chooseKeyed()
	if len(chosen) == 0 {
		chosen = []choice{chooseServer(asked)}
	}
	rows := [][]string{
		{"TYPE", "SERVICE", "DEFAULT MODEL", "HERE"},
		{Auto, "those that are here", "", "takes " + taken(chosen)},
	}
	for _, p := range providers {
		rows = append(rows, []string{p.name, p.title, p.usualModel(), r.here(p, asked)})
	}
	return plain.Columns(rows) + "\nmassgen --list-backends TYPE shows the address, the variables and what is odd about one.\n"
}

// Usable is a type of backends as it is on this machine.
type Usable struct {
	Type, Title, Model string
	// Works reports whether agents can have the type now, Local whether it is a model server of this machine.
	Works, Local bool
	// State says so in words, with a cure.
	State string
}

// Usable returns all types of backends that have a key or a server of their own.
func (r *Resolver) Usable(ctx context.Context) (list []Usable) {
	asked := r.askLocal(ctx)
	for _, p := range providers {
		u := Usable{Type: p.name, Title: p.title, Model: p.model, Local: p.local, State: r.here(p, asked)}
		_, variable := r.keyOf(p)
		switch {
		case p.local:
			i := slices.IndexFunc(asked, func(s server) bool { return s.provider.name == p.name })
			u.Works = i >= 0 && len(asked[i].models) > 0
			if u.Works {
				u.Model = asked[i].models[0]
			}
		case len(p.keyVars) == 0:
			continue
		default:
			u.Works = variable != "" && r.address(p) != "" && p.model != ""
		}
		list = append(list, u)
	}
	return list
}

// taken tells people what type auto chose.
func taken(chosen []choice) string {
	if len(chosen) == 1 {
		return Model{Provider: chosen[0].provider.name, Name: chosen[0].model}.String()
	}
	const most = 3
	var names []string
	for _, c := range chosen[:min(len(chosen), most)] {
		names = append(names, c.provider.name)
	}
	if more := len(chosen) - most; more > 0 {
		names = append(names[:most-1], plain.Count(more+1, "other"))
	}
	return plain.List(names) + " in turn"
}

// here tells people whether a provider can be used from here.
func (r *Resolver) here(p provider, asked []server) string {
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
		case r.address(p) == "":
			return "no address: set " + strings.Join(p.urlVars, " or ")
		}
		return "key in " + variable
	case p.baseURL == "":
		return "needs base_url"
	}
	return "always"
}

// state tells people whether the server answers.
func (s server) state() string {
	if s.err == nil {
		return "answers, " + plain.Count(len(s.models), "model")
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
	return plain.Line(u.Host)
}

// Details tells people all about a type.
func (r *Resolver) Details(ctx context.Context, name string) (string, error) {
	p, ok := findProvider(name)
	if !ok {
		return "", unknownType(name)
	}
	var asked []server
	if p.local {
		asked = r.askLocal(ctx)
	}
	rows := [][]string{
		{"type", p.name},
		{"service", p.title},
		{"address", joinWords(p.baseURL, strings.Join(p.urlVars, ", "))},
		{"key", strings.Join(p.keyVars, " or ")},
		{"default model", p.usualModel()},
		{"available", r.here(p, asked)},
	}
	rows = slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" })
	head := "notes"
	for _, note := range p.notes() {
		rows = append(rows, []string{head, note})
		head = ""
	}
	return plain.Columns(rows), nil
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
