package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hako/audit"
	"hako/internal/app"
	"hako/internal/app/secretary/store"
	"hako/internal/config"
	"hako/internal/term"
	"hako/internal/text"
	"hako/run/fault"
)

// todoOptions are the flags of hako todo.
type todoOptions struct {
	common
	json, all                          bool
	title, note, due, priority, status string
}

func newTodo(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "todo",
		Short: "Keep the to-do list that the secretary works with",
		Example: `  hako todo add 牛乳を買う --due tomorrow --priority high
  hako todo list --due 2026-01-31
  hako todo update 3 --note "2 bottles" --due none
  hako todo complete 3
  hako todo list --all --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return needSubcommand(cmd, args) },
	}
	cmd.AddCommand(newTodoList(s), newTodoAdd(s), newTodoUpdate(s), newTodoEach(s, "complete"), newTodoEach(s, "delete"),
		newTodoGet(s))
	return cmd
}

func (o *todoOptions) register(cmd *cobra.Command) *cobra.Command {
	f := cmd.Flags()
	f.StringVar(&o.config, "config", "", "read the settings from `FILE`")
	f.BoolVar(&o.noConfig, "no-config", false, "read no settings file")
	f.BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

// registerFields adds the flags of those that change a to-do.
func (o *todoOptions) registerFields(cmd *cobra.Command) *cobra.Command {
	f := cmd.Flags()
	f.StringVar(&o.note, "note", "", "more about it, `TEXT` of up to 10000 characters")
	f.StringVar(&o.due, "due", "", "be done by `WHEN`: 2026-01-31, 2026-01-31T15:04:05+09:00, today, tomorrow or none")
	f.StringVar(&o.priority, "priority", "", "how much it matters, `LEVEL`: low, normal or high (default normal)")
	return o.registerAudit(cmd)
}

func (o *todoOptions) registerAudit(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&o.audit, "audit", "", "write the record to `FILE`")
	return o.register(cmd)
}

// open opens the list.
func (o *todoOptions) open() (*store.Store, *config.Config, error) {
	conf, err := o.load()
	if err != nil {
		return nil, nil, err
	}
	list, err := store.Open(config.SecretaryDatabase.Of(conf).V)
	return list, conf, err
}

// change opens the list and the record, and hands on how to write down a change,
// which comes before it is made.
func (o *todoOptions) change(do func(list *store.Store, record func(words ...string) error) error) error {
	list, conf, err := o.open()
	if err != nil {
		return err
	}
	defer list.Close()
	b, err := app.Open(conf)
	if err != nil {
		return err
	}
	defer b.Close()
	return do(list, func(words ...string) error {
		return b.Log.Append(audit.Event{What: audit.Opened, Actor: "user", Mode: "written",
			Path: config.SecretaryDatabase.Of(conf).V, Argv: append([]string{"todo"}, words...)})
	})
}

// print shows what became of a to-do.
func (o *todoOptions) print(w io.Writer, action string, t store.Todo) error {
	if o.json {
		return encode(w, t)
	}
	_, err := fmt.Fprintln(w, text.ForTerminal(store.DescribeAction(action, t)))
	return err
}

func newTodoList(s streams) *cobra.Command {
	var o todoOptions
	cmd := &cobra.Command{
		Use:   "list [WORDS]",
		Short: "List what is to be done: what is due first, then what matters most",
		Example: `  hako todo list
  hako todo list 牛乳                 # with that in the title or the note
  hako todo list --due tomorrow       # due by the end of tomorrow
  hako todo list --all --json         # also what is done`,
		RunE: func(_ *cobra.Command, args []string) error { return o.list(s, strings.Join(args, " ")) },
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "also list what is done")
	cmd.Flags().StringVar(&o.due, "due", "",
		"only what is due by `WHEN`: 2026-01-31, 2026-01-31T15:04:05+09:00, today or tomorrow")
	return o.register(cmd)
}

func (o *todoOptions) list(s streams, query string) error {
	_, by, err := store.ParseDue(o.due, time.Now())
	if err != nil {
		return err
	}
	list, _, err := o.open()
	if err != nil {
		return err
	}
	defer list.Close()
	f := store.Filter{Query: query, DueBy: by, Status: store.StatusOpen}
	if o.all {
		f.Status = ""
	}
	todos, err := list.List(f)
	switch {
	case err != nil:
		return err
	case o.json:
		return encode(s.out, append([]store.Todo{}, todos...)) // none is [], not null
	case len(todos) == 0 && query == "" && o.due == "":
		fmt.Fprintln(s.err, "hako: there is nothing to do\nhako: hint: add something: hako todo add 牛乳を買う --due tomorrow")
		return nil
	case len(todos) == 0:
		fmt.Fprintln(s.err, "hako: nothing on the list is like that\nhako: hint: hako todo list --all shows everything")
		return nil
	}
	_, err = io.WriteString(s.out, todoTable(todos, o.all, time.Now(), term.Columns(s.out)))
	return err
}

// todoTable lists to-dos for a terminal so many columns wide; zero means that
// nothing is cut. Titles stand last, so that nothing has to be lined up after
// them; everything before them is plain ASCII.
func todoTable(todos []store.Todo, status bool, now time.Time, columns int) string {
	rows := [][]string{{"STATUS", "ID", "PRIORITY", "DUE", "TITLE"}}
	for _, t := range todos {
		rows = append(rows, []string{t.Status, strconv.FormatInt(t.ID, 10), t.Priority, dueText(t, now),
			text.ForTerminal(t.Title)})
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row[:len(row)-1] {
			if i > 0 || status {
				line += fmt.Sprintf("%-*s  ", longestIn(rows, i), cell)
			}
		}
		title := row[len(row)-1]
		if columns > 0 {
			title = cutCell(title, max(columns-len(line), 10))
		}
		b.WriteString(line + title + "\n")
	}
	return b.String()
}

// longestIn is the length of the longest cell of a column.
func longestIn(rows [][]string, column int) int {
	most := 0
	for _, row := range rows {
		most = max(most, len(row[column]))
	}
	return most
}

// dueText shows a time as it is here, and a day as it is.
func dueText(t store.Todo, now time.Time) string {
	due := t.Due
	if at, err := time.Parse(time.RFC3339, due); err == nil {
		due = at.Local().Format("2006-01-02 15:04")
	}
	if t.Overdue(now) {
		due += " overdue"
	}
	return due
}

func newTodoAdd(s streams) *cobra.Command {
	var o todoOptions
	return o.registerFields(&cobra.Command{
		Use:   "add TITLE",
		Short: "Add something to the list",
		Example: `  hako todo add 牛乳を買う
  hako todo add "call Tanaka" --due "2026-01-31 15:00" --priority high --note "about the contract"`,
		RunE: func(_ *cobra.Command, args []string) error {
			t := store.Todo{Title: strings.Join(args, " "), Note: o.note, Due: o.due, Priority: o.priority}
			if strings.TrimSpace(t.Title) == "" {
				return &fault.Error{Kind: fault.Invalid, Op: "todo add", Why: "there is no title", Hint: "hako todo add 牛乳を買う"}
			}
			return o.change(func(list *store.Store, record func(...string) error) error {
				if err := record("add", t.Title); err != nil {
					return err
				}
				added, err := list.Add(t)
				if err != nil {
					return err
				}
				return o.print(s.out, "add", added)
			})
		},
	})
}

func newTodoUpdate(s streams) *cobra.Command {
	var o todoOptions
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Change what the flags name, and nothing else",
		Example: `  hako todo update 3 --title 豆乳を買う --priority low
  hako todo update 3 --due none --note ""
  hako todo update 3 --status open    # it is not done after all`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := todoIDs(cmd, args, 1)
			if err != nil {
				return err
			}
			return o.change(func(list *store.Store, record func(...string) error) error {
				if _, err := list.Get(ids[0]); err != nil {
					return err
				}
				if err := record("update", args[0]); err != nil {
					return err
				}
				t, err := list.Update(ids[0], o.given(cmd))
				if err != nil {
					return err
				}
				return o.print(s.out, "update", t)
			})
		},
	}
	cmd.Flags().StringVar(&o.title, "title", "", "what is to be done, `TEXT` on one line")
	cmd.Flags().StringVar(&o.status, "status", "", "what became of it, `STATUS`: open or done")
	return o.registerFields(cmd)
}

// given is what the flags change, also to nothing.
func (o *todoOptions) given(cmd *cobra.Command) store.Change {
	of := func(flag string, value *string) *string {
		if cmd.Flags().Changed(flag) {
			return value
		}
		return nil
	}
	return store.Change{
		Title: of("title", &o.title), Note: of("note", &o.note), Due: of("due", &o.due),
		Priority: of("priority", &o.priority), Status: of("status", &o.status),
	}
}

// newTodoEach makes the commands that do one thing to each of some to-dos.
func newTodoEach(s streams, action string) *cobra.Command {
	var o todoOptions
	short := map[string]string{"complete": "Mark to-dos as done",
		"delete": "Remove to-dos for good, and say what they were"}
	return o.registerAudit(&cobra.Command{
		Use: action + " ID...", Short: short[action],
		Example: "  hako todo " + action + " 3\n  hako todo " + action + " 3 4 5 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := todoIDs(cmd, args, 0)
			if err != nil {
				return err
			}
			return o.change(func(list *store.Store, record func(...string) error) error {
				return o.each(s.out, list, record, action, ids)
			})
		},
	})
}

// each does it to all, or to none if one does not exist.
func (o *todoOptions) each(w io.Writer, list *store.Store, record func(...string) error, action string,
	ids []int64) error {
	for _, id := range ids {
		if _, err := list.Get(id); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := record(action, strconv.FormatInt(id, 10)); err != nil {
			return err
		}
		_, t, err := list.Do(store.TodoAction{Action: action, ID: id})
		if err == nil {
			err = o.print(w, action, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func newTodoGet(s streams) *cobra.Command {
	var o todoOptions
	return o.register(&cobra.Command{
		Use: "get ID", Short: "Show all of one to-do", Example: "  hako todo get 3\n  hako todo get 3 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := todoIDs(cmd, args, 1)
			if err != nil {
				return err
			}
			list, _, err := o.open()
			if err != nil {
				return err
			}
			defer list.Close()
			t, err := list.Get(ids[0])
			if err != nil {
				return err
			}
			if o.json {
				return encode(s.out, t)
			}
			_, err = io.WriteString(s.out, todoText(t, time.Now()))
			return err
		},
	})
}

// todoText shows all of a to-do.
func todoText(t store.Todo, now time.Time) string {
	lines := [][2]string{{"id", strconv.FormatInt(t.ID, 10)}, {"title", t.Title}, {"status", t.Status},
		{"priority", t.Priority},
		{"due", dueText(t, now)}, {"created", shortTime(t.Created)}, {"updated", shortTime(t.Updated)},
		{"completed", shortTime(t.Completed)},
		{"note", strings.ReplaceAll(t.Note, "\n", "\n"+strings.Repeat(" ", 11))}}
	var b strings.Builder
	for _, line := range lines {
		if line[1] != "" {
			fmt.Fprintf(&b, "%-10s %s\n", line[0], text.ForTerminal(line[1]))
		}
	}
	return b.String()
}

func shortTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04")
}

// todoIDs reads numbers, at most so many; zero means any number of them.
func todoIDs(cmd *cobra.Command, args []string, most int) ([]int64, error) {
	e := &fault.Error{Kind: fault.Invalid, Op: called(cmd), Hint: "hako todo list shows the numbers"}
	if len(args) == 0 || most > 0 && len(args) > most {
		e.Why = fmt.Sprintf("there are %d numbers where one is wanted", len(args))
		return nil, e
	}
	ids := make([]int64, len(args))
	for i, arg := range args {
		id, err := strconv.ParseInt(strings.TrimPrefix(arg, "#"), 10, 64)
		if err != nil || id < 1 {
			e.Subject, e.Why = arg, "it is not the number of a to-do"
			return nil, e
		}
		ids[i] = id
	}
	return ids, nil
}
