/** The types of the HTTP API, imported from the TypeScript client. They are generated from the OpenAPI document. */
export type * from "../../../clients/typescript/src/types";
