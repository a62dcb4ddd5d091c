/** A name as JavaScript has it. */
type CamelName<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelName<Tail>>}` : Name;

/** The same fields, with names as JavaScript has them. */
export type Camel<Fields> = { [Name in keyof Fields as CamelName<Name>]: Fields[Name] };

/** Fields with names as the API has them. Only the names on the top are others: what is below is the API's own. */
export function snake(fields: object): Record<string, unknown> {
  const said = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(said.map(([name, value]) => [name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), value]));
}
