// Generates src/generated.ts from the OpenAPI description. With --check it only reports whether the file is up to date.

import { readFile, writeFile } from "node:fs/promises";

const DESCRIPTION = new URL("../../../crates/kennel-http/openapi.json", import.meta.url);
const GENERATED = new URL("../src/generated.ts", import.meta.url);
const METHODS = ["get", "put", "post", "delete", "patch"];

/** Converts a schema to a TypeScript type. */
function type(schema, indent = "") {
  if (schema === true || schema === undefined) return "unknown";
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  const choice = schema.oneOf ?? schema.anyOf;
  if (choice) {
    const common = schema.properties ? [object(schema, indent)] : [];
    return [...common, union(choice.map((one) => type(one, indent)), common.length > 0)].join(" & ");
  }
  if (schema.allOf) return schema.allOf.map((one) => type(one, indent)).join(" & ");
  if (Array.isArray(schema.type)) {
    return union(schema.type.map((one) => type({ ...schema, type: one }, indent)));
  }
  switch (schema.type) {
    case "string":
      return "string";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "null":
      return "null";
    case "array":
      return array(schema, indent);
    case "object":
      return object(schema, indent);
    default:
      return schema.properties ? object(schema, indent) : "unknown";
  }
}

function union(types, inner = false) {
  const all = [...new Set(types)].join(" | ");
  return inner && types.length > 1 ? `(${all})` : all;
}

function array(schema, indent) {
  if (schema.prefixItems) {
    return `[${schema.prefixItems.map((item) => type(item, indent)).join(", ")}]`;
  }
  const item = type(schema.items, indent);
  return /^[\w"]+$/.test(item) ? `${item}[]` : `Array<${item}>`;
}

function object(schema, indent) {
  const inner = `${indent}  `;
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const needed = schema.required?.includes(name);
    const written = type(field, inner);
    const optional = needed ? `: ${written}` : `?: ${written} | undefined`;
    return `${comment(field.description, inner)}${inner}${key(name)}${optional};\n`;
  });
  // Patterns of names are ignored.
  const rest = schema.additionalProperties || Object.values(schema.patternProperties ?? {})[0];
  if (fields.length === 0) {
    const none = schema.additionalProperties === false && !rest;
    return none ? "Record<string, never>" : `Record<string, ${type(rest || undefined)}>`;
  }
  return `{\n${fields.join("")}${indent}}`;
}

function key(name) {
  return /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
}

function comment(text, indent) {
  if (!text) return "";
  const lines = text.trim().replaceAll("*/", "* /").split("\n");
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

/** Generates the route and the types of an operation. */
function operation(path, method, described) {
  const parameters = described.parameters ?? [];
  const of = (location) => {
    const some = parameters.filter((parameter) => parameter.in === location);
    const properties = Object.fromEntries(
      some.map(({ name, schema, description }) => [name, { ...schema, description }]),
    );
    const required = some.filter((parameter) => parameter.required).map(({ name }) => name);
    return some.length === 0
      ? "Record<string, never>"
      : object({ properties, required }, "    ");
  };
  const body = described.requestBody?.content?.["application/json"]?.schema;
  const success = Object.entries(described.responses).find(([status]) => status.startsWith("2"));
  const content = success?.[1].content ?? {};
  const answer = content["application/json"];
  const answered = answer ? type(answer.schema, "    ") : Object.keys(content).length ? "never" : "undefined";
  const id = described.operationId;
  return {
    id,
    route: `  ${id}: { method: "${method.toUpperCase()}", path: "${path}" },\n`,
    types:
      comment(described.summary, "  ") +
      `  ${id}: {\n` +
      `    path: ${of("path")};\n` +
      `    query: ${of("query")};\n` +
      `    body: ${body ? type(body, "    ") : "undefined"};\n` +
      `    answer: ${answered};\n` +
      "  };\n",
  };
}

function generate(description) {
  const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => methods[method]).map((method) =>
      operation(path, method, methods[method]),
    ),
  );
  const schemas = Object.entries(description.components.schemas).map(
    ([name, schema]) => `${comment(schema.description, "")}export type ${name} = ${type(schema)};\n`,
  );
  return [
    "// Generated from the OpenAPI description by `npm run generate`. Do not edit.\n",
    ...schemas,
    `/** The parameters and the response of each operation. The response of a stream is \`never\`. */
export interface Operations {\n${operations.map(({ types }) => types).join("")}}\n`,
    `/** The method and path of each operation. */
export const ROUTES = {\n${operations.map(({ route }) => route).join("")}} as const;\n`,
  ].join("\n");
}

const expected = generate(JSON.parse(await readFile(DESCRIPTION, "utf8")));
if (process.argv.includes("--check")) {
  const found = await readFile(GENERATED, "utf8").catch(() => "");
  if (found !== expected) {
    console.error("src/generated.ts is out of date: run `npm run generate`");
    process.exitCode = 1;
  }
} else {
  await writeFile(GENERATED, expected);
}
