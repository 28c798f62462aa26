import { define } from "plait-client";
import { z } from "zod";

export const resize = define({
  key: "resize",
  payload: z.object({ path: z.string(), width: z.number().default(200) }),
  result: z.object({ bytes: z.number() }),
});
