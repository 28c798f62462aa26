/** The page for an unknown URL. */

import { Link, useRouterState } from "@tanstack/react-router";
import { useSession } from "../api/session";
import { Page } from "../parts/Page";
import { PLACES } from "../shell/nav";

export default function PageNotFound() {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const session = useSession();
  const places = PLACES.flatMap((group) => group.places).filter(({ needs }) => session.can(needs));
  return (
    <Page title="Page not found">
      <p>
        There is no page at <code>{path}</code>. The link may be mistyped or out of date.
      </p>
      <ul className="places" aria-label="All pages">
        {places.map(({ to, label }) => (
          <li key={to}>
            <Link to={to}>{label}</Link>
          </li>
        ))}
      </ul>
    </Page>
  );
}
