package configs

import (
	"cmp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/system/plain"
)

// shape is a JSON Schema, or a part of one.
type shape map[string]any

// Schema returns the JSON Schema of configurations, for editors. It is made of the same table as the reader.
func Schema() ([]byte, error) {
	s := shapeOf(topSection())
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	s["title"] = "massgen"
	return plain.JSON(s)
}

// of gives an item a shape.
func (i item[T]) of(s func() shape) item[T] {
	i.shape = s
	return i
}

func emptyMapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

// shapeOf returns the schema of a mapping.
func shapeOf[T any](sec section[T]) shape {
	keys := shape{}
	for _, k := range sec.keys {
		keys[k.name] = k.schema()
	}
	for _, k := range sec.also {
		keys[k.name] = k.schema()
	}
	for _, k := range sec.massgen {
		text := cmp.Or(string(k.topic), k.hint)
		for _, name := range strings.Fields(k.names) {
			keys[name] = shape{"description": strings.TrimSuffix("MassGen ("+string(k.fate)+"): "+text, ": "), "deprecated": true}
		}
	}
	return shape{"type": []string{"object", "null"}, "properties": keys, "additionalProperties": false}
}

func (i item[T]) schema() shape {
	if i.shape == nil {
		return shape{}
	}
	return i.shape()
}

func listShape(items shape) shape { return shape{"type": []string{"array", "null"}, "items": items} }

func mapShape(values shape) shape {
	return shape{"type": []string{"object", "null"}, "additionalProperties": values}
}

func textsShape() shape { return listShape(wordShape()) }

func wordShape() shape { return shape{"type": []string{"string", "null"}} }

// serversShape is a list of servers, or a mapping by their names.
func serversShape() shape {
	server := shapeOf(serverSection())
	return shape{"anyOf": []shape{listShape(server), mapShape(server)}}
}

// shape returns the schema of the scalars that a parser accepts, and of variables in their place.
func (p parser[V]) shape() shape {
	s := shape{"description": p.wanted}
	words, isEnum := strings.CutPrefix(p.wanted, "one of ")
	var is shape
	switch {
	case isEnum:
		is = shape{"enum": strings.Split(words, ", ")}
	case p.wanted == "true or false":
		is = shape{"type": "boolean"}
	case strings.HasPrefix(p.wanted, "a whole number"):
		is = shape{"type": "integer"}
	case strings.HasPrefix(p.wanted, "a number"):
		is = shape{"type": "number"}
	default:
		return s
	}
	s["anyOf"] = []shape{is, {"type": "null"}, {"type": "string", "pattern": `\$\{`}}
	return s
}
