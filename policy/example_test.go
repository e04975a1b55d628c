package policy_test

import (
	"fmt"
	"strings"

	"hako/policy"
)

// A script is judged before anything of it runs.
func Example() {
	rules, err := policy.Parse("my.policy", strings.NewReader("deny git log # not in this repository"))
	if err != nil {
		fmt.Println(err)
		return
	}
	p := policy.Host(policy.Options{Root: "/srv/project"}).With(rules)
	for _, script := range []string{"grep -rn TODO src | wc -l", "cat /etc/passwd", "git log"} {
		verdicts, err := p.Script(script)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(policy.Strictest(verdicts), script)
		for _, v := range verdicts {
			if v.Effect != policy.Allow {
				fmt.Println("  " + v.Why + " (" + v.Where + ")")
			}
		}
	}
	// Output:
	// allow grep -rn TODO src | wc -l
	// deny cat /etc/passwd
	//   /etc/passwd is outside of the root (cat: path)
	// deny git log
	//   not in this repository (my.policy:1)
}
