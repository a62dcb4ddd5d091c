/** Converts a snake_case name to camelCase. */
type CamelName<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelName<Tail>>}` : Name;

/** The same fields with camelCase names. */
export type Camel<Fields> = { [Name in keyof Fields as CamelName<Name>]: Fields[Name] };

/** Converts the top-level names to snake_case. Nested names are already those of the API. */
export function snake(fields: object): Record<string, unknown> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), value]));
}
