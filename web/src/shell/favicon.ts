/** Sets the favicon: grey while the daemon is not connected. */
import { effect } from "@preact/signals";

import { connection } from "../state/live.ts";

/** A data URL, because the daemon can’t serve it while it is down. */
const GREY =
  "data:image/svg+xml," +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M16 3 3 13v16h26V13Z" fill="#8a8f98"/>' +
      '<path d="M11 29v-8a5 5 0 0 1 10 0v8Z" fill="#fff"/><circle cx="25" cy="7" r="6" fill="#d33a2f"/></svg>',
  );

effect(() => {
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (!icon) return;
  const isConnected = connection.value === "live" || connection.value === "connecting";
  const wanted = isConnected ? "/favicon.svg" : GREY;
  if (icon.getAttribute("href") !== wanted) icon.setAttribute("href", wanted);
});
