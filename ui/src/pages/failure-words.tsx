/** Display of failures, shared by all pages: the error in one line, and the time of the counts. */

import { Time } from "../parts/Time";

export const firstLine = (error: string | null) => error?.split("\n")[0] || "no error message";

/** The time of the counts. All failures committed before it are counted. */
export function AsOf({ at }: { at: string | null }) {
  return (
    <small className="quiet" data-as-of={at ?? ""}>
      {at ? (
        <>
          as of <Time at={at} />
        </>
      ) : (
        "not counted yet, because no leader is running"
      )}
    </small>
  );
}
