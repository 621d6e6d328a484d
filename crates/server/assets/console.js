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
    own.textContent = own.dataset.form === "time" ? at.toLocaleTimeString() : at.toLocaleString();
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

  // Parts of a page that say where they come from are fetched anew when something happens.
  let refreshing = null;
  const refresh = () => {
    clearTimeout(refreshing);
    refreshing = setTimeout(async () => {
      for (const part of document.querySelectorAll("[data-part]")) {
        if (part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select")) continue;
        const reply = await fetch(part.dataset.part, { headers: { accept: "text/html" } }).catch(() => null);
        if (!reply || !reply.ok || reply.redirected) continue;
        const fresh = parse(await reply.text());
        const counted = fresh.querySelector("[data-waiting]");
        if (counted) waiting(Number(counted.dataset.waiting));
        clock(fresh);
        part.replaceChildren(fresh);
        left();
      }
    }, 150);
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

  // Keys: a digit opens a page, `/` goes to the first filter, `?` tells.
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
    const links = document.querySelectorAll(".top nav a");
    const digit = Number(event.key);
    if (digit >= 1 && digit <= links.length) { links[digit - 1].click(); event.preventDefault(); }
    if (event.key === "/") {
      const field = document.querySelector(".filters input");
      if (field) { field.focus(); event.preventDefault(); }
    }
  });

  // What was asked to be confirmed is.
  addEventListener("submit", (event) => {
    const asks = event.submitter && event.submitter.dataset.confirm;
    if (asks && !confirm(asks)) event.preventDefault();
  });
})();
