/** How failures are shown on every page: the error in one line, and the time of the counts. */

import { Time } from "../parts/Time";

export const firstLine = (error: string | null) => error?.split("\n")[0] || "no error message";

/** The time of the counts: everything that was committed by then is counted. */
export function AsOf({ at }: { at: string | null }) {
  return (
    <small className="quiet" data-as-of={at ?? ""}>
      {at ? (
        <>
          as of <Time at={at} />
        </>
      ) : (
        "not counted yet: no leader is running"
      )}
    </small>
  );
}
