"use strict";

// The token is nowhere but here: not in the address, not in a cookie, not in storage.
let token = "";
let chosen = "";
let shown = "";
let behind = false;

// Where Tab stops in what is shown of one root.
const STOPS = "[tabindex='0'], button";

const find = (id) => document.getElementById(id);
const say = (words) => { if (find("status").textContent !== words) find("status").textContent = words; };
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const ask = (path) => fetch(path, {
  headers: { authorization: `Bearer ${token}` },
  credentials: "omit",
  redirect: "error",
});

// Markup that the service has made; names in it are escaped there, and the page's policy runs no script in it.
const put = (place, markup) => {
  const parsed = new DOMParser().parseFromString(markup, "text/html");
  place.replaceChildren(...parsed.body.childNodes);
};

const failed = (code) => ({
  401: "Token invalid or expired. Reload the page and paste another.",
  404: "Resolved, or hidden by your permissions.",
  429: "Too many requests; trying again.",
  503: "The API server does not answer what you can see, or the first scan is not finished; trying again.",
}[code] ?? `The service said ${code}.`);

// What stands after the #: the root that is shown, and the filter.
const place = () => new URLSearchParams(location.hash.slice(1));
const go = (change) => {
  const next = place();
  for (const [key, value] of Object.entries(change)) value ? next.set(key, value) : next.delete(key);
  history.replaceState(null, "", `#${next}`);
};

const filter = () => {
  const words = find("filter").value.toLowerCase();
  for (const item of document.querySelectorAll(".roots li")) {
    const link = item.querySelector("a");
    item.hidden = !`${link.textContent} ${link.dataset.words}`.toLowerCase().includes(words);
  }
};

const showList = async () => {
  const answer = await ask("/page/roots");
  if (!answer.ok) return say(failed(answer.status)), answer.status;
  const markup = await answer.text();
  const focused = document.activeElement?.dataset?.root;
  put(find("list"), markup);
  if (focused) document.querySelector(`[data-root="${CSS.escape(focused)}"]`)?.focus();
  filter();
  mark();
  return 200;
};

const mark = () => {
  for (const link of document.querySelectorAll("[data-root]")) {
    link.dataset.root === chosen ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
  }
};

const showOne = async (moveFocus) => {
  chosen = place().get("root") ?? "";
  mark();
  if (!chosen) return find("one").replaceChildren();
  const answer = await ask(`/page/roots/${encodeURIComponent(chosen)}`);
  const markup = answer.ok ? await answer.text() : "";
  if (!answer.ok) {
    shown = "";
    const words = document.createElement("p");
    words.textContent = failed(answer.status);
    return find("one").replaceChildren(words);
  }
  // Who reads there is not disturbed by what is the same, and stays where they are in what is not.
  if (markup !== shown) {
    const focused = [...find("one").querySelectorAll(STOPS)].indexOf(document.activeElement);
    put(find("one"), markup);
    if (focused >= 0) find("one").querySelectorAll(STOPS)[focused]?.focus();
  }
  shown = markup;
  if (moveFocus) find("one").focus();
};

// A stream that is read with fetch, since an EventSource cannot send a token.
const follow = async () => {
  for (let pause = 1000; ; pause = Math.min(pause * 2, 30000)) {
    try {
      const answer = await ask("/api/v1/stream");
      if (answer.status === 401) return say(failed(401));
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
      say("The service cannot be reached; trying again.");
    }
    await wait(pause);
  }
};

const heard = async (event) => {
  if (event.startsWith("event: unknown")) return say(failed(503));
  // An unchanged list is not sent again: one that failed is requested at the next message.
  behind ||= event.startsWith("event: roots");
  if (!behind || await showList() !== 200) return;
  behind = false;
  await showOne(false);
  say(`Live. ${document.querySelectorAll(".roots li").length} root causes.`);
};

const choose = (block) => {
  for (const other of document.querySelectorAll(".block")) other.classList.toggle("chosen", other === block);
  for (const one of document.querySelectorAll("[data-evidence]")) one.hidden = one.dataset.evidence !== block.dataset.block;
};

const signIn = async (event) => {
  event.preventDefault();
  token = find("token").value.trim();
  find("token").value = "";
  if (!/^[\x21-\x7e]+$/.test(token)) return say("That is no token.");
  say("Asking.");
  const code = await showList().catch(() => 0);
  if (code === 0) say("The service cannot be reached.");
  if (code !== 200 && code !== 503) return;
  find("sign-in").hidden = true;
  find("main").hidden = false;
  find("filter").focus();
  await showOne(false);
  follow();
};

find("sign-in").addEventListener("submit", signIn);
find("filter").value = place().get("q") ?? "";
find("filter").addEventListener("input", () => { go({ q: find("filter").value }); filter(); });
find("list").addEventListener("click", (event) => {
  const link = event.target.closest("[data-root]");
  if (!link) return;
  event.preventDefault();
  go({ root: link.dataset.root });
  showOne(true);
});
addEventListener("hashchange", () => { find("filter").value = place().get("q") ?? ""; filter(); showOne(false); });
for (const kind of ["mouseover", "focusin"]) {
  find("one").addEventListener(kind, (event) => {
    const block = event.target.closest(".block");
    if (block) choose(block);
  });
}
find("one").addEventListener("click", async (event) => {
  const button = event.target.closest(".copy");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
});
find("token").focus();
