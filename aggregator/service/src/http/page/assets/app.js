"use strict";

// The token is nowhere but here: not in the address, not in a cookie, not in storage. It is empty where the way to the
// service adds one (`kubectl why-terminating ui`).
let token = "";
// Ends the stream of this session.
let session = null;
// The root that is shown, and its markup.
let chosen = "";
let shown = "";
// Whether the list that is shown is older than the last message.
let behind = false;

// Where Tab stops in what is shown of one root.
const STOPS = "[tabindex='0'], button, summary";
const STEPS = { ArrowDown: 1, ArrowUp: -1 };
const WIDE = matchMedia("(min-width: 56rem)");
const FILTER_DELAY_MS = 200;

const find = (id) => document.getElementById(id);
const say = (words) => { if (find("status").textContent !== words) find("status").textContent = words; };
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const ask = (path) => fetch(path, {
  headers: token ? { authorization: `Bearer ${token}` } : {},
  credentials: "omit",
  redirect: "error",
  signal: session?.signal,
});

// Markup that the service has made; names in it are escaped there, and the page's policy runs no script in it.
const put = (place, markup) => {
  const parsed = new DOMParser().parseFromString(markup, "text/html");
  place.replaceChildren(...parsed.body.childNodes);
};

const EXPIRED = "Token invalid or expired. Paste another.";
const failed = (code) => ({
  401: EXPIRED,
  404: "Resolved, or hidden by your permissions.",
  429: "Too many requests; trying again.",
  503: "The API server does not answer what you can see, or the first scan is not finished; trying again.",
}[code] ?? `The service answered with status ${code}.`);

// What stands after the #: the root that is shown, and the filter.
const place = () => new URLSearchParams(location.hash.slice(1));
const go = (change, isNewEntry) => {
  const next = place();
  for (const [key, value] of Object.entries(change)) value ? next.set(key, value) : next.delete(key);
  const address = next.size ? `#${next}` : location.pathname;
  isNewEntry ? history.pushState(null, "", address) : history.replaceState(null, "", address);
};

const links = () => [...document.querySelectorAll("[data-root]")];

const showList = async () => {
  const query = place().get("q");
  const answer = await ask(`/page/roots${query ? `?q=${encodeURIComponent(query)}` : ""}`);
  if (!answer.ok) return answer.status;
  const markup = await answer.text();
  if (query !== place().get("q")) return 200;
  const focused = document.activeElement?.dataset?.root;
  const unfolded = [...find("list").querySelectorAll("details[open]")].map((one) => one.className);
  put(find("list"), markup);
  for (const one of find("list").querySelectorAll("details")) one.open ||= unfolded.includes(one.className);
  if (focused) links().find((link) => link.dataset.root === focused)?.focus();
  showAges();
  return 200;
};

// "5 s ago" beside each time of a check and of a scan.
const showAges = (latest = {}) => {
  for (const time of document.querySelectorAll("[data-age]")) {
    time.dateTime = latest[time.dataset.age] || time.dateTime;
    const seconds = Math.max(0, Math.round((Date.now() - Date.parse(time.dateTime)) / 1000));
    time.title = time.dateTime;
    time.textContent = seconds < 120 ? `${seconds} s ago` : `${Math.round(seconds / 60)} min ago`;
  }
};

// The root of the address; beside the list, the first one where the address names none.
const selected = () => place().get("root") ?? (WIDE.matches ? links()[0]?.dataset.root ?? "" : "");

const showOne = async (moveFocus) => {
  const root = selected();
  document.body.classList.toggle("one", place().has("root"));
  for (const link of links()) {
    link.dataset.root === root ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
  }
  const isOther = root !== chosen;
  chosen = root;
  if (!root) {
    shown = "";
    return find("one").replaceChildren();
  }
  const answer = await ask(`/page/roots/${encodeURIComponent(root)}`);
  const markup = answer.ok ? await answer.text() : "";
  if (chosen !== root) return;
  if (!answer.ok) {
    const words = document.createElement("p");
    words.textContent = failed(answer.status);
    find("one").replaceChildren(words);
  } else if (markup !== shown) {
    // Readers stay where they are in what has not changed.
    const focused = isOther ? -1 : [...find("one").querySelectorAll(STOPS)].indexOf(document.activeElement);
    const unfolded = !isOther && find("one").querySelector("details")?.open;
    put(find("one"), markup);
    if (unfolded) find("one").querySelector("details")?.setAttribute("open", "");
    if (focused >= 0) find("one").querySelectorAll(STOPS)[focused]?.focus();
  }
  shown = markup;
  if (isOther) find("detail").scrollTop = 0;
  if (moveFocus) find("detail").focus({ preventScroll: true });
};

const back = () => {
  const root = chosen;
  go({ root: "" }, true);
  showOne(false).catch(() => {});
  (links().find((link) => link.dataset.root === root) ?? find("filter")).focus();
};

// A stream that is read with fetch, since an EventSource cannot send a token.
const follow = async ({ signal }) => {
  for (let pause = 1000; !signal.aborted; pause = Math.min(pause * 2, 30000)) {
    try {
      const answer = await ask("/api/v1/stream");
      if (answer.status === 401) return signOut(EXPIRED);
      if (answer.ok) {
        pause = 1000;
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        let rest = "";
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          const events = (rest + value).split("\n\n");
          rest = events.pop();
          for (const event of events) await heard(event);
        }
      } else say(failed(answer.status));
    } catch {
      if (!signal.aborted) say("The service cannot be reached; trying again.");
    }
    await wait(pause);
  }
};

const heard = async (event) => {
  if (event.startsWith("event: unknown")) return say(failed(503));
  if (event.startsWith(": checked ")) {
    const [checked, scanned] = event.slice(": checked ".length).split(" ");
    showAges({ checked, scanned });
  }
  // An unchanged list is not sent again: one that failed is requested at the next message.
  behind ||= event.startsWith("event: roots");
  if (!behind) return;
  const code = await showList();
  if (code !== 200) return say(failed(code));
  behind = false;
  await showOne(false);
  say("Live");
};

const choose = (block) => {
  for (const other of document.querySelectorAll(".block")) other.classList.toggle("chosen", other === block);
  for (const one of document.querySelectorAll("[data-state]")) one.hidden = one.dataset.state !== block.dataset.block;
};

const showForm = (words) => {
  find("sign-in").hidden = false;
  find("view").hidden = find("session").hidden = true;
  document.body.classList.remove("one");
  say(words);
  find("token").focus();
};

const signOut = (words) => {
  session?.abort();
  session = null;
  token = chosen = shown = "";
  find("list").replaceChildren();
  find("one").replaceChildren();
  showForm(words);
};

// `system:serviceaccount:shop:viewer` as people write it.
const named = (user) => user.replace(/^system:serviceaccount:([^:]+):([^:]+)$/, "ServiceAccount $1/$2");

const begin = async (who) => {
  session = new AbortController();
  find("user").textContent = named(who.user);
  find("cluster").textContent = who.cluster;
  find("named").hidden = !who.cluster;
  document.title = who.cluster ? `${who.cluster}: stuck in Terminating` : "Stuck in Terminating";
  find("sign-in").hidden = true;
  find("view").hidden = find("session").hidden = false;
  const code = await showList().catch(() => 0);
  say(code === 200 ? "Live" : failed(code));
  find("filter").focus();
  await showOne(false);
  follow(session);
};

const signIn = async (event) => {
  event.preventDefault();
  token = find("token").value.trim();
  find("token").value = "";
  if (!/^[\x21-\x7e]+$/.test(token)) return showForm(EXPIRED);
  say("Checking the token.");
  const answer = await ask("/page/session").catch(() => null);
  if (answer?.ok) return begin(await answer.json());
  token = "";
  showForm(answer ? failed(answer.status) : "The service cannot be reached.");
};

// The words of a button change for a moment.
const copy = async (button, text) => {
  const words = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed";
  }
  setTimeout(() => { button.textContent = words; }, 2000);
};

const showFiltered = async () => {
  await showList();
  // What the filter leaves out is not shown beside what it finds.
  if (!links().some((link) => link.dataset.root === place().get("root"))) go({ root: "" });
  await showOne(false);
};

let typing = 0;
const filter = () => {
  go({ q: find("filter").value.trim() });
  clearTimeout(typing);
  typing = setTimeout(() => showFiltered().catch(() => {}), FILTER_DELAY_MS);
};

find("sign-in").addEventListener("submit", signIn);
find("sign-out").addEventListener("click", () => signOut("Signed out."));
find("back").addEventListener("click", back);
find("filter").value = place().get("q") ?? "";
find("filter").addEventListener("input", filter);
find("list").addEventListener("click", (event) => {
  const link = event.target.closest("[data-root]");
  if (!link) return;
  event.preventDefault();
  go({ root: link.dataset.root }, true);
  showOne(true).catch(() => {});
});
addEventListener("popstate", async () => {
  if (!session) return;
  find("filter").value = place().get("q") ?? "";
  await showList().catch(() => {});
  await showOne(false).catch(() => {});
});
// From one root to the next, from the filter to the first.
const step = (event) => {
  const all = links();
  const at = all.indexOf(document.activeElement);
  if (at < 0 && document.activeElement !== find("filter")) return;
  const next = all[at + STEPS[event.key]] ?? (at === 0 ? find("filter") : null);
  if (!next) return;
  event.preventDefault();
  next.focus();
};
addEventListener("keydown", (event) => {
  if (!session || event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = document.activeElement?.tagName === "INPUT";
  if (STEPS[event.key]) return step(event);
  if (event.key === "Escape" && document.body.classList.contains("one") && !WIDE.matches) back();
  if (event.key !== "/" || isTyping) return;
  event.preventDefault();
  if (!WIDE.matches && document.body.classList.contains("one")) back();
  find("filter").focus();
});
WIDE.addEventListener("change", () => { if (session) showOne(false).catch(() => {}); });
for (const kind of ["mouseover", "focusin"]) {
  find("one").addEventListener(kind, (event) => {
    const block = event.target.closest(".block");
    if (block) choose(block);
  });
}
find("one").addEventListener("click", (event) => {
  const button = event.target.closest(".copy, .link");
  if (!button) return;
  const isLink = button.classList.contains("link");
  const address = `${location.origin}${location.pathname}#root=${chosen}`;
  copy(button, isLink ? address : button.previousElementSibling.textContent);
});
setInterval(() => showAges(), 5000);

const start = async () => {
  const answer = await ask("/page/session").catch(() => null);
  if (answer?.status === 200) return begin(await answer.json());
  showForm("Not signed in");
};
start();
