// Texts of others only become text nodes; markup only comes from our own pages.
'use strict';
(() => {
	const $ = (s, e = document) => e.querySelector(s);
	const $$ = (s, e = document) => [...e.querySelectorAll(s)];
	const words = $('#words').dataset;
	const T = (key, ...args) => args.reduce((t, a, i) => t.replace(`{${i}}`, a), words[key] || key);
	const hear = (what, f, how) => document.addEventListener(what, f, how);
	const within = (n, all) => Math.min(Math.max(n, 0), all.length - 1);
	const wait = ms => new Promise(r => setTimeout(r, ms));

	// make builds an element, tag.class; strings among its parts become text.
	function make(tag, ...parts) {
		const [name, className = ''] = tag.split('.'), e = document.createElement(name), props = parts[0]?.constructor === Object ? parts.shift() : {};
		e.className = className;
		for (const [k, v] of Object.entries(props)) k in e ? e[k] = v : e.setAttribute(k, v);
		e.append(...parts);
		return e;
	}

	// visible writes out characters that hide or turn text, like the server.
	const deceptive = /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\uFFFD\u115F\u3164]/gu;
	const visible = s => String(s ?? '').replace(deceptive, c => c === '\n' || c === '\t' ? c :
		`‹U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}›`);

	const say = text => { $('#say').textContent = text; };

	function toast(text, hint, good, href) {
		const box = $('#toasts');
		if (!box) return;
		const t = make((href ? 'a' : 'div') + '.toast' + (good ? ' good' : ''), href ? { href } : {}, make('p', visible(text)));
		if (hint) t.append(make('p.hint', visible(hint)));
		box.append(t);
		while (box.children.length > 4) box.firstChild.remove();
		setTimeout(() => t.remove(), good && !href ? 3000 : 12000);
	}

	// -- times

	const two = n => ('0' + n).slice(-2);
	function clock(at) {
		const d = new Date(at), time = d.toTimeString();
		return d.toDateString() === new Date().toDateString() ? time.slice(0, 8) : `${two(d.getMonth() + 1)}-${two(d.getDate())} ${time.slice(0, 5)}`;
	}
	function lasted(us) {
		const trim = v => v.toFixed(v >= 100 || Number.isInteger(v) ? 0 : v >= 10 ? 1 : 2);
		return us < 1e3 ? `${us} µs` : us < 1e6 ? trim(us / 1e3) + ' ms' : us < 6e7 ? trim(us / 1e6) + ' s' : `${Math.floor(us / 6e7)}m${Math.round(us % 6e7 / 1e6)}s`;
	}

	// Clocks may differ: a countdown goes by the server's.
	const ahead = Date.now() - Date.parse(document.documentElement.dataset.now || new Date());
	function countdown(e) {
		const left = Math.ceil((Date.parse(e.dataset.ends) - Date.now() + ahead) / 1000);
		if (e.tagName === 'PROGRESS') { e.value = Math.max(0, left); return left; }
		e.textContent = left <= 0 ? T('over') : left < 60 ? T('seconds', left) : T('minutes', Math.floor(left / 60), left % 60);
		e.classList.toggle('soon', left < 30);
		return left;
	}

	function dress(root) {
		for (const t of $$('time', root)) { t.textContent = clock(t.dateTime); t.title = new Date(t.dateTime).toLocaleString(document.documentElement.lang); }
		$$('[data-ends]', root).forEach(countdown);
	}

	// -- asking the server

	class Failure extends Error {
		constructor(status, e) { super((e.op ? [e.op, e.subject].join(' ').trim() + ': ' : '') + (e.why || T('error'))); this.status = status; this.hint = e.hint; }
	}
	// What is asked for before the first paint would delay it.
	const painted = new Promise(r => { new PerformanceObserver(r).observe({ type: 'paint', buffered: true }); setTimeout(r, 300); });
	async function ask(method, url, body, extra = {}) {
		await painted;
		const headers = { 'X-CSRF-Token': $('meta[name=csrf]').content, ...extra.headers };
		if (body) headers['Content-Type'] = 'application/json';
		let r;
		try { r = await fetch(url, { method, headers, body: body && JSON.stringify(body), signal: extra.signal }); } catch (e) {
			if (e.name === 'AbortError') throw e;
			throw new Failure(0, { why: T('offline') });
		}
		if (r.ok) return r;
		throw new Failure(r.status, (await r.json().catch(() => ({}))).error || {});
	}
	const logIn = () => { location.href = '/login?next=' + encodeURIComponent(location.pathname + location.search); };
	function complain(e) {
		if (e.name === 'AbortError') return;
		if (e.status === 401) logIn(); else toast(e.message, e.hint);
	}

	// pieces tells the events of a stream as they come.
	async function pieces(response, tell) {
		const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
		for (let rest = '', end; ;) {
			const { value, done } = await reader.read();
			if (done) return;
			rest += value;
			while ((end = rest.indexOf('\n\n')) >= 0) {
				const item = { event: '', id: '', data: '' };
				for (const [, key, text] of rest.slice(0, end).matchAll(/^(event|id|data): ?(.*)$/gm)) item[key] += text;
				rest = rest.slice(end + 2);
				if (item.data) tell(item.event, JSON.parse(item.data), item.id);
			}
		}
	}

	// follow keeps a stream open while the page is seen, and goes on where it was.
	async function follow(url, tell, state = () => { }) {
		for (let pause = 500, last = ''; ;) {
			if (document.hidden) await new Promise(r => hear('visibilitychange', r, { once: true }));
			const stop = new AbortController(), { signal } = stop, end = () => stop.abort();
			hear('visibilitychange', end, { signal });
			addEventListener('pagehide', end, { signal });
			try {
				const r = await ask('GET', url, null, { signal, headers: last ? { 'Last-Event-ID': last } : {} });
				state('live');
				await pieces(r, (name, data, id) => { pause = 500; last = id || last; tell(name, data); });
			} catch (e) {
				if (e.status >= 400 && e.status < 500 && e.status !== 429) { state('lost'); complain(e); return; }
			}
			end();
			if (document.hidden) continue;
			state('lost');
			await wait(pause);
			pause = Math.min(pause * 2, 15000);
		}
	}

	// -- fresh pieces of pages

	// morph makes an element like another, and keeps what is the same.
	const own = ['open', 'aria-selected', 'aria-pressed', 'title'];
	function morph(a, b) {
		if (a.isEqualNode(b)) return;
		if (a.nodeName !== b.nodeName || a.id !== b.id) return a.replaceWith(b);
		if (a.nodeType !== 1) { a.data = b.data; return; }
		for (const { name } of [...a.attributes]) if (!b.hasAttribute(name) && !own.includes(name)) a.removeAttribute(name);
		for (const { name, value } of [...b.attributes]) if (a.getAttribute(name) !== value && !own.includes(name)) a.setAttribute(name, value);
		const known = new Map([...a.children].filter(e => e.id).map(e => [e.id, e]));
		let at = a.firstChild;
		for (const n of [...b.childNodes]) {
			const old = n.id && known.get(n.id);
			if (old) {
				if (old === at) at = at.nextSibling; else a.insertBefore(old, at);
				morph(old, n);
			} else if (!n.id && at && !at.id && at.nodeName === n.nodeName) {
				const next = at.nextSibling;
				morph(at, n);
				at = next;
			} else a.insertBefore(n, at);
		}
		while (at) { const next = at.nextSibling; at.remove(); at = next; }
	}

	const parsed = async r => new DOMParser().parseFromString(await r.text(), 'text/html');
	let dragging = false;
	async function swap(url, ids) {
		const r = await ask('GET', url);
		if (new URL(r.url).pathname === '/login') return logIn();
		const page = await parsed(r);
		for (const id of ids) {
			const old = document.getElementById(id), fresh = page.getElementById(id);
			if (!old || !fresh || dragging) continue;
			const end = old.scrollHeight - old.scrollTop - old.clientHeight < 8;
			morph(old, fresh);
			dress(old);
			if (end && old.tagName === 'PRE') old.scrollTop = old.scrollHeight;
		}
	}
	const quietly = (url, ids) => swap(url, ids).catch(() => { /* the next time */ });
	let calm; // a click meant for what stood there before must not answer another
	const again = () => {
		const b = document.body.classList;
		b.add('moving');
		clearTimeout(calm);
		calm = setTimeout(() => b.remove('moving'), 1e3);
		return quietly('/approvals', ['questions']);
	};
	const refresh = ids => swap(location.href, ids).catch(complain);

	function keepFresh() {
		const every = {};
		for (const e of $$('[data-every]')) (every[e.dataset.every] ||= []).push(e.id);
		for (const [ms, ids] of Object.entries(every)) {
			setInterval(() => document.hidden || quietly(location.href, ids), ms);
		}
		for (const e of $$('[data-load]')) if (e.dataset.load) swap(e.dataset.load, [e.id]).catch(complain);
		setInterval(() => { if ($$('[data-ends]').map(countdown).some(left => left === -1 || left === -2)) again(); }, 1000);
		$('pre.output')?.scrollTo(0, 1e9);
	}

	let asked = [], offer = () => { }; // what waits, and who must know
	// watchQuestions keeps the number beside "Approvals" right on every page.
	function watchQuestions() {
		const badge = $('#waiting');
		if (badge?.dataset.stream) follow(badge.dataset.stream, (name, { questions }) => {
			const before = +badge.textContent, old = asked.map(q => q.id);
			asked = questions || [];
			const now = asked.length, fresh = asked.find(q => !old.includes(q.id));
			badge.textContent = now;
			badge.hidden = !now;
			badge.ariaLabel = T('waiting', now);
			offer();
			if ($('#questions')) again(); else if (now > before && !$$('.action').some(c => c.asks === fresh?.id)) toast(T('waiting', now), fresh && fresh.command.slice(0, 200), true, '/approvals');
			if (now > before) say(T('waiting', now));
			document.title = (now ? `(${now}) ` : '') + document.title.replace(/^\(\d+\) /, '');
		});
	}

	// -- forms and buttons

	// sure asks before something that cannot be taken back.
	function sure(text) {
		if (!text) return Promise.resolve(true);
		return new Promise(done => {
			const d = make('dialog.sure', { ariaLabel: T('sure') }, make('p', text), make('form.answers', { method: 'dialog' }, make('button', T('no')), make('button.danger', { value: 'yes' }, T('yes'))));
			d.onclose = () => { done(d.returnValue === 'yes'); d.remove(); };
			document.body.append(d);
			d.showModal();
		});
	}

	async function change(e, method, url, body) {
		if (e.ariaBusy || !await sure(e.dataset.sure)) return;
		e.ariaBusy = 'true';
		try {
			await ask(method, url, body);
			if (e.dataset.then) return location.assign(e.dataset.then);
			if (e.dataset.done) toast(e.dataset.done, '', true);
			e.reset?.();
			if (e.closest('.ask')) { await again(); ($('.ask') || $('#main')).focus(); }
			if (e.dataset.refresh) await swap(location.href, e.dataset.refresh.split(' '));
		} catch (err) {
			complain(err);
			if (e.closest('.ask')) again();
		}
		e.ariaBusy = null;
	}

	function get(form) {
		const q = new URLSearchParams(new FormData(form));
		for (const [k, v] of [...q]) if (!v) q.delete(k);
		const url = form.getAttribute('action') + (q.size ? '?' + q : '');
		history.replaceState(null, '', url);
		return swap(url, form.dataset.get.split(' ')).catch(complain);
	}

	hear('submit', e => {
		const form = e.target;
		if (form.dataset.api) {
			e.preventDefault();
			const body = Object.fromEntries(new FormData(form, e.submitter));
			delete body.csrf; delete body.back;
			change(form, 'POST', form.dataset.api, Object.keys(body).length ? body : undefined);
		} else if (form.dataset.get) { e.preventDefault(); get(form); }
	});
	hear('click', e => {
		const b = e.target.closest('button');
		if (!b) return;
		if (b.dataset.delete) change(b, 'DELETE', b.dataset.delete);
		if (b.dataset.open) $('#' + b.dataset.open).showModal();
		if ('close' in b.dataset) b.closest('dialog').close();
	});
	hear('change', e => { if ('submit' in e.target.dataset) e.target.form.requestSubmit(); });
	let typing;
	hear('input', e => {
		const form = e.target.form;
		if (form && 'typing' in form.dataset) { clearTimeout(typing); typing = setTimeout(() => get(form), 150); }
	});

	// -- keys

	function keys() {
		const on = $('#keys-on');
		if (!on) return;
		on.checked = localStorage.getItem('keys') !== 'off';
		on.onchange = () => localStorage.setItem('keys', on.checked ? 'on' : 'off');
		let go = 0;
		hear('keydown', e => {
			if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || !on.checked || $('dialog[open]')) return;
			if (e.target.closest('input, textarea, select')) { if (e.key === 'Escape') e.target.blur(); return; }
			if (Date.now() - go < 1200) {
				go = 0;
				const link = $$('.nav a').find(a => a.dataset.key === e.key);
				if (link) { e.preventDefault(); link.click(); }
			} else if (e.key === 'g') go = Date.now();
			else if (e.key === '?') $('#help').showModal();
			else if (e.key === '/' && $('[data-search]')) { e.preventDefault(); $('[data-search]').focus(); }
			else if ((e.key === 'j' || e.key === 'k') && !e.target.closest('#rows')) {
				const all = $$('[data-item]'), at = all.indexOf(e.target.closest('[data-item]'));
				const next = all[within(at + (e.key === 'j' ? 1 : -1), all)];
				if (next) (next.matches('a, [tabindex]') ? next : $('button', next) || next).focus();
				else $('#rows')?.focus();
			}
		});
	}

	// -- now: a list of thousands of which only what is seen is drawn

	const strength = { allow: 1, ask: 2, approved: 3, refused: 4, deny: 5 };
	const mostEvents = 10000, starts = ['asked', 'called', 'started'], ends = ['ended', 'model', 'answered'];
	const going = r => ['running', 'waiting'].includes(r.state);
	function meaning(e) {
		if (e.what === 'approved' || e.what === 'refused') return e.what;
		return e.what === 'denied' ? 'deny' : e.what === 'started' || e.what === 'allowed' ? 'allow' : e.effect;
	}

	function live() {
		const panel = $('[data-live]');
		if (!panel || panel.dataset.on !== 'true') return;
		const rows = $('#rows'), space = $('#rows-space'), none = $('#rows-empty'), detail = $('#detail'), state = $('#live-state');
		const search = $('#live-search'), filter = $('#live-filter'), pause = $('#live-pause');
		let all = [], seen = [], events = 0, last = 0, missed = 0, paused = false, held = [], chosen = null, dirty = false, began = false, connected = 'connecting';
		const known = new Map(), pool = [], tall = () => parseInt(getComputedStyle(rows).getPropertyValue('--row')) || 40;

		const named = what => visible(detail.dataset[what] || what);

		// fold adds an event to the request it is about, like the server does.
		function fold(e) {
			if (e.seq <= last) return;
			if (last && e.seq > last + 1) missed += e.seq - last - 1;
			last = e.seq;
			const key = e.id || '#' + e.seq;
			let r = known.get(key);
			if (!r || !going(r) && starts.includes(e.what)) { // a number may be used again
				r = { key, seq: e.seq, time: e.time, actor: e.actor, text: '', verdict: '', state: 'moment', events: [], changed: 0 };
				known.set(key, r);
				all.push(r);
			}
			if (!r.text || e.what === 'asked') r.text = e.text || r.text;
			const v = meaning(e);
			if ((strength[v] || 0) > (strength[r.verdict] || 0)) r.verdict = v;
			const over = ends.includes(e.what) || e.error;
			if (over || r.state !== 'ended') r.what = e.what;
			if (over) { r.state = 'ended'; r.exit = e.exit; r.error = e.error; r.us = e.duration_us; }
			else if (e.id && r.state !== 'ended') r.state = e.what === 'judged' ? 'waiting' : starts.includes(e.what) || going(r) ? 'running' : 'moment';
			r.events.push(e);
			r.changed++;
			if (++events > mostEvents) { const old = all.shift(); events -= old.events.length; if (known.get(old.key) === old) known.delete(old.key); }
		}
		const failed = r => r.state === 'ended' && (r.error || r.exit);
		const has = (...verdicts) => r => verdicts.includes(r.verdict);
		const kinds = { all: () => true, running: going, failed, deny: has('deny', 'refused'), ask: has('ask', 'approved', 'refused') };

		function newRow() {
			const row = make('div.row', { role: 'option' }, ...['span.when', 'span.who', 'code.what', 'span', 'span'].map(tag => make(tag)));
			row.onclick = () => choose(row.request);
			return row;
		}
		function fill(row, r, i) {
			const mark = r.seq + ':' + r.changed;
			row.ariaSelected = r === chosen;
			row.ariaPosInSet = i + 1;
			row.ariaSetSize = seen.length;
			row.id = 'row-' + r.seq;
			if (row.mark === mark) return;
			row.mark = mark; row.request = r;
			const [when, who, what, verdict, end] = row.children;
			when.textContent = clock(r.time);
			who.textContent = visible(r.actor);
			what.textContent = visible(r.text).slice(0, 500);
			verdict.className = r.verdict ? `verdict v-${r.verdict}` : '';
			verdict.textContent = r.verdict ? T(r.verdict) : '';
			end.className = `end num e-${failed(r) ? 'failed' : r.state}`;
			end.textContent = r.state === 'waiting' ? T('waits') : r.state === 'running' ? T('running') : r.exit ? T('exit', r.exit) : r.us ? lasted(r.us) : named(r.what);
		}
		function draw() {
			dirty = false;
			const height = tall(), before = seen.length, top = rows.scrollTop;
			if (!began) { began = true; space.replaceChildren(); space.className = 'virtual'; }
			const fits = kinds[filter.value], q = search.value.trim().toLowerCase();
			seen = all.filter(r => fits(r) && (!q || `${r.actor} ${r.text}`.toLowerCase().includes(q))).reverse();
			space.style.height = seen.length * height + 'px';
			if (top > 0 && seen.length > before) rows.scrollTop = top + (seen.length - before) * height;
			const from = Math.max(0, Math.floor(rows.scrollTop / height) - 6), to = Math.min(seen.length, from + Math.ceil(rows.clientHeight / height) + 12);
			while (pool.length < to - from) { pool.push(newRow()); space.append(pool.at(-1)); }
			pool.forEach((row, n) => {
				row.hidden = n >= to - from;
				if (row.hidden) return;
				row.style.transform = `translateY(${(from + n) * height}px)`;
				fill(row, seen[from + n], from + n);
			});
			none.hidden = seen.length > 0;
			if (all.length) none.textContent = T('none');
			tellState();
		}
		const later = () => { if (!dirty) { dirty = true; requestAnimationFrame(draw); } };
		function tellState() {
			state.textContent = paused ? T('paused') + (held.length ? ' · ' + T('new', held.length) : '') : T(connected) + (missed ? ' · ' + T('missed', missed) : '');
			state.className = 'state ' + (paused ? 'paused' : connected);
		}

		function choose(r) {
			chosen = r;
			detail.hidden = !r;
			if (r) {
				const list = r.events.slice(-100).map(e => make('li', make('span.when', clock(e.time)), make('strong.v-' + meaning(e), named(e.what)),
					...[[e.text, 'code'], [e.reason, 'p'], [e.rule, 'code'], [e.error, 'p'], [e.what === 'ended' && [T('exit', e.exit ?? 0), lasted(e.duration_us || 0)].join(' · '), 'p']].filter(([t]) => t).map(([t, tag]) => make(tag, {}, visible(t).slice(0, 4000)))));
				const close = make('button.tool', { type: 'button', ariaLabel: T('close') }, '×');
				close.onclick = () => { choose(null); rows.focus(); };
				detail.replaceChildren(make('div.bar', make('h3', visible(r.actor)), make('code.muted', visible(r.key)), make('span.space'), close), make('ol', ...list));
				detail.scrollIntoView({ block: 'nearest' });
			}
			rows.setAttribute('aria-activedescendant', r ? 'row-' + r.seq : '');
			later();
		}
		rows.onkeydown = e => {
			const page = Math.floor(rows.clientHeight / 40), step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 }[e.key];
			if (e.key === 'Escape') choose(null);
			if (!step || e.ctrlKey || e.metaKey || !seen.length) return;
			e.preventDefault();
			const at = within(seen.indexOf(chosen) + step, seen), height = tall();
			if (at * height < rows.scrollTop) rows.scrollTop = at * height;
			if ((at + 1) * height > rows.scrollTop + rows.clientHeight) rows.scrollTop = (at + 1) * height - rows.clientHeight;
			choose(seen[at]);
		};
		rows.onscroll = later;
		addEventListener('resize', later);
		search.oninput = filter.onchange = () => { rows.scrollTop = 0; later(); };
		pause.onclick = () => {
			pause.ariaPressed = paused = !paused;
			pause.textContent = T(paused ? 'resume' : 'pause');
			if (!paused) { held.forEach(fold); held = []; }
			later();
		};
		follow(`${panel.dataset.live}?after=${panel.dataset.after}`, (name, e) => {
			if (!e.seq) return;
			if (!paused) fold(e); else if (held.push(e) > mostEvents) held.shift();
			later();
		}, s => { connected = s; tellState(); });
	}

	// -- secretary

	function chat() {
		const talk = $('[data-chat]'), form = $('#compose');
		if (!talk || !form) return;
		const log = $('#messages'), text = $('#text'), voice = $('#voice'), stop = $('#stop');
		let session = talk.dataset.session, busy = false;
		const working = on => { busy = on; stop.hidden = !on; };
		const down = () => { log.scrollTop = log.scrollHeight; };
		down();

		function message(by, name, said) {
			const e = make('div.message ' + by, make('p.by', make('span', name), make('time', { dateTime: new Date().toISOString() }, clock(Date.now()))), make('div.said', visible(said)));
			$('[data-greeting]', log)?.remove();
			log.append(e);
			down();
			return e;
		}
		function card(a) {
			const box = make('div'), end = make('span.end e-running', T('running'));
			const c = make('div.action', make('div.bar', make('strong', T('run')), make('span.space'), end), make('pre.code', { tabIndex: 0 }, make('code', visible(a.command))));
			if (a.reason) c.append(make('p.note', visible(a.reason)));
			c.append(box);
			setTimeout(offer);
			return Object.assign(c, { end, box, command: String(a.command) });
		}
		// offer shows what is asked about a command in its card, with the answers.
		offer = () => $$('.action', log).filter(c => c.end && !c.filled).forEach(async c => {
			const q = asked.find(q => q.session === session && (q.script || q.command).trim() === c.command.trim());
			if (c.asks === q?.id) return;
			c.asks = q?.id;
			c.end.textContent = T(q ? 'answer' : 'running');
			c.end.className = 'end e-' + (q ? 'waiting' : 'running');
			const page = q && await ask('GET', '/approvals').then(parsed, complain);
			if (c.asks !== q?.id) return;
			c.box.replaceChildren(...page ? $$(`#ask-${q.id} :is(.countdown, .facts, .answers)`, page) : []);
			dress(c.box);
			down();
		});
		// drawn is what she said or ran, as the server draws it.
		const drawn = async what => (await parsed(await ask('POST', talk.dataset.said, what))).body.childNodes;
		const layOut = p => drawn({ text: p.raw }).then(n => p.replaceChildren(...n), () => { /* it can be read as it is */ });
		function fillCard(c, result) {
			c.filled = true;
			c.box.remove();
			c.end.textContent = '…';
			return drawn({ result }).then(n => c.replaceWith(...n), complain).then(down);
		}
		// hold waits for an answer that began before the page.
		async function hold() {
			working(true);
			while ($('#answering')?.firstChild) {
				await wait(700);
				if (!document.hidden) await quietly(location.href, ['messages', 'answering', 'lanes']);
			}
			working(false);
			down();
		}
		async function send(said) {
			working(true);
			if (!session) {
				session = 'web-' + Date.now().toString(36);
				history.replaceState(null, '', '/secretary?session=' + session);
			}
			message('user', T('you'), said);
			const e = message('assistant', T('her'), T('thinking')), first = $('.said', e);
			let p = first, answer = '', fresh = false; // what she says after something was done stands below it
			e.ariaBusy = 'true';
			first.classList.add('muted');
			const cards = [], filling = [], silent = () => first.matches('.muted');
			const write = t => { p.raw = answer = t; p.classList.remove('muted'); p.textContent = visible(answer); };
			const add = piece => { e.append(piece); fresh = true; };
			const addCard = a => { cards.push(card(a)); add(cards.at(-1)); return cards.at(-1); };
			try {
				await pieces(await ask('POST', talk.dataset.chat, { session, text: said }), (name, { type, text, action, result, error }) => {
					if (name === 'error') throw new Failure(0, error || {});
					if (type === 'text' && text) {
						if (fresh) { e.append(p = make('div.said')); answer = ''; fresh = false; }
						write(answer + text);
					} else if (type === 'again') write('');
					else if (type === 'action') addCard(action || {});
					else if (type === 'result') filling.push(fillCard(cards.find(c => !c.filled && c.command === result.command) || cards.find(c => !c.filled) || addCard(result), result));
					else if (type === 'todo') { add(make('p.did', `${T('todo')}: ${visible(text)}`)); quietly('/secretary', ['lanes']); }
					else if (type === 'warning') add(make('p.notice', visible(text)));
					else if (type === 'done' && text && !answer) write(text);
					down();
				});
				if (silent()) first.remove();
			} catch (err) {
				if (silent()) first.textContent = T('stopped');
				complain(err);
			}
			await Promise.all([...filling, ...$$('.said', e).filter(p => p.raw).map(layOut)]);
			e.ariaBusy = null;
			working(false);
			down();
		}
		const grow = () => { text.style.height = 'auto'; text.style.height = Math.min(text.scrollHeight + 2, 160) + 'px'; };
		text.oninput = grow;
		text.onkeydown = e => {
			// Return also ends a Japanese word; that is no message.
			if (e.key === 'Enter' && !e.shiftKey && !e.isComposing && e.keyCode !== 229) { e.preventDefault(); form.requestSubmit(); }
		};
		form.onsubmit = e => {
			e.preventDefault();
			const said = text.value.trim();
			if (!said || busy) return;
			text.value = '';
			grow();
			send(said);
		};
		stop.onclick = () => ask('POST', `${stop.dataset.stop}/${encodeURIComponent(session)}/stop`).catch(complain);
		if ($('#answering').firstChild) hold();
		voice.onclick = async () => {
			const on = voice.ariaPressed !== 'true';
			try {
				const r = await (await ask('PUT', voice.dataset.voice, { on })).json();
				voice.ariaPressed = r.on;
				say(T(r.on ? 'voiceOn' : 'voiceOff'));
			} catch (err) { complain(err); }
		};
	}

	// -- to-dos: dragged with mouse, finger or keys

	function board() {
		const lanes = () => $$('.lane'), nameOf = lane => $('h3', lane).firstChild.data.trim();
		if (!$('#lanes')) return;
		async function put(card, lane) {
			const body = { status: lane.dataset.status };
			if (lane.dataset.priority) body.priority = lane.dataset.priority;
			$('ul', lane).append(card);
			let told = T('dropped', nameOf(lane));
			try { await ask('PATCH', card.dataset.todo, body); } catch (e) { told = ''; complain(e); }
			await refresh(['lanes']);
			say(told);
			$('#' + card.id + ' [data-grip]')?.focus();
		}

		let drag = null;
		const under = e => document.elementFromPoint(e.clientX, e.clientY)?.closest('.lane');
		const into = lane => lanes().forEach(l => l.classList.toggle('into', l === lane));
		function end(lane) {
			const { card, from } = drag;
			drag = null;
			dragging = false;
			card.style.transform = '';
			card.classList.remove('held');
			into(null);
			if (lane && lane !== from) put(card, lane);
		}
		hear('pointerdown', e => {
			const card = e.target.closest('.todo');
			if (!card || !$('[data-grip]', card) || e.button || e.target.closest('button:not([data-grip])') || e.pointerType === 'touch' && !e.target.closest('[data-grip]')) return;
			drag = { card, from: card.closest('.lane'), x: e.clientX, y: e.clientY, moved: false };
		});
		hear('pointermove', e => {
			if (!drag) return;
			const x = e.clientX - drag.x, y = e.clientY - drag.y;
			if (!drag.moved && Math.hypot(x, y) < 5) return;
			drag.moved = dragging = true;
			drag.card.classList.add('held');
			drag.card.style.transform = `translate(${x}px, ${y}px)`;
			into(under(e));
		});
		hear('pointerup', e => drag && end(drag.moved && under(e)));
		hear('pointercancel', () => drag && end());

		let grip = null; // the handle that holds a to-do by key
		function release(keep) {
			const { button, card, from, next } = grip, lane = card.closest('.lane');
			grip = null;
			dragging = false;
			button.ariaPressed = null;
			card.classList.remove('lifted');
			into(null);
			if (keep && lane !== from) return put(card, lane);
			$('ul', from).insertBefore(card, next);
			button.focus();
			say(T('back'));
		}
		hear('keydown', e => {
			const button = e.target.closest('[data-grip]');
			if (!button) return;
			const card = button.closest('.todo'), step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[e.key];
			if (e.key === ' ' || e.key === 'Enter') {
				e.preventDefault();
				if (grip) return release(true);
				grip = { button, card, from: card.closest('.lane'), next: card.nextSibling };
				dragging = true;
				button.ariaPressed = 'true';
				card.classList.add('lifted');
				into(grip.from);
				say(T('grabbed', $('.title', card).textContent, nameOf(grip.from)));
			} else if (grip && e.key === 'Escape') { e.preventDefault(); release(false); }
			else if (grip && step) {
				e.preventDefault();
				const every = lanes(), lane = every[within(every.indexOf(card.closest('.lane')) + step, every)];
				grip.moving = true; // moving takes the focus away for a moment
				$('ul', lane).append(card);
				button.focus();
				grip.moving = false;
				into(lane);
				say(nameOf(lane));
			}
		});
		hear('focusout', e => { if (grip && !grip.moving && e.target === grip.button) setTimeout(() => { if (grip && document.activeElement !== grip.button) release(false); }); });
	}

	// -- tasks: what happens, line by line

	function steps() {
		const log = $('[data-steps]');
		if (!log) return;
		const state = $('[data-state]');
		follow(log.dataset.steps, (name, s) => {
			if (!s.type) return;
			const end = log.scrollHeight - log.scrollTop - log.clientHeight < 24;
			log.append(make('div.step t-' + s.type.replace(/\W/g, '') + (s.ok === false ? ' bad' : ''), make('time', { dateTime: s.time }, clock(s.time)),
				make('strong', visible(s.name || log.dataset[s.phase] || s.phase || s.type)), make('span', visible(s.text).slice(0, 4000))));
			while (log.children.length > 1000) log.firstChild.remove();
			if (end) log.scrollTop = log.scrollHeight;
			if (s.type === 'phase' || s.type === 'state') refresh(['task', 'tasks']);
		}, s => { state.textContent = T(s); state.className = 'state ' + s; });
	}

	// A page kept for the way back may be old.
	addEventListener('pageshow', e => { if (e.persisted) location.reload(); });
	dress(document);
	keys(); keepFresh(); watchQuestions(); live(); chat(); board(); steps();
})();
