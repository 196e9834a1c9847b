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

import("./zonefall-web.js").then((program) => program.default()).catch(explain);
