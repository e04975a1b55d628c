// Release builds the files of a release, for machines without goreleaser:
//
//	go run ./packaging/release -version v1.2.3 -man DIR -out DIR
//
// It makes an archive for each platform with the programs, their manual pages,
// completions, an example of the settings and the licence; beside each an SBOM in the
// CycloneDX format; and one file of SHA-256 sums. Builds are reproducible: no file
// contains a time, an owner or a path of the machine.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	var r release
	platforms := flag.String("platforms", strings.Join(allPlatforms, ","), "build for these")
	flag.StringVar(&r.version, "version", "devel", "the version, as v1.2.3")
	flag.StringVar(&r.man, "man", "bin/share/man/man1", "where the manual pages are")
	flag.StringVar(&r.out, "out", "dist", "where the files go")
	bill := flag.String("sbom", "", "write what is linked into this program, and do nothing else")
	document := flag.String("document", "", "where that goes, instead of standard output")
	flag.Parse()
	r.platforms = strings.Split(*platforms, ",")
	if err := do(&r, *bill, *document); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func do(r *release, program, document string) error {
	if program == "" {
		return r.make()
	}
	text, err := sbom(program)
	switch {
	case err != nil:
		return err
	case document != "":
		return os.WriteFile(document, text, 0o644)
	}
	_, err = os.Stdout.Write(text)
	return err
}
