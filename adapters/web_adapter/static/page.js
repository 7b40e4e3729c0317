// The page works without this. With it, answers come by themselves, passages open beside the chat, leaving is quicker.
(() => {
  "use strict";
  const root = document.documentElement, base = document.body.dataset.base;
  const at = (id) => document.getElementById(id);
  root.classList.add("js");

  // After leaving, Back leads to the first page and no further; and no address keeps more than where it leads.
  const came = performance.getEntriesByType("navigation")[0], first = base || "/";
  if ("fresh" in document.body.dataset && came && came.type === "back_forward" && location.pathname !== first) {
    document.body.replaceChildren();
    location.replace(first);
    return;
  }
  if (location.search) history.replaceState(history.state, "", location.pathname + location.hash);

  let source = null, alive = false, opener = null;

  // Quick exit: the browser is gone before the server has answered.
  const leave = document.querySelector(".leave");
  leave.addEventListener("submit", (event) => {
    event.preventDefault();
    if (source) source.close(); // else the word that the chat is gone would lead back to our first page
    navigator.sendBeacon(leave.action, new URLSearchParams(new FormData(leave)));
    document.body.replaceChildren();
    (leave.target === "_top" ? window.top : window).location.replace(leave.dataset.exit);
  });

  // The contacts close with Escape and by a click elsewhere.
  const help = at("help");
  const shut = () => { if (help.open) { help.open = false; return true; } return false; };
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    if (shut()) help.firstElementChild.focus(); else closePassage();
  });
  document.addEventListener("click", (event) => { if (!help.contains(event.target)) shut(); });
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

  // The titles are searched in the page: nothing is sent, and the browser keeps nothing of it.
  const search = document.querySelector("form.search");
  if (search) {
    const titles = [...document.querySelectorAll(".titles li")], count = document.querySelector("[role=status]");
    search.addEventListener("submit", (event) => {
      event.preventDefault();
      const wanted = at("q").value.toLowerCase().split(/\s+/);
      for (const one of titles) one.hidden = !wanted.every((word) => one.textContent.toLowerCase().includes(word));
      const found = titles.filter((one) => !one.hidden).length;
      for (const shelf of document.querySelectorAll("main section")) shelf.hidden = !shelf.querySelector("li:not([hidden])");
      count.textContent = found ? search.dataset.count.replace("{count}", found) : search.dataset.none;
    });
  }

  const chat = at("chat");
  const log = at("log"), status = at("status"), ask = at("ask"), text = at("text"), aside = at("beside");

  function closePassage() {
    if (!aside || aside.hidden) return;
    aside.hidden = true;
    chat.classList.remove("open");
    (opener && opener.isConnected ? opener : text).focus();
  }
  if (!chat) return;

  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  // For whoever goes by keyboard nothing glides away under the focus.
  let tabbing = false;
  document.addEventListener("keydown", (event) => { if (event.key === "Tab") tabbing = true; });
  document.addEventListener("pointerdown", () => { tabbing = false; });
  const show = (item) => item.scrollIntoView({ behavior: tabbing || calm.matches ? "instant" : "smooth", block: "start" });
  const say = (words, busy) => { status.textContent = words; status.classList.toggle("busy", !!busy); };
  const parsed = (html) => new DOMParser().parseFromString(html, "text/html");

  // Where the keyboard is must not go with what is taken away.
  const hold = (item) => { item.tabIndex = -1; item.focus({ preventScroll: true }); };

  // What is new
  function add(html) {
    const item = parsed("<ol>" + html + "</ol>").querySelector("li");
    if (!item || at(item.id)) return;
    const gone = item.classList.contains("question") ? [] : [...log.querySelectorAll(".actions")];
    if (at("empty")) gone.push(at("empty"));
    const held = gone.some((old) => old.contains(document.activeElement));
    for (const old of gone) old.remove();
    const alarm = item.querySelector("[role=alert]"), words = alarm && [...alarm.childNodes];
    if (alarm) alarm.replaceChildren();
    log.append(item);
    if (alarm) alarm.append(...words); // a live region has to be there before its words
    if (held) hold(item);
    const asked = [...log.querySelectorAll(".entry.you")].pop();
    show(asked && item.classList.contains("answer") ? asked : item);
  }

  async function renew() {
    const answer = await fetch(base + "/chat", { headers: { Accept: "text/html" } });
    if (answer.redirected && !new URL(answer.url).pathname.endsWith("/chat")) return location.replace(answer.url);
    const fresh = parsed(await answer.text()).getElementById("log");
    if (!fresh) return;
    const held = log.contains(document.activeElement);
    log.replaceChildren(...fresh.children);
    if (held && log.lastElementChild) hold(log.lastElementChild);
  }

  function listen() {
    source = new EventSource(base + "/events?after=" + encodeURIComponent(chat.dataset.after));
    source.onopen = () => { alive = true; };
    source.onerror = () => { alive = false; if (source.readyState === EventSource.CLOSED) setTimeout(listen, 15000); };
    source.addEventListener("shown", (event) => add(event.data));
    source.addEventListener("busy", (event) => say(event.data || chat.dataset.looking, true));
    source.addEventListener("calm", (event) => say(event.data));
    source.addEventListener("anew", renew);
    source.addEventListener("gone", () => { source.close(); location.replace(base || "/"); });
  }
  if (window.EventSource) listen();
  window.addEventListener("pagehide", () => { if (source) source.close(); });

  // What is sent
  async function post(form, fields) {
    const answer = await fetch(form.action, { method: "POST", body: fields, headers: { Accept: "application/json" } });
    const said = await answer.json().catch(() => null);
    if (!answer.ok || !said) throw new Error(String(answer.status));
    if (said.go && !said.go.endsWith("/chat")) location.assign(said.go);
  }
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!alive || !chat.contains(form)) return; // an ordinary form then, which shows the next page
    event.preventDefault();
    const kept = form === ask ? text.value : "", fields = new URLSearchParams(new FormData(form, event.submitter));
    if (form === ask) { if (!kept.trim()) return; text.value = ""; }
    say(chat.dataset.looking, true);
    try {
      await post(form, fields);
      if (form.classList.contains("poll")) {
        const entry = form.closest(".entry"), held = form.contains(document.activeElement);
        form.remove();
        if (held) hold(entry);
      }
    } catch (error) {
      if (form === ask && !text.value) text.value = kept;
      say(error instanceof TypeError ? chat.dataset.lost : chat.dataset.failed);
    }
  });
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || !matchMedia("(pointer: fine)").matches) return;
    event.preventDefault();
    ask.requestSubmit();
  });

  // The passage beside the chat
  document.addEventListener("click", async (event) => {
    const link = event.target.closest("a.cite");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || !matchMedia("(min-width: 62rem)").matches) return;
    event.preventDefault();
    const place = new URL(link.href);
    try {
      const answer = await fetch(place.pathname + (place.search ? place.search + "&" : "?") + "beside=1");
      if (!answer.ok) throw new Error(String(answer.status));
      at("passage").replaceChildren(...parsed(await answer.text()).body.children);
    } catch { location.assign(link.href); return; }
    opener = link;
    aside.hidden = false;
    chat.classList.add("open");
    const here = place.hash && aside.querySelector(place.hash);
    if (here) here.classList.add("here");
    at("passage").scrollTop = here ? here.offsetTop - at("passage").clientHeight / 4 : 0;
    hold(here || aside.querySelector(".title"));
  });
  at("close").addEventListener("click", closePassage);
  at("print").addEventListener("click", () => window.print());
  if (location.hash === "" && log.children.length) show([...log.querySelectorAll(".entry.you")].pop() || log.lastElementChild);
})();
