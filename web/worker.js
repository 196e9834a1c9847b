// Starts the simulator's worker. It is ready when it says so: what is posted to it before that is lost. What keeps it from starting reaches the page as the worker's `error` event.

import("./zonefall-engine.js")
  .then((program) => program.default())
  .catch((error) => setTimeout(() => { throw error; }));
