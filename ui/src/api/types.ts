/** The types of the HTTP API. The TypeScript client has them, generated from the OpenAPI document. */
export type * from "../../../clients/typescript/src/types";
