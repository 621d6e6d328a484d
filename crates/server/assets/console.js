// What is nicer with a script: pages work without it. Nothing here decides anything.
"use strict";
(() => {
  // The server's own pages are the only markup that is ever put into a page, and they come from this origin.
  const policy = window.trustedTypes
    ? window.trustedTypes.createPolicy("ringfence", { createHTML: (text) => text })
    : { createHTML: (text) => text };
  const parse = (html) => {
    const holder = document.createElement("template");
    holder.innerHTML = policy.createHTML(html);
    return holder.content;
  };
  const told = document.getElementById("told");
  const say = (text) => { if (told) told.textContent = text; };

  // Times are shown in the reader's own clock; the server writes them in UTC.
  const clock = (root) => root.querySelectorAll("time[data-ms]").forEach((own) => {
    const at = new Date(Number(own.dataset.ms));
    own.title = own.dateTime;
    const isToday = at.toDateString() === new Date().toDateString();
    const day = own.dataset.form === "short" && isToday ? "" : `${at.toLocaleDateString(undefined, { month: "short", day: "numeric", year: at.getFullYear() === new Date().getFullYear() ? undefined : "numeric" })}, `;
    own.textContent = day + at.toLocaleTimeString();
  });
  const left = () => document.querySelectorAll("[data-until]").forEach((own) => {
    const seconds = Math.max(0, Math.round((Number(own.dataset.until) - Date.now()) / 1000));
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    own.textContent = seconds === 0 ? "expired" : hours ? `${hours} h ${minutes} min` : minutes ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
  });
  clock(document); left(); setInterval(left, 1000);

  // How many requests wait: in the list of pages and in the title.
  const waiting = (count) => {
    const own = document.getElementById("waiting");
    if (own) { own.hidden = count === 0; own.querySelector(".number").textContent = count; }
    document.title = document.title.replace(/^\(\d+\) /, "");
    if (count > 0) document.title = `(${count}) ${document.title}`;
  };

  // Fields in which a person writes; keys are not shortcuts there, and nothing is drawn anew under their hands.
  const isWriting = (own) => own.matches("textarea, select, input:not([type=checkbox]):not([type=radio])");

  // How many requests are selected.
  const tally = () => {
    const bar = document.getElementById("bar");
    if (!bar) return;
    const all = document.querySelectorAll("[name=pick]");
    const count = document.querySelectorAll("[name=pick]:checked").length;
    document.getElementById("picked").textContent = `${count} of ${all.length} selected`;
    const every = document.getElementById("pick-all");
    every.hidden = false;
    every.textContent = count === all.length ? "Select none" : "Select all";
    for (const own of bar.querySelectorAll("button[type=submit]")) {
      own.disabled = count === 0;
      own.textContent = `${own.value === "deny" ? "Deny" : "Approve"} ${count === 0 ? "selected" : count}`;
    }
    bar.classList.toggle("idle", count === 0);
  };
  addEventListener("change", (event) => { if (event.target.matches("[name=pick]")) tally(); });
  addEventListener("click", (event) => {
    if (event.target.id !== "pick-all") return;
    const all = [...document.querySelectorAll("[name=pick]")];
    const on = all.some((own) => !own.checked);
    all.forEach((own) => { own.checked = on; });
    tally();
  });
  addEventListener("submit", (event) => {
    const deny = event.submitter && event.submitter.value === "deny";
    const field = deny && event.target.querySelector("[name=reason]");
    if (field && !field.value.trim()) { event.preventDefault(); say("A refusal needs a reason"); field.focus(); }
  });
  tally();

  // Names are suggested while somebody types.
  let asking = null;
  addEventListener("input", (event) => {
    const own = event.target;
    if (!own.dataset || !own.dataset.suggest || !own.list) return;
    clearTimeout(asking);
    asking = setTimeout(async () => {
      const query = new URLSearchParams({ field: own.dataset.suggest, text: own.value });
      const reply = await fetch(`/api/v1/names?${query}`).catch(() => null);
      if (!reply || !reply.ok || reply.redirected) return;
      const { names } = await reply.json();
      own.list.replaceChildren(...names.map((name) => { const one = document.createElement("option"); one.value = name; return one; }));
    }, 120);
  });

  // Parts of a page that say where they come from are fetched anew when something happens: one after another, since an older answer must
  // not come last.
  let refreshing = null;
  let isFetching = false;
  let isStale = false;
  const refresh = () => {
    clearTimeout(refreshing);
    refreshing = setTimeout(fetchParts, 150);
  };
  const fetchParts = async () => {
    isStale = isFetching;
    if (isFetching) return;
    isFetching = true;
    let hasFailed = false;
    for (const part of document.querySelectorAll("[data-part]")) hasFailed = !(await fetchPart(part).catch(() => false)) || hasFailed;
    isFetching = false;
    if (isStale) refresh();
    else if (hasFailed) setTimeout(refresh, 2000);
  };
  // Returns whether there is nothing to try again.
  const fetchPart = async (part) => {
    if (part.contains(document.activeElement) && isWriting(document.activeElement)) return true;
    const reply = await fetch(part.dataset.part, { headers: { accept: "text/html" } });
    if (!reply.ok || reply.redirected) return reply.status < 429;
    const fresh = parse(await reply.text());
    const counted = fresh.querySelector("[data-waiting]");
    if (counted) waiting(Number(counted.dataset.waiting));
    clock(fresh);
    // What was selected stays selected only where it is the same request with the same digest.
    const picked = new Set([...part.querySelectorAll("[name=pick]:checked")].map((own) => own.value));
    fresh.querySelectorAll("[name=pick]").forEach((own) => { own.checked = picked.has(own.value); });
    const focused = part.contains(document.activeElement) ? document.activeElement : null;
    const href = focused && focused.getAttribute("href");
    const same = focused && (focused.id ? `#${CSS.escape(focused.id)}` : href && `a[href="${CSS.escape(href)}"]`);
    const reason = part.querySelector("#bulk-reason");
    const written = reason ? reason.value : "";
    part.replaceChildren(fresh);
    const field = part.querySelector("#bulk-reason");
    if (field) field.value = written;
    const again = same && part.querySelector(same);
    if (again) again.focus();
    left(); tally();
    return true;
  };

  // A notification on the desktop, for whoever wants them.
  const bell = document.getElementById("bell");
  const wantsBell = () => localStorage.getItem("ringfence-bell") === "on" && "Notification" in window && Notification.permission === "granted";
  if (bell && "Notification" in window) {
    bell.hidden = false;
    bell.setAttribute("aria-pressed", String(wantsBell()));
    bell.addEventListener("click", async () => {
      const on = !wantsBell() && (await Notification.requestPermission()) === "granted";
      localStorage.setItem("ringfence-bell", on ? "on" : "off");
      bell.setAttribute("aria-pressed", String(on));
    });
  }

  // What happens, as it happens.
  const live = () => {
    const rows = document.getElementById("rows");
    const query = new URLSearchParams(rows ? rows.dataset.query || "" : "");
    if (rows && rows.dataset.next) query.set("from", rows.dataset.next);
    if (!rows) query.set("kind", "approval");
    const source = new EventSource(`/live?${query}`);
    let held = [];
    const most = 500;
    const flush = () => {
      if (!held.length || !rows) return;
      const batch = held.splice(0).slice(-most);
      const fresh = document.createDocumentFragment();
      for (const one of batch.reverse()) fresh.append(parse(one.html));
      for (const row of fresh.querySelectorAll("tr")) row.classList.add("fresh");
      clock(fresh);
      rows.prepend(fresh);
      while (rows.children.length > most) rows.lastElementChild.remove();
      const empty = document.getElementById("no-rows");
      if (empty) empty.hidden = true;
    };
    setInterval(() => { if (!document.querySelector("#pause[aria-pressed='true']")) flush(); }, 250);
    source.addEventListener("record", (event) => {
      const one = JSON.parse(event.data);
      if (rows) { held.push(one); if (held.length > 4 * most) held = held.slice(-most); }
      window.ringfenceSeen = (window.ringfenceSeen || 0) + 1;
      if (one.row.kind === "approval") {
        refresh();
        if (one.row.state === "asked") {
          say(`${one.row.tool} waits for a person`);
          if (wantsBell() && document.hidden) new Notification("A call waits for you", { body: one.row.tool, tag: "ringfence" });
        }
      } else if (document.querySelector("[data-part-any]")) refresh();
    });
    // Somebody is asked before there is a request: this says that there is one.
    source.addEventListener("filed", refresh);
    const state = document.getElementById("live-state");
    source.onopen = () => {
      // What came between the page and this stream, or while there was none.
      refresh();
      if (state) { state.textContent = "live"; state.className = "tag good"; }
    };
    source.onerror = () => { if (state) { state.textContent = "not connected"; state.className = "tag warn"; } };
    addEventListener("pagehide", () => source.close());
  };
  if (document.body.dataset.live) live();

  const pause = document.getElementById("pause");
  if (pause) {
    pause.hidden = false;
    pause.addEventListener("click", () => pause.setAttribute("aria-pressed", String(pause.getAttribute("aria-pressed") !== "true")));
  }

  // Keys. None of them decides anything: they go to a place or to a button, and Enter presses it.
  const help = document.getElementById("help");
  const keysOn = document.getElementById("keys-on");
  const usesKeys = () => localStorage.getItem("ringfence-keys") !== "off";
  if (keysOn) {
    keysOn.checked = usesKeys();
    keysOn.addEventListener("change", () => localStorage.setItem("ringfence-keys", keysOn.checked ? "on" : "off"));
  }
  const openHelp = (event) => { if (help && help.showModal) { event.preventDefault(); if (!help.open) help.showModal(); } };
  const helpLink = document.getElementById("help-link");
  if (helpLink) helpLink.addEventListener("click", openHelp);

  // The items of a list, each with what opens it.
  const items = () => [...document.querySelectorAll("[data-item], #rows > tr, .activity tbody > tr")];
  const current = () => items().findIndex((own) => own.contains(document.activeElement));
  const focusItem = (place) => {
    const own = items()[place];
    const target = own && (own.querySelector("[name=pick]") || own.querySelector(".open, .request, .definition"));
    if (target) { target.focus(); own.scrollIntoView({ block: "nearest" }); }
    return Boolean(target);
  };
  const key = (event) => {
    const name = event.key;
    const links = document.querySelectorAll(".top nav a");
    if (/^[0-9]$/.test(name)) { const link = links[name === "0" ? 9 : Number(name) - 1]; if (link) link.click(); return Boolean(link); }
    switch (name) {
      case "?": openHelp(event); return true;
      case "/": { const field = document.querySelector(".filters input:not([type=hidden])"); if (field) { field.focus(); field.select(); } return Boolean(field); }
      case "s": location.assign("/sessions"); return true;
      case "j": return focusItem(current() + 1);
      case "k": return focusItem(Math.max(0, current() - 1));
      case "o": { const own = items()[Math.max(0, current())]; const link = own && own.querySelector("a.open, a.request, a.definition"); if (link) link.click(); return Boolean(link); }
      case "x": {
        const at = Math.max(0, current());
        const own = items()[at] && items()[at].querySelector("[name=pick]");
        if (!own) return focusItem(at + 1);
        own.checked = !own.checked;
        tally();
        if (!focusItem(at + 1)) own.focus();
        return true;
      }
      case "a": { const own = document.querySelector("button[value=approve]:not(:disabled)"); if (own) own.focus(); return Boolean(own); }
      case "d": { const own = document.querySelector("#bulk-reason, #reason"); if (own) own.focus(); return Boolean(own); }
      default: {
        const focus = document.querySelector(`[data-focus="${CSS.escape(name)}"]`);
        if (focus) { focus.focus(); return true; }
        const own = document.querySelector(`[data-key="${CSS.escape(name)}"]`);
        if (!own) return false;
        if (own.matches("input")) { own.focus(); own.select(); } else own.click();
        return true;
      }
    }
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isWriting(event.target)) return;
    if (help && help.open) return;
    if (event.key.length !== 1 || event.key === " " || (!usesKeys() && event.key !== "?")) return;
    if (key(event)) event.preventDefault();
  });

  // What was asked to be confirmed is.
  addEventListener("submit", (event) => {
    const asks = event.submitter && event.submitter.dataset.confirm;
    if (asks && !confirm(asks)) event.preventDefault();
  });
})();
