// Looks at a page the way somebody does who cannot see it, or not well, and
// returns what is wrong with it, a line each.
(() => {
	const wrong = [], all = s => [...document.querySelectorAll(s)];
	const brief = e => e.outerHTML.replace(/\s+/g, ' ').slice(0, 110);
	const shown = e => e.checkVisibility({ checkVisibilityCSS: true, checkOpacity: true }) && e.getClientRects().length > 0;
	const fail = (why, e) => wrong.push(e ? `${why}: ${brief(e)}` : why);

	// Names.
	const text = id => document.getElementById(id)?.textContent.trim() || '';
	function name(e) {
		const by = e.getAttribute('aria-labelledby');
		if (by) return by.split(' ').map(text).join(' ').trim();
		if (e.getAttribute('aria-label')) return e.getAttribute('aria-label').trim();
		if (e.labels?.length) return [...e.labels].map(l => l.textContent).join(' ').trim();
		if (e.matches('input, select, textarea')) return '';
		return e.textContent.trim() || e.title;
	}
	for (const e of all('a[href], button, input:not([type=hidden]), select, textarea, [role=log], [role=listbox], [role=timer], [role=region], [role=img], progress, dialog, nav, aside, section[aria-labelledby], summary'))
		if (!name(e)) fail('has no name', e);
	for (const e of all('[placeholder]')) if (!e.labels.length) fail('has a placeholder and no label', e);
	for (const e of all('svg')) if (e.getAttribute('role') !== 'img' && e.getAttribute('aria-hidden') !== 'true') fail('a drawing that is neither named nor hidden', e);
	for (const attribute of ['aria-labelledby', 'aria-describedby', 'aria-controls', 'for'])
		for (const e of all(`[${attribute}]`))
			for (const id of e.getAttribute(attribute).split(' ')) if (!document.getElementById(id)) fail(`${attribute} names ${id}, which is not there`, e);
	const ids = all('[id]').map(e => e.id);
	for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) fail('id twice: ' + id);

	// Structure.
	if (!document.documentElement.lang || !document.title) fail('no language or title');
	if (all('main').length !== 1) fail('not one main');
	if (all('h1').length !== 1) fail('not one h1');
	if (document.querySelector('.nav')) {
		if (all('body > header').length !== 1 || all('body > footer').length !== 1) fail('landmarks are missing');
		const first = document.querySelector('a, button');
		if (!first.matches('.skip') || !document.querySelector(first.getAttribute('href'))) fail('the first link does not skip to the content', first);
		if (all('.nav [aria-current=true]').length > 1) fail('several pages are current');
	}
	const names = all('nav').map(name);
	if (new Set(names).size !== names.length) fail('two navigations with one name: ' + names);
	let level = 0;
	for (const h of all('h1, h2, h3, h4').filter(h => !h.closest('dialog:not([open])') && shown(h))) {
		const n = +h.tagName[1];
		if (n > level + 1) fail(`a heading of level ${n} after ${level}`, h);
		level = n;
	}
	for (const e of all('[tabindex]')) if (e.tabIndex > 0) fail('comes before its turn', e);
	for (const e of all('a a, a button, button a, button button, label button')) fail('something to press inside of something to press', e);
	for (const e of all('li')) if (!e.parentElement.matches('ul, ol')) fail('an item of no list', e);
	for (const e of all('table')) if (!e.querySelector('thead th[scope=col]')) fail('a table without heads', e);
	for (const e of all('[aria-hidden=true]')) if (e.querySelector('a, button, input, [tabindex="0"]')) fail('can be reached and not be heard', e);
	for (const e of all('*')) { // what scrolls can be scrolled with keys
		const s = getComputedStyle(e);
		if (/auto|scroll/.test(s.overflowY + s.overflowX) && shown(e) && (e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1) && e.tabIndex < 0 && e.tagName !== 'TEXTAREA' && !e.querySelector('a, button, input, [tabindex="0"]'))
			fail('scrolls by mouse alone', e);
	}

	// Contrast.
	const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
	const colours = new Map();
	function rgba(colour) {
		if (!colours.has(colour)) {
			canvas.clearRect(0, 0, 1, 1);
			canvas.fillStyle = colour;
			canvas.fillRect(0, 0, 1, 1);
			const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
			colours.set(colour, [r, g, b, a / 255]);
		}
		return colours.get(colour);
	}
	const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
	function behind(e) {
		const layers = [];
		for (; e; e = e.parentElement) {
			const c = rgba(getComputedStyle(e).backgroundColor);
			if (c[3] > 0) layers.push(c);
			if (c[3] === 1) break;
		}
		return layers.reverse().reduce((under, c) => over(c, under), [255, 255, 255, 1]);
	}
	const light = c => { const [r, g, b] = c.map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((m, n) => n - m); return (x + 0.05) / (y + 0.05); };
	const told = new Set();
	function check(e, colour, what) {
		const s = getComputedStyle(e), size = parseFloat(s.fontSize), large = size >= 24 || size >= 18.66 && +s.fontWeight >= 700;
		const back = behind(e), r = ratio(over(rgba(colour), back), back), key = colour + back;
		if (r < (large ? 3 : 4.5) && !told.has(key)) { told.add(key); fail(`${what} has contrast ${r.toFixed(2)} (${colour} on ${back.slice(0, 3).map(Math.round)})`, e); }
	}
	for (const e of all('body *')) {
		if (!shown(e) || e.closest('.unseen, svg, [hidden]')) continue;
		if ([...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) check(e, getComputedStyle(e).color, 'text');
		if (e.matches('input:not([type=checkbox]), select, textarea')) {
			check(e, getComputedStyle(e).color, 'a field');
			if (e.placeholder) check(e, getComputedStyle(e, '::placeholder').color, 'a placeholder');
			const edge = rgba(getComputedStyle(e).borderTopColor), back = behind(e.parentElement);
			if (ratio(over(edge, back), back) < 3) fail('the edge of a field is hard to see', e);
		}
	}
	return wrong;
})()
