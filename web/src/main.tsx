import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";

import { render } from "preact";

import { App } from "./app.tsx";
import { listen } from "./state/live.ts";
import { keepIdentityLoaded } from "./state/me.ts";
import { catchLinks } from "./state/router.ts";
import "./state/theme.ts";

listen();
keepIdentityLoaded();
document.addEventListener("click", catchLinks);
const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(<App />, root);
}
