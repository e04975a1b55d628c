package rules

// english is what this model understands of English. The order matters: what
// says more stands before what says less, and what a rule took is gone for the
// ones after it.
var english = newPack(map[string]string{
	"N": `(?:` + string(numberMark) +
		`|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|fifty|hundred)\b)`,
	"O":     `(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)`,
	"W":     `[\pL_][\pL\pN_.-]*`,
	"lines": `(?:lines?|rows?|records?|entries|entry)`,
	"the":   `(?:(?:the|all|of|my|its|their|these|those|any|some|me|us|a|an) )*`,
	"lit":   `(?:(?:both|either) )?(?:(?:the|any) )?(?:(?:exact |literal )?(?:words?|texts?|strings?|phrases?|terms?|substrings?|keywords?|characters?) )?`,
	"drop":  `(?:skip(?:ping)?|without|except(?: for)?|excluding|exclude|omit(?:ting)?|drop(?:ping)?|ignor(?:e|ing)|leav(?:e|ing) out|remov(?:e|ing)|but not|not counting)`,
	"freq":  `(?:frequent|common|popular|repeated|used|often(?: (?:used|seen|repeated|occurring))?|frequently(?: (?:used|seen|repeated|occurring|appearing|logged))?)`,
	"agg":   `(?:sum|total|average|mean|avg|median|minimum|min|maximum|max|highest|lowest|largest|smallest|biggest|greatest)`,
	"cmp":   `(?:>=|<=|==|!=|=|>|<|greater than or equal to|at least|no less than|greater than|more than|larger than|bigger than|higher than|above|over|exceeds|exceeding|less than or equal to|at most|no more than|less than|fewer than|smaller than|lower than|below|under|equal to|equals)`,
	"val":   `(?:` + string(numberMark) + `|{Q}|{D}|[\pL\pN_][\pL\pN_.@-]*)`,
	"level": `(?:errors?|warnings?|warns?|infos?|debugs?|fatals?|criticals?)`,
	"by":    `(?:group(?:ed)?|broken down|split|order(?:ed)?|rank(?:ed)?|sort(?:ed)?)`,
	"ask":   `(?:(?:please|can you|could you|would you|will you)[, ]+)*`,
}, []rule{
	// The web, and what this is.
	{`^{ask}(?:search|look|google|browse)(?: (?:on|in|using|up on))? (?:the )?(?:web|internet|net|google|online)(?: (?:for|about|to find))? (?P<query>.+)$`, webSearch},
	{`^{ask}(?:web[- ]search|google|do a web search)(?: (?:for|about))? (?P<query>.+)$`, webSearch},
	{`^{ask}(?:search for|search|look up|find) (?P<query>.+?) (?:(?:on|in|using) (?:the )?(?:web|internet|google)|online)(?: please)?[.?!]*$`, webSearch},
	{`^(?:hi|hello|hey|good (?:morning|afternoon|evening))(?: there| hako)?[.!?, ]*$`, says(help)},
	{`^{ask}(?P<verb>delete|remove|erase|edit|change|replace|rename|overwrite|insert|append|add|fix|modify|update|write|save|move) (?P<end>.*)$`, readOnlyHere},
	{`^(?:(?:please|can you|could you|hi|hello)[, ]+)*(?:help|help me|what can you do|what do you do|what are you able to do|how can you help(?: me)?|who are you|what are you)[.?! ]*$`, says(help)},

	// How to compare letters.
	{`(?:,? ?(?:while|by|and) )?\b(?:ignor(?:ing|e)|disregard(?:ing)?|regardless of|irrespective of|no matter|without regard to|independent of) (?:the )?(?:(?:letter|upper ?/? ?lower) ?)?(?:case|capitali[sz]ation)(?: sensitivity| differences)?\b`, says(anyCase)},
	{`\b(?:not case[- ]sensitive(?:ly)?|(?:in a )?case[- ]?insensitive(?:ly)?(?: way)?|in (?:any|either|upper or lower) case|upper or lower case|lower or upper case)\b`, says(anyCase)},
	{`\b(?:case[- ]sensitive(?:ly)?|with exact case)\b`, says(0)},
	{`\b(?:as (?:a )?|only )?whole[- ]words?(?: only)?\b`, says(wholeWord)},
	{`(?:,? ?\b(?:along |together )?(?:with|showing|show|and|including|include|plus|prefixed (?:with|by)) (?:the |their |its )*line[- ]numbers?\b)|\bline[- ]numbers? (?:of|where|at which|on which)\b|\bon (?:which|what) lines?(?: number)?\b`, says(show | numbered)},

	{`\b(?:every|each|any)(?P<end> (?:single )?{lines} (?:that|which|containing|with|having|where|matching|mentioning|starting|ending)\b)`, upTo(0)},

	{`^{ask}number (?:the |all |all the )?lines\b|\bnumbered lines\b`, says(show | numbered)},
	{`\b{level} with numbers\b`, unsure},
	{`\b(?P<lines>{lines}) (?:that )?(?:with|containing|contain|having|have) (?:a |any )?(?:numbers?|digits?)\b`,
		readDigits},

	// What is left out.
	{`\b(?:without|no|{drop}) (?:any |the |all |counting )*(?:duplicates?(?: {lines})?|duplicated {lines}|repeats|repeated {lines}|repetitions?|doubles)\b|\b(?:filter(?:ing)? out|eliminat(?:e|ing)|collaps(?:e|ing)) (?:the |any |all )*(?:duplicates?|repeats)(?: {lines})?\b`, says(show | unique)},
	{`\bnon[- ]?(?:empty|blank) {lines}\b|\b{drop} (?:the |any |all )*(?:empty|blank) (?:{lines}|ones)\b`,
		says(filled | lines)},
	{`\b{drop} (?:the )?first (?P<n>{N}) {lines}\b`, skipN},
	{`\b{drop} (?:the )?(?:first line|header(?: line| row)?|heading)\b`, skipN},

	// Files.
	{`\b(?:which|what)(?: of (?:the|these|my))? (?:granted |allowed |available )?files? (?:(?:that )?(?:contain|include|mention|have|match)s?|has)(?: any)?(?: {lines} (?:containing|with))? {lit}`, sayWith(which)},
	{`\b(?:names? of )?{the}(?:granted |allowed |available )?files (?:(?:that |which )?(?:contain|include|mention|have|match)|containing|including|mentioning|matching|with|having) {lit}`, sayWith(which)},
	{`\b(?:in|of|for|from|across|through|throughout|over|within|does|do|among)? ?(?:all|each|every|any|both)(?: one)?(?: of)?(?: the| my| these| those)?(?: granted| allowed| available)?(?: \x{E002}| two| three)? (?:files?|of them)(?: (?:has|have|contains?))?\b`, says(allFiles)},
	{`\b(?:everywhere|anywhere|per file|file by file)\b`, says(allFiles)},

	// Most frequent.
	{`\b{the}(?:bottom|lowest|smallest) (?P<n>{N})`, bottomN},
	{`\b{the}(?:highest|largest|biggest|greatest) (?P<n>{N})`, topN},
	{`\b{the}top[- ]?(?P<n>{N})(?: {the}most {freq}\b| frequent\b)?`, topN},
	{`\b{the}top(?P<end> (?:{level}|messages|{W}s)\b)`, upTo(top)},
	{`(?P<n>{N}) (?:most {freq}|commonest)\b`, topN},
	{`(?:(?P<n>{N}) )?(?:least (?:frequent|common|popular|used)|rarest)\b`, leastN},
	{`\b{the}(?:single )?(?:most {freq}|commonest)\b`, topN},
	{`\b(?:occurs?|appears?|comes? up|shows? up|happens?|is (?:seen|logged|repeated)|are (?:seen|logged|repeated)) (?:the )?most(?: often| frequently| commonly)?\b`, says(top)},
	{`\b(?:(?:sorted|ordered|ranked|grouped|listed|rank|sort|order)(?: them| it)? )?(?:by|in order of) (?:their |the )?(?:frequency|frequencies|counts?|occurrences?|number of (?:occurrences|times|appearances)|how often (?:they|it) (?:occurs?|appears?))\b`, says(freq)},
	{`\b(?:frequency|frequencies|distribution|histogram|breakdown|tally)(?: table| distribution| counts?)?(?: of| by| for)?(?: each| every)?\b`, says(freq)},
	{`\bhow (?:often|frequently|many times) (?:does |do |did )?(?:each|every)(?: single| different| distinct| unique)?\b`,
		says(freq)},
	{`\b(?:how many|counts?|the number of|number of)(?: times)?(?: {lines}| there are)?(?: (?:of|for|per|by|in|with|are there (?:of|for)))? (?:each|every)(?: of the)?(?: single| different| distinct| unique)?\b`, says(freq)},
	{`\bgroup(?P<end> )`, upTo(freq)},
	{`\b(?:hourly|per hour|by hour|by the hour|(?:for |in )?each hour|every hour)\b`, per("hour")},
	{`\b(?:daily|per day|by day|(?:for |in |on )?each day|every day|per date)\b`, per("day")},
	{`\b(?:per minute|by minute|(?:for |in )?each minute|every minute)\b`, per("minute")},

	// Comparing files.
	{`\b(?:unique|exclusive|specific) to (?P<a>{F})`, onlyInFirst},
	{`\b(?:only|exclusively|just) in (?P<a>{F})(?:,? (?:and |but )?not in {F})?`, onlyInFirst},
	{`(?P<a>{F}) (?:(?:but|and|that (?:are|is)|which (?:are|is)|(?:that|which) do(?: not|n't) (?:appear|occur|exist)|are|is|lines|but are|that do|which do) )*(?:not|missing|absent) (?:(?:present|found|contained|appear|occur|exist) )?(?:in|from) {F}`, onlyInFirst},
	{`(?P<a>{F}) (?:has|have|contains) (?:that|which|but) {F} (?:doesn't|does not|do not|don't)(?: have| contain)?`,
		onlyInFirst},
	{`(?:that |which |are |is )*\b(?:missing|absent) (?:in|from) (?P<b>{F})`, onlyInOther},
	{`\b(?:that |which |are |is |do )*(?:not|n't) (?:(?:appear|occur|exist|present|found|contained) )?in (?P<b>{F})`,
		onlyInOther},
	{`(?:(?:that|which) )?(?:are |appear |occur |exist )?\b(?:in common|common to(?: both)?|shared (?:by|between)|common {lines}|shared {lines}|(?:in|by) both(?: files| of them)?|both (?:files )?(?:have|contain|share)|(?:the )?intersection(?: of)?|the same in both)\b`, says(common)},
	{`\b(?:what(?:'s| is| are| has| was) (?:the )?(?:different|changed|differences?|diff)|different from|differences?|diff|differ|compare[ds]?|comparing|comparison(?: of)?|changes|changed)\b(?: (?:between|from|in|with|to)\b)?(?: (?:the )?(?:two |both |\x{E002} )?files)?`, says(differ)},
	{`\b(?:are|is|do) (?:the )?(?:{F} (?:and|to|with|the same as|identical to|equal to) {F}|(?:two |both )?files)(?P<x> (?:the same|identical|equal|match|different|have the same contents?)|)`, identical},
	{`\b(?:identical|the same|equal)(?: to| as)?\b`, says(differ)},

	// What lines contain.
	{`\b(?:search|look|scan|grep|check|go|filter)(?: (?:in|through|inside|over))? ?(?:{F}|{H})(?:(?:,| and|, and) {F})* (?:for|to find) (?:(?:all|any|every|the) )*{lit}`, readFind},
	{`(?:,? ?\b(?:but|and) )?\b(?:that |which )?(?:do|does|did)(?: not|n't) (?:contain|include|mention|match|have) {lit}`,
		readWithout},
	{`(?:,? ?\b(?:but|and) )?\b(?:that |which |are )*(?:not (?:containing|including|mentioning|matching|having|with)|without|excluding|except(?: for)?|other than|lacking|leaving out|omitting|but not|and not|but no|minus|exclude|omit|leave out|filter out|hide)(?: (?:the |any )?{lines})?(?: (?:containing|including|mentioning|with|those with|those containing|ones with|the ones with|(?:that|which) (?:contain|have|include|mention)))? {lit}`, readWithout},
	{`\b(?:not|never|n't) (?:(?:from|in|by|of|for|with|at|to) )?(?:the )?(?P<lit>{Q})`, readWithoutQuoted},
	{`\b(?:(?:contain|include|mention|have)(?:s|ing)? )?neither {lit}(?P<lit>{Q}|[^\s,]+) nor {lit}(?P<lit2>{Q}|[^\s,?]+)`,
		readNeither},
	{`\b(?:everything|all lines|all|anything) but `, readWithout},
	{`\b(?:that |which )?(?:start(?:s|ing)?|begin(?:s|ning)?) (?:with|by) {lit}`, readStart},
	{`\b(?:that |which )?end(?:s|ing)? (?:with|in) {lit}`, readEnd},
	{`\bmatch(?:es|ing)? (?:the )?(?:regex|regexp|regular expression|pattern) (?P<re>{Q})`, readRegex},
	{`^{ask}(?:does|do|did) (?:{F}|(?:the|this) (?:file|log)|it) (?:contain|include|mention|have) (?:any )?{lit}`,
		readAsk},
	{`\b(?:that |which )?(?:contain(?:s|ing|ed)?|include(?:s)?|including|mention(?:s|ing)?|match(?:es|ing)?|in which there is) {lit}`, readWith},

	// Conditions on a field.
	{`\b(?:where|whose|with|having|when|for which) (?:the |an? )?(?P<field>(?:{W} ){0,2}?(?:{W}|{Q})|column \x{E002}) (?:is |are |was )(?P<not>not )?(?:empty|blank|missing|null|not set|unset)\b`, whereEmpty},
	{`\b(?:with|have|has|having|without) (?:an? )?(?P<not>non-?)?(?:empty|blank|missing) (?P<field>{W}|{Q})`, whereEmpty},
	{`\b(?:where|whose|with|having|when|for which) (?:the )?(?P<field>(?:{W} ){0,2}?(?:{W}|{Q})|column \x{E002}) (?:is |are |was )?(?P<op>{cmp}) ?(?P<val>{val})`, whereField},
	{`\b(?:where|whose|for which) (?:the )?(?P<field>(?:{W} ){0,2}?(?:{W}|{Q})|column \x{E002}) (?P<op>is not|isn't|is|are|was) (?P<val>{val})`, whereField},
	{`(?P<field>{W}|{Q}) ?(?P<op>>=|<=|==|!=|>|<) ?(?P<val>{val})`, whereField},

	// Times of day.
	{`\bbetween (?P<a>{D}) and (?P<b>{D})`, timeSpan},
	{`\bfrom (?P<a>{D}) (?:to|until|till) (?P<b>{D})`, timeSpan},
	{`\b(?:after|since|from) (?P<a>{D})(?: on(?:wards)?)?`, timeSpan},
	{`\b(?:(?P<without>before)|until|till|up to) (?P<b>{D})`, timeSpan},

	// Duplicates.
	{`\b(?:de-?dup(?:e|ed|licate|licated|lication)?|only once|each only once)\b`, says(show | unique)},
	{`\bhow many (?:kinds|types|sorts) of\b`, says(count | unique)},
	{`\b(?:unique|distinct|different)(?: kinds of)?\b`, says(unique)},
	{`(?:(?:that|which) )?\b(?:occur|appear|show up|exist|are (?:repeated|listed))s? (?:more than once|twice or more|multiple times|at least twice|several times|repeatedly)\b`, says(repeats)},
	{`\b(?:duplicates?|duplicated|repeated|repeating)\b`, says(repeats)},
	{`\b(?:empty|blank) {lines}(?: only)?\b|\b{lines} (?:that )?(?:are|is) (?:empty|blank)\b`, says(blank | lines)},

	// Which lines, by number.
	{`\b(?:from )?(?:line|row)s? (?:number |no\.? |#)?(?P<n>{N}) (?:on|onwards?|and (?:on|later|below)|to (?:the )?(?:end|last(?: line)?))\b`, fromN},
	{`\bfrom (?:line|row) (?:number |no\.? |#)?(?P<n>{N})(?P<x2>[.?! ]*)$`, fromN},
	{`\bbetween (?:line|row)s? (?P<n>{N}) and (?:line |row )?(?P<m>{N})`, spanNM},
	{`\b(?:from )?(?:line|row)s? (?:number |no\.? |#)?(?P<n>{N}) ?(?:to|-|~|through|thru|until|till|up to|\.\.\.?|…) ?(?:line |row )?(?:number )?(?P<m>{N})`, spanNM},
	{`\b(?:lines|rows) (?P<n>{N})(?P<more>(?:(?:, ?| ?and |, and | ?& ?){N})+)`, spanList},
	{`(?:\bthe )?(?P<n>\b{O}|\x{E002})(?:st|nd|rd|th)? (?:line|row)\b`, nthLine},
	{`\b(?:line|row) (?:number |no\.? |#)?(?P<n>{N})`, nthLine},
	{`\b(?P<in>(?:in|within|among|of|out of) )?(?:the )?(?:very )?first (?P<n>{N})(?: {lines}\b)?`, firstN},
	{`\b(?P<in>(?:in|within|among|of|out of) )?(?:the )?(?:very )?(?:last|final|bottom|latest|most recent) (?P<n>{N})(?: {lines}\b)?`, lastN},
	{`(?P<n>{N}) first {lines}\b`, firstN},
	{`(?P<n>{N}) (?:last|latest|most recent)(?: {lines})?\b`, lastN},
	{`\b(?:the )?(?:very )?(?:last|final) (?:line|row|entry|record)\b`, nth(tail, 1)},
	{`\b(?:the )?(?:very )?first(?P<end> (?:{level}|occurrence|match|mention)\b)`, nth(head, 1)},
	{`\b(?:the )?(?:very )?(?:last|latest|most recent)(?P<end> (?:{level}|occurrence|match|mention)\b)`, nth(tail, 1)},
	{`\b(?:the )?(?:first few {lines}|(?:beginning|start|head|first part)(?: of)?)(?P<end> |[.?!]*$)`, nth(head, 10)},
	{`\b(?:the )?(?:last few {lines}|(?:end|tail|last part)(?: of)?)(?P<end> |[.?!]*$)`, nth(tail, 10)},

	// Longest.
	{`\b(?:the )?(?:length of the )?longest {lines}\b|\bmax(?:imum)? line length\b`, says(longest)},
	{`\b(?:the )?(?:length of the )?shortest {lines}\b|\bmin(?:imum)? line length\b`, says(shortest)},

	// Names of columns and keys; lengths of lists.
	{`\b(?:column|field|header|key|property|attribute) names?(?: of| in)?\b|\bnames of (?:the )?(?:columns|fields|keys|properties)\b|\bheaders?(?: row| line)?\b|\b{the}(?:top[- ]level )?(?:keys|properties|attributes)(?: of| in)?(?: the)?(?: json)?(?: object| document)?\b`, says(keys)},
	{`^(?:columns|fields|headers)[.?! ]*$`, says(keys)},
	{`\b(?P<how>what|which|how many) (?:are )?(?:the )?(?:columns|fields)\b`, keyNames},
	{`\b(?:list|show|display|give me|print) (?:me )?(?:the |all |all the )?(?:columns|fields)(?P<end> (?:of|in|from) |[.?!]*$)`, keyNames},
	{`\b(?:length|size) of (?:the )?(?:json )?(?:array|list)\b|\bhow long is (?:the )?(?:json )?(?:array|list)\b|\barray length\b`, says(length)},
	{`\b(?:how many|the number of|number of|count|count of)(?: the| all)? (?:array )?(?:elements|items|objects)\b(?: (?:are )?(?:there )?in (?:the )?(?:json )?(?:array|list)\b)?`, says(length)},

	// What to group, rank or sort by.
	{`\bwho (?P<verb>has|have|had|earns?|is|made|gets?) (?:the )?(?P<dir>highest|largest|biggest|greatest|most|lowest|smallest|least) (?P<agg>)`, whoHasMost},
	{`\b(?:who is )?(?:the )?(?P<dir>oldest|youngest)(?: (?:person|people|one|member|employee|user|customer|student))?\b`,
		oldestOne},
	{`\b(?:which|what) (?P<who>{W}) (?:bought|sold|ordered|purchased|has ordered|has bought) (?:the )?most\b`, boughtMost},
	{`\bwhich (?P<who>{W}) (?:sold|sells) (?:the )?best\b|\bbest[- ]?selling (?P<who2>{W})`, boughtMost},
	{`\b(?:which|what|who) ?(?P<who>{W})? (?:has|have|had|made|placed) (?:the )?most (?P<noun>{W})`, mostRows},
	{`\b(?:who (?:is|are) |(?:that|who) (?:is|are) )?(?P<dir>older|younger) than (?P<val>{N})`, olderThan},
	{`\b(?P<dir>latest|newest|most recent|earliest) (?P<field>dates?|days?|timestamps?|times?)\b`, dateEnd},
	{`\b(?:which|what) (?P<who>{W}) (?:has|have|had) (?:the )?(?P<dir>highest|largest|biggest|greatest|lowest|smallest) (?P<agg>(?:total|average|mean) )?`, whoHasMost},
	{`\bby(?P<end> {Q})`, byValueOnly},
	{`\b(?:{by} )?(?:by|per|for each|on) (?:the )?(?:column|field) (?:number |no\.? |#)?(?P<n>{N})`, byNumber},
	{`\b(?:{by} )?(?:by|per|for each|on) (?:the )?(?P<n>{O}|last|\x{E002})(?:st|nd|rd|th)? (?:column|field)\b`, byNumber},
	{`\b(?:{by} )?(?:by|per|for each|for every|in each|of each) `, fieldAfter(grouped)},

	// Columns.
	{`\b(?:columns?|fields?) (?:number |no\.? |#)?(?P<n>{N})(?P<more>(?:(?:, ?|,? and |,? & ){N})*)`, columnNumbers},
	{`(?:\bthe )?(?P<n>\b{O}|\blast|\x{E002})(?:st|nd|rd|th)? (?:column|field)\b`, columnNumbers},
	{`(?:\bvalues? (?:of|in|from) )?(?:\bthe )?(?P<name>{P})`, fieldPath},
	{`\b(?:columns?|fields?|key|property|attribute) (?:named |called )?(?P<name>{Q}|{W})`, columnNamed},
	{`(?P<name>{Q}|(?:{W} ){0,3}{W}) (?:column|field|key|property|attribute)s?\b`, columnBefore},
	{`\bvalues? (?:of|in|for) `, fieldAfter(0)},
	{`(?P<name>{Q}|(?:{W} ){0,3}{W}) values?\b`, columnBefore},

	// Which way.
	{`\b(?:in |into )?(?:descending|decreasing|reverse[d]? (?:alphabetical|sorted|numeric(?:al)?))(?: order)?\b|\b(?:from )?(?:the )?(?:largest|biggest|highest|greatest|high|large) (?:to (?:the )?(?:smallest|lowest|low|small)|ones? first|first|values? first)\b|\bz (?:to|-) a\b|\bz-a\b`, says(sorted | descending)},
	{`\b(?:in |into )?(?:ascending|increasing)(?: order)?\b|\b(?:from )?(?:the )?(?:smallest|lowest|low|small) (?:to (?:the )?(?:largest|biggest|highest|high|large)|ones? first|first|values? first)\b|\ba (?:to|-) z\b|\ba-z\b`, says(sorted | ascending)},

	// Sums.
	{`\b(?:which|what)(?: of the)? (?:granted |allowed |available )?files? (?:is|are) (?:the )?(?:largest|biggest)\b|\b(?:the )?(?:largest|biggest) (?:of the )?(?:granted |allowed )?files?\b`, says(biggest)},
	{`\btotal (?:file )?size(?: of)?\b`, says(fileSize)},
	{`\b(?:count(?: up)? )?{the}(?:total |overall |exact )?number of\b|# of\b`, says(count)},
	{`(?P<x>\b{the}(?:total |overall )?(?:amount|count) of) (?:the )?(?:lines|words|characters|bytes|{level})\b`,
		says(count)},
	{`\btotal (?P<unit>lines|rows|words|characters|chars|bytes)\b`, countUnit},
	{`\bin total\b|\ba total of\b`, says(0)},
	{`\b{the}(?P<agg>{agg})(?:, (?:the )?(?P<agg2>{agg}))?(?:,? (?:and|or|&) (?:the )?(?P<agg3>{agg})| ?/ ?(?P<agg4>{agg}))?\b(?: values?\b| amount\b| up\b)?`, totalOf},
	{`\badd(?P<end> (?:together )?(?:the |all |all the )?(?:values|numbers)\b)`, totalOf},
	{`\b(?:add(?:ing)? up|summing|summed|averag(?:ed|ing)|totall?ed|totall?ing)\b`, totalOf},

	// In order.
	{`\b(?:sort(?:ed|ing|s)?|order(?:ed|ing)?|arrang(?:e|ed|ing)) ?(?:it|them|this|these|everything|the lines)? ?(?:by|on|according to|using) (?:the |their )?(?:(?:numeric(?:al)? )?value|number)\b`, says(sorted | numeric)},
	{`\bsort(?:ed|ing|s)?(?: it| them| this)?\b|\barrang(?:e|ed|ing)\b`, says(sorted)},
	{`\b(?:in |into )?alphabetical(?:ly)?(?: order)?\b`, says(sorted)},
	{`\b(?:in |into )?numeric(?:al)?(?:ly)?(?: order)?\b|\bas numbers\b`, says(sorted | numeric)},
	{`\b(?:in (?:the )?)?reverse[d]?(?: the)?(?: order)?(?: of)?\b|\bbackwards?\b|\bupside[- ]down\b|\b(?:from )?(?:the )?(?:bottom to (?:the )?top|end to (?:the )?(?:start|beginning)|last to (?:the )?first)\b|\blast line first\b`, says(reverse)},
	{`\b(?:by|per) (?P<x2>{H})`, byTotal},
	{`\b(?:order|rank)\b`, says(sorted)},

	// Texts in other places.
	{`\b(?:find|search(?: for)?|look for|locate) (?:the )?(?:exact )?(?:word|text|string|phrase|term) `, readFind},
	{`\b{lines} (?:that |which )?(?:with|having|have|has) {lit}`, readLinesWith},
	{`\b{lines} (?:for|of|about|from) (?P<lit>{Q}|[\pL\pN_][\pL\pN_.@-]*)`, readLinesFor},
	{`\b(?:how many times|how often) (?:(?:does|do|did|is|are|has|have) )?(?:the )?(?:(?:word|text|string|phrase|term) )?`,
		readTimes},
	{`\b(?:occurrences?|instances?|mentions?|appearances?|hits?|matches) (?:of|for) {lit}`, readOccurrences},
	{`^{ask}(?:does|do|is|are|did) (?:the )?(?:word |text |string |phrase )?(?P<lit>{Q}|[^\s]+) (?:appear|occur|show up|exist|mentioned|found|present|contained|anywhere)\b`, readWhether},
	{`^{ask}(?:is|are) (?:the )?(?:word |text |string |phrase )?(?P<lit>{Q}|[^\s]+) (?:in|inside|within|part of)(?P<end> (?:{F}|the|this|it|there))`, readWordIn},
	{`^{ask}(?:is|are) there (?:any |an |a )?(?P<lit>{Q})`, readWhether},
	{`^{ask}(?:is|are) there (?:any |an |a )(?P<lit>[\pL\pN_][\pL\pN_.-]*)(?P<end>[?.! ]*$| (?:in|inside|within) (?:{F}|the|this|it))`, readThere},
	{`^{ask}(?:is|are) there(?: any| an| a| some)?\b`, yesOrNo},

	// Levels of a log.
	{`\b(?:(?:at|with|of|on|having) )?(?:the )?(?:log )?level (?:of |is |==? ?)?(?P<level>{level})\b`, ofLevel},
	{`\b(?:log )?levels?\b`, levelField},
	{`\b(?P<a>{level})(?:,| and| or| ?/) ?(?P<b>{level})(?:,? (?:and|or) (?P<c>{level}))? (?:{lines}|messages|logs?|events)\b`, capitalLevels},
	{`\b(?P<a>errors?|warnings?) (?:and|or) (?P<b>errors?|warnings?)\b`, twoLevels},
	{`\b(?:{lines} )?(?:that are |which are )?(?:except|other than|excluding|not|but|everything but|all but) (?P<level>errors?|warnings?)\b`, notLevel},
	{`\b(?:status(?: code)?s? |http )?(?P<code>[1-5][0-9]{2})s\b`, statusCode},
	{`(?P<n>{N}) (?:errors|responses)\b`, statusError},
	{`\b(?:(?:with |returned |returning |return |got |gave |having )?(?:a )?(?:http )?(?:status(?: code)? (?:of |is |=+ ?)?)|returned |returning )(?:a )?(?P<n>{N})(?: errors?| responses?)?`, statusCode},
	{`\b(?P<level>{level})(?:[- ]level)?(?: log)? (?P<msg>messages?|texts?)\b`, ofLevel},
	{`\b(?P<level>{level})(?:[- ]level)?(?: log)?(?: (?:{lines}|logs?|events?))?\b`, ofLevel},
	{`(?P<n>{N}) (?:{lines}|messages|values)\b`, bareNumber},
	{`\b(?:log )?messages?\b`, messageField},

	// How many of what.
	{`\bhow (?:big|large|heavy) (?:is|are)\b|\b(?:the )?(?:file )?sizes? of (?:the )?(?:{F}|files?\b)(?P<x2>)|\bfile ?sizes?\b|'s size\b|^(?:what(?:'s| is) )?(?:the )?size[?!. ]*$`, says(fileSize)},
	{`\bhow many\b`, howMany},
	{`\bcounts\b`, countEach},
	{`\b(?:count(?:ing|ed)?|tally)\b`, says(count)},
	{`\bwords?\b`, says(words)},
	{`\b(?:characters?|letters?|chars?)\b`, says(chars)},
	{`\bbytes?\b`, says(size)},
	{`\b(?:records?|entries|entry|rows?|requests|hits|events|visits)\b`, says(records | lines)},
	{`\b{lines}\b`, says(lines)},

	// Look for.
	{`\b(?:find|search(?: for)?|grep(?: for)?|look(?:ing)? for|locate|filter(?: for| by| on)?)(?: me)? (?:(?:all|any|every|the|for) )*{lit}`, readFind},
	{`\b(?:find|search|grep|look for|locate|filter)\b`, says(find)},
	{`\b(?:show|display|print|output|list|view|dump|extract|select|pull out|pick out|return|fetch|give me|get|see|let me see|i want to see|which|what are|rank(?:ed|ing)?)\b`, says(show)},
	{`^{ask}(?:cat|read|open)(?P<end> ?(?:me )?(?:the |all |this |my )*(?:{F}|{H}|file|log|first|last|lines?|whole|entire|contents?|everything|it|$))|\b(?:i|you|we|to|may) (?:read|open)\b`, readVerb},
	{`\b(?:contents?(?: of)?|(?:whole|entire|complete|full) (?:file|thing|text|log|contents?)|everything|all of it|full text)\b`, says(whole)},
	{`^(?:{H}|[ ,.?!]|me|the|all|my|of|what|how|are|there|do|i|you|we|have|can|were|is|granted|allowed|available|accessible|readable|read|access|use|see|open|given|to|here|names)*\bfiles\b(?:{H}|[ ,.?!]|names|are|were|is|do|can|may|have|did|there|i|you|we|been|granted|available|allowed|accessible|readable|read|access|use|see|open|given|to|here)*$`, listFilesSaid},
	{`\b(?:the|this|that) (?P<kind>log|csv|tsv|json|text|markdown|yaml)(?: file| log)?\b`, ofKind},
}, englishRest)
