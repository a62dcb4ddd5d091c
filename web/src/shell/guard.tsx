import { Component, type ComponentChildren } from "preact";

import { Button } from "../ui/button.tsx";
import { Copy } from "../ui/copy.tsx";
import { Icon } from "../ui/icons.tsx";

interface State {
  error: unknown;
}

interface Props {
  /** Where the page is: elsewhere it is tried anew. */
  at: string;
  children: ComponentChildren;
}

/** Keeps a fault of one page to that page: the rest goes on, and what happened is told. */
export class Guard extends Component<Props, State> {
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
    const told = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const whole = error instanceof Error && error.stack ? error.stack : told;
    return (
      <div class="state" role="alert" data-state="broken">
        <Icon name="alert" />
        <h1>This page has a fault</h1>
        <p>It is the page's, not your sessions': these go on. Reload it; if it happens again, please report it with this:</p>
        <p class="command">
          <code class="foreign">{told.slice(0, 300)}</code>
          <Copy text={whole} label="Copy what happened" />
        </p>
        <Button icon="refresh" kind="primary" onClick={() => location.reload()}>
          Reload
        </Button>
      </div>
    );
  }
}
