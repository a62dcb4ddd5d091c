// The API types that are generated for the TypeScript client. Type imports add no code to the page.
export type * from "../../../sdk/typescript/src/generated.ts";
