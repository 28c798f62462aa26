/** Error boundaries. After an error in a page, the navigation stays usable. After an error in the navigation, the user can retry. */

import { useQueryClient } from "@tanstack/react-query";
import { Link, useRouter, type ErrorComponentProps } from "@tanstack/react-router";
import { Component, useEffect, type ReactNode } from "react";
import { isOutdated, reloadOnce } from "../api/build";
import { Button } from "../parts/Button";
import { Icon } from "../parts/Icon";

/** Shown by the router in place of a page or layout that failed to render. */
export function PageError({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const client = useQueryClient();
  // Data from a newer server may be the cause.
  useEffect(() => void (isOutdated() && reloadOnce()), []);
  const retry = () => {
    client.removeQueries({ type: "inactive" }); // the page's data may be the cause
    reset();
    void router.invalidate();
  };
  return (
    <Broken error={error} retry={retry}>
      <Link to="/">Go to the overview</Link>
    </Broken>
  );
}

function Broken({ error, retry, children }: { error: unknown; retry: () => void; children?: ReactNode }) {
  return (
    <div className="state" role="alert">
      <Icon name="alert" size={22} />
      <h2>This page can't be displayed</h2>
      <p className="quiet">An error occurred in the web UI. Retry, or reload the page. If the error persists, report this message:</p>
      <code>{error instanceof Error ? error.message : String(error)}</code>
      <div className="actions">
        <Button icon="retry" onClick={retry}>
          Retry
        </Button>
        <Button onClick={() => location.reload()}>Reload page</Button>
      </div>
      {children}
    </div>
  );
}

/** The outermost boundary, for errors outside the router's boundaries. */
export class Boundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <main>
        <Broken error={this.state.error} retry={() => this.setState({ error: null })} />
      </main>
    );
  }
}
