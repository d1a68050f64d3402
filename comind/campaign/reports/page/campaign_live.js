"use strict";
(() => {
  const POLL_MILLISECONDS = 3000;
  let version = "";

  // Name a <details> by its own id, or by its place within the closest element that has one.
  const nameOf = (details) => {
    if (details.id) return details.id;
    const around = details.parentElement.closest("[id]") || document.body;
    return around.id + "/" + [...around.querySelectorAll("details:not([id])")].indexOf(details);
  };

  // Replace the content; what is open stays open, and the page stays where it is.
  const replace = (fresh) => {
    const open = new Set([...document.querySelectorAll("details[open]")].map(nameOf));
    const focused = document.activeElement.closest("details");
    const kept = focused && nameOf(focused);
    const top = window.scrollY;
    for (const part of ["header", "main"]) {
      document.querySelector(part).replaceWith(document.adoptNode(fresh.querySelector(part)));
    }
    for (const each of document.querySelectorAll("details")) {
      const name = nameOf(each);
      if (open.has(name)) each.open = true;
      if (name === kept) each.querySelector("summary").focus({ preventScroll: true });
    }
    window.scrollTo(0, top);
  };

  const poll = () => {
    const request = new XMLHttpRequest();
    request.responseType = "document";
    request.open("GET", location.pathname);
    if (version) request.setRequestHeader("If-None-Match", version);
    request.onloadend = () => {
      if (request.status === 200 && request.response) {
        version = request.getResponseHeader("ETag") || "";
        replace(request.response);
      }
      setTimeout(poll, POLL_MILLISECONDS);
    };
    if (document.hidden) setTimeout(poll, POLL_MILLISECONDS);
    else request.send();
  };

  setTimeout(poll, POLL_MILLISECONDS);
})();
