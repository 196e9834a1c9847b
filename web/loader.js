// Starts the page: the content security policy allows no script inside it.

// Says in the page what the console alone would know.
function explain(error) {
  const message = document.createElement("p");
  message.setAttribute("role", "alert");
  message.setAttribute("data-testid", "not-started");
  message.textContent =
    `Zonefall could not start (${error}). It needs a current browser that runs WebAssembly; loading the page again may help.`;
  document.body.prepend(message);
  console.error(error);
}

// Has the page kept for visits without its host, once page and simulator have started: until then nothing else is worth fetching.
async function keep() {
  try {
    await navigator.serviceWorker.register(new URL("sw.js", import.meta.url));
  } catch {
    // The browser does not allow it (no secure context, blocked site data). The page works with its host.
  }
}

document.addEventListener("zonefall-ready", keep, { once: true });
import("./zonefall-web.js")
  .then((program) => program.default())
  .catch(explain);
