/**
 * A component whose file is loaded on first use. Loading can fail for one of two reasons. If the server can't be reached, loading is retried when
 * the server responds again. If a deployment has replaced the file, the page is reloaded.
 */

import { useEffect, useState, type ComponentType } from "react";
import { isOutdated, reloadOnce } from "../api/build";
import { doubt, onReturn } from "../api/connection";
import { Button } from "../parts/Button";
import { Icon } from "../parts/Icon";
import { Loading } from "../parts/States";

const LONGEST_MS = 30_000;

export function lazyPage<P extends object>(load: () => Promise<{ default: ComponentType<P> }>) {
  let Loaded: ComponentType<P> | undefined;
  let loading: Promise<void> | undefined;
  const start = (): Promise<void> => {
    loading ??= load()
      .then((module) => {
        Loaded = module.default;
      })
      .finally(() => {
        loading = undefined;
      });
    return loading;
  };

  function LazyPage(props: P) {
    const [state, setState] = useState<State>({ failures: 0, answers: true, ready: false });
    const [asked, setAsked] = useState(0);
    useEffect(() => {
      if (Loaded) return;
      let gone = false;
      const failed = async () => {
        const answers = await doubt();
        if (gone) return;
        if (answers && (isOutdated() || state.failures >= 1) && reloadOnce()) return;
        setState((old) => ({ ...old, answers, failures: old.failures + 1 }));
      };
      start().then(
        () => !gone && setState((old) => ({ ...old, ready: true })),
        () => void failed(),
      );
      return () => {
        gone = true;
      };
    }, [asked]); // eslint-disable-line
    useEffect(() => {
      if (!state.failures || Loaded) return;
      const again = () => setAsked((count) => count + 1);
      const stop = onReturn(again);
      const timer = setTimeout(again, Math.min(1000 * 2 ** state.failures, LONGEST_MS));
      return () => {
        stop();
        clearTimeout(timer);
      };
    }, [state.failures]);

    if (Loaded) return <Loaded {...props} />;
    return state.failures ? <NotLoaded answers={state.answers} again={() => setAsked((count) => count + 1)} /> : <Loading />;
  }

  /** Called by the router before the page is shown. A failure is handled when the page is rendered. */
  LazyPage.preload = () => (Loaded ? Promise.resolve() : start().catch(() => undefined));
  return LazyPage;
}

interface State {
  failures: number;
  /** Whether the server responded after the last failure. */
  answers: boolean;
  ready: boolean;
}

function NotLoaded({ answers, again }: { answers: boolean; again: () => void }) {
  return (
    <div className="state" role="alert">
      <Icon name="alert" size={22} />
      <h2>{answers ? "Page could not be loaded" : "Server unreachable"}</h2>
      <p className="quiet">
        {answers ? "A file of this page is missing on the server. Reload the page, or wait for the automatic retry." : "This page will open as soon as the server responds."}
      </p>
      <div className="actions">
        <Button icon="retry" onClick={again}>
          Retry
        </Button>
        {answers && <Button onClick={() => location.reload()}>Reload page</Button>}
      </div>
    </div>
  );
}
