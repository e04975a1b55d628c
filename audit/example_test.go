package audit_test

import (
	"bytes"
	"fmt"

	"hako/audit"
)

// A changed line no longer matches its hash.
func Example() {
	var record bytes.Buffer
	log := audit.NewWriter(&record, audit.Options{})
	for _, what := range []string{audit.Asked, audit.Started, audit.Ended} {
		if err := log.Append(audit.Event{What: what, ID: "r1", Actor: "agent"}); err != nil {
			fmt.Println(err)
		}
	}
	report, err := audit.Verify(bytes.NewReader(record.Bytes()))
	fmt.Println(report.OK(), err)
	changed := bytes.Replace(record.Bytes(), []byte(`"agent"`), []byte(`"admin"`), 1)
	report, err = audit.Verify(bytes.NewReader(changed))
	fmt.Println(report.OK(), err)
	// Output:
	// true <nil>
	// false <nil>
}
