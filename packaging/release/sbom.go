package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// A bill is an SBOM in the CycloneDX 1.6 format. It has no time and no serial number:
// both would differ between equal builds.
type bill struct {
	Schema     string      `json:"$schema"`
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

// A component is the program itself, a module, or the standard library.
type component struct {
	Type    string     `json:"type"`
	Ref     string     `json:"bom-ref"`
	Name    string     `json:"name"`
	Version string     `json:"version,omitempty"`
	Purl    string     `json:"purl,omitempty"`
	Hashes  []hash     `json:"hashes,omitempty"`
	Also    []property `json:"properties,omitempty"`
}

type hash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// sbom reads the modules of a program from the program itself.
func sbom(program string) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	b := bill{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata: metadata{itself(info, text)},
		Components: []component{{Type: "library", Ref: "std", Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"),
			Purl: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}},
	}
	for _, m := range info.Deps {
		b.Components = append(b.Components, library(m))
	}
	out, err := json.MarshalIndent(b, "", "  ")
	return append(out, '\n'), err
}

// itself describes the program.
func itself(info *debug.BuildInfo, text []byte) component {
	c := component{Type: "application", Ref: "hako", Name: info.Main.Path,
		Hashes: []hash{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(text))}}}
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" {
			c.Also = append(c.Also, property{"go:" + s.Key, s.Value})
		}
	}
	return c
}

func library(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	ref := "pkg:golang/" + strings.ToLower(m.Path) + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
	c := component{Type: "library", Ref: ref, Name: m.Path, Version: m.Version, Purl: ref}
	if m.Sum != "" {
		c.Also = []property{{"go:sum", m.Sum}}
	}
	return c
}
