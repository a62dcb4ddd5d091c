import { Component, type ComponentChildren } from "preact";

import { Button } from "../ui/button.tsx";
import { Copy } from "../ui/copy.tsx";
import { Icon } from "../ui/icons.tsx";

interface State {
  error: unknown;
}

interface Props {
  /** The current path. When it changes, the error is cleared. */
  at: string;
  children: ComponentChildren;
}

/** Confines a rendering error to one page: the navigation keeps working, and the error is shown. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: null };

  static override getDerivedStateFromError(error: unknown): State {
    return { error };
  }

  override componentDidUpdate(before: Props): void {
    if (before.at !== this.props.at && this.state.error !== null) this.setState({ error: null });
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    const { error } = this.state;
    const summary = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const whole = error instanceof Error && error.stack ? error.stack : summary;
    return (
      <div class="state" role="alert" data-state="broken">
        <Icon name="alert" />
        <h1>Something went wrong on this page</h1>
        <p>Your sessions are not affected. Reload the page; if this happens again, please report it with these details:</p>
        <p class="command">
          <code class="foreign">{summary.slice(0, 300)}</code>
          <Copy text={whole} label="Copy error details" />
        </p>
        <Button icon="refresh" kind="primary" onClick={() => location.reload()}>
          Reload
        </Button>
      </div>
    );
  }
}
