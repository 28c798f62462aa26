/** The state of the workflow page that is in its address. Other pages link to it. */

import { list, oneOf, searchOf, text } from "../api/search";
import { order } from "./workflow-order";

export const workflowParams = searchOf({
  view: oneOf("tree", "timeline", "graph"),
  /** The selection: the id of a job or the name of a fan-out. */
  at: text,
  /** Rows whose state differs from the default: expanded or collapsed. */
  turned: list,
  zoom: text,
  /** The order of the sub-jobs of each fan-out. */
  sort: order,
});
