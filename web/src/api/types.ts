// The shapes of the API, made from its description for the client in sdk/typescript; types only, so nothing of it is in the page.
export type * from "../../../sdk/typescript/src/generated.ts";
