"use strict";
// Asks every other second whether the study has changed, and shows what has. What was typed or
// unfolded stays as it is.
const PAUSE = 2000;
const live = document.getElementById("live");
const line = document.getElementById("line");
let seen = live.dataset.changes;
let answered = new Date();

function say(words) {
  if (line.textContent !== words) line.textContent = words;
  line.hidden = words === "";
}

function show(text) {
  // Scripts in a parsed document do not run, and the page's policy allows none but this file.
  const fresh = new DOMParser().parseFromString(text, "text/html");
  for (const part of fresh.querySelectorAll("[data-part]")) {
    const old = document.getElementById(part.id);
    for (const { id } of old.querySelectorAll("details[open]")) {
      fresh.getElementById(id)?.setAttribute("open", ""); // what was unfolded stays so
    }
    if (old.outerHTML === part.outerHTML) continue;
    for (const input of old.querySelectorAll("input")) {
      const twin = fresh.getElementById(input.id);
      if (twin && input.value !== input.defaultValue) twin.value = input.value;
    }
    const typing = old.contains(document.activeElement) ? document.activeElement.id : "";
    old.replaceWith(part);
    if (typing) document.getElementById(typing)?.focus();
  }
  document.title = document.getElementById("state").dataset.title;
}

async function look() {
  let again = true;
  if (!document.hidden) {
    try {
      const reply = await fetch(`live?seen=${encodeURIComponent(seen)}`);
      if (reply.status === 403) {
        again = false;
        say("This address is no longer valid: open the one that `shortlist serve` printed last.");
      } else if (!reply.ok) {
        throw new Error(reply.statusText);
      } else {
        if (reply.status === 200) {
          show(await reply.text());
          seen = reply.headers.get("Study-Changes");
        }
        answered = new Date();
        say("");
      }
    } catch {
      const time = answered.toISOString().slice(11, 19);
      say(`The server has not answered since ${time} UTC. What you see may be old; trying again.`);
    }
  }
  if (again) setTimeout(look, PAUSE);
}

document.title = document.getElementById("state").dataset.title;
setTimeout(look, PAUSE);
