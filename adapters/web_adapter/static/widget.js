// Put <script src="https://YOUR-CAFI/widget.js" data-label="Ask a question" data-close="Close" data-lang="en" defer></script>
// into a page: a button that opens the chat in a frame. Nothing is loaded from here before somebody presses it.
(() => {
  "use strict";
  const me = document.currentScript, origin = new URL(me.src).origin, said = me.dataset;
  const label = said.label || "Ask a question", close = said.close || "Close the chat";
  const put = (element, style) => Object.assign(element.style, style);
  const button = document.createElement("button"), box = document.createElement("div");
  let frame = null;
  button.type = "button";
  button.textContent = label;
  button.setAttribute("aria-expanded", "false");
  put(button, {
    position: "fixed", right: "1rem", bottom: "1rem", zIndex: "2147483000", minHeight: "48px", padding: "0 1.4rem",
    border: "0", borderRadius: "24px", background: "#1d524b", color: "#fff", font: "600 17px/1.3 system-ui, sans-serif",
    cursor: "pointer", boxShadow: "0 4px 18px rgba(0,0,0,.25)",
  });
  put(box, {
    position: "fixed", right: "1rem", bottom: "5rem", zIndex: "2147483000", display: "none", overflow: "hidden",
    width: "min(26rem, calc(100vw - 2rem))", height: "min(42rem, calc(100vh - 6.5rem))", borderRadius: "14px",
    boxShadow: "0 10px 40px rgba(0,0,0,.3)", background: "#fbf8f2",
  });
  function toggle(open) {
    if (open && !frame) {
      frame = document.createElement("iframe");
      frame.src = origin + "/widget" + (said.lang ? "?lang=" + encodeURIComponent(said.lang) : "");
      frame.title = label;
      frame.referrerPolicy = "no-referrer";
      put(frame, { width: "100%", height: "100%", border: "0" });
      box.append(frame);
    }
    box.style.display = open ? "block" : "none";
    button.textContent = open ? close : label;
    button.setAttribute("aria-expanded", String(open));
    if (open) frame.focus(); else button.focus();
  }
  button.addEventListener("click", () => toggle(box.style.display === "none"));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && box.style.display !== "none") toggle(false); });
  const start = () => document.body.append(box, button);
  if (document.body) start(); else document.addEventListener("DOMContentLoaded", start);
})();
