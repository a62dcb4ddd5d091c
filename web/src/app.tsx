import { useEffect } from "preact/hooks";

import { titleOf } from "./shell/areas.ts";
import { mark } from "./shell/connection.ts";
import { ErrorBoundary } from "./shell/error-boundary.tsx";
import { Shell } from "./shell/shell.tsx";
import { parts, path } from "./state/router.ts";
import { Page } from "./pages/page.tsx";
import { Toasts } from "./ui/toast.tsx";

export function App() {
  const [area = "sessions", one] = parts.value;
  const title = one ? `${one} · ${titleOf(area)}` : titleOf(area);
  useEffect(() => {
    document.title = `${mark.value}${title} · Kennel`;
  }, [title, mark.value]);
  return (
    <>
      <Shell area={area} title={title}>
        <ErrorBoundary at={path.value}>
          <Page />
        </ErrorBoundary>
      </Shell>
      <Toasts />
    </>
  );
}
