"use strict";
(function () {
  const mark = document.querySelector("meta[name=csrf]").content;
  const said = document.getElementById("said");

  function say(text) { said.textContent = text; }

  // -- live parts: fetched again when the study has changed -----------------------------------

  function isInUse(part) {
    if (part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select, summary")) {
      return true;
    }
    return Array.from(part.querySelectorAll("input, textarea")).some(function (field) {
      return field.type !== "hidden" && field.value !== field.defaultValue;
    }) || part.querySelector("details[open] form") !== null;
  }

  function plain(part) {  // marks of forms differ from page to page
    return part.innerHTML.replace(/name="(csrf|request_id)" value="[^"]*"/g, "");
  }

  function exchange(page) {
    document.querySelectorAll("[data-live]").forEach(function (part) {
      const fresh = page.getElementById(part.id);
      if (fresh === null || plain(fresh) === plain(part) || isInUse(part)) { return; }
      const focused = part.contains(document.activeElement) ? document.activeElement.textContent : null;
      part.innerHTML = fresh.innerHTML;
      if (focused !== null) {
        const again = Array.from(part.querySelectorAll("a, button")).find(function (element) {
          return element.textContent === focused;
        });
        if (again) { again.focus(); } else { part.tabIndex = -1; part.focus(); }
      }
    });
  }

  let fetching = false, wanted = false;
  function refresh() {
    if (fetching) { wanted = true; return; }
    fetching = true; wanted = false;
    fetch(location.pathname + location.search, {headers: {accept: "text/html"}}).then(function (answer) {
      return answer.ok ? answer.text() : Promise.reject(answer.status);
    }).then(function (text) {
      exchange(new DOMParser().parseFromString(text, "text/html"));
    }).catch(function () { /* the server is away; the events come back when it does */ }).finally(function () {
      fetching = false;
      if (wanted) { setTimeout(refresh, 300); }
    });
  }

  const study = document.getElementById("study");
  let events = null;
  function listen() {
    if (study === null || events !== null || document.hidden) { return; }
    events = new EventSource(study.dataset.events);
    ["hello", "change", "job"].forEach(function (kind) { events.addEventListener(kind, refresh); });
  }
  document.addEventListener("visibilitychange", function () {
    if (document.hidden && events !== null) { events.close(); events = null; }  // browsers allow few
    listen();
  });
  listen();

  // -- forms that stay on the page ------------------------------------------------------------

  document.addEventListener("submit", function (event) {
    const form = event.target;
    if (!form.matches("[data-send]")) { return; }
    event.preventDefault();
    const button = event.submitter;
    if (button) { button.disabled = true; }
    fetch(form.action, {
      method: "POST",
      body: new URLSearchParams(new FormData(form)),
      headers: {"x-csrf-token": mark, accept: "application/json"},
    }).then(function (answer) {
      if (answer.ok) { say(""); return null; }
      return answer.json().then(function (data) { say(data.error); });
    }).catch(function () { say("The server does not answer."); }).finally(function () {
      if (button) { button.disabled = false; }
      const request = form.querySelector("[name=request_id]");
      if (request !== null) { request.value = crypto.getRandomValues(new Uint32Array(3)).join("-"); }
      refresh();
    });
  });

  // -- figures: they take seconds of computing, so somebody must want them --------------------

  document.querySelectorAll("[data-load]").forEach(function (place) {
    let begun = false;
    function load() {
      if (begun) { return; }
      begun = true;
      place.setAttribute("aria-busy", "true");
      say("The figures are being made.");
      fetch(place.dataset.load, {headers: {"x-part": "1"}}).then(function (answer) {
        return answer.ok ? answer.text() : Promise.reject(answer.status);
      }).then(function (text) {
        place.innerHTML = text;
        say("");
        begun = false;
      }).catch(function () { begun = false; say("The figures could not be made; try again."); }).finally(function () { place.removeAttribute("aria-busy"); });
    }
    place.addEventListener("click", function (event) {
      if (event.target.closest("a") !== null) { event.preventDefault(); load(); }
    });
  });

  // -- a form that says what it means ---------------------------------------------------------

  const making = document.getElementById("newform");
  if (making !== null) {
    const kind = making.querySelector("[name=kind]"), check = document.getElementById("check");
    const choose = function () {
      making.querySelectorAll("[data-kind]").forEach(function (part) { part.hidden = part.dataset.kind !== kind.value; });
    };
    let timer = null, turn = 0;
    const look = function () {
      const mine = ++turn;
      check.setAttribute("aria-busy", "true");
      fetch(making.dataset.check, {
        method: "POST",
        body: new URLSearchParams(new FormData(making)),
        headers: {"x-csrf-token": mark, "x-part": "1"},
      }).then(function (answer) { return answer.ok ? answer.text() : null; }).then(function (text) {
        if (mine === turn && text !== null) { check.innerHTML = text; }
      }).catch(function () { /* it is only a preview */ }).finally(function () {
        if (mine === turn) { check.removeAttribute("aria-busy"); }
      });
    };
    const later = function () { clearTimeout(timer); timer = setTimeout(look, 600); };
    making.addEventListener("input", later);
    making.addEventListener("change", function () { choose(); later(); });
    choose();
    look();
  }
}());
