import { useRouter } from "@tanstack/react-router";
import type { MouseEvent, ReactNode } from "react";

/**
 * A link in a row of a long list. The router's `Link` resolves its target on every render, which is too slow for a hundred links per frame
 * while scrolling. This component takes a literal path and adds the tenant.
 */
export function RowLink({ to, title, children }: { to: string; title?: string; children: ReactNode }) {
  const router = useRouter();
  const { tenant } = router.state.location.search as { tenant?: string };
  const href = tenant ? `${to}?tenant=${encodeURIComponent(tenant)}` : to;
  const go = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    router.history.push(href);
  };
  return (
    <a href={href} title={title} onClick={go}>
      {children}
    </a>
  );
}
