import { z } from 'zod';

/** A structural schema of `apiextensions.k8s.io/v1`, as plain JSON. */
export interface OpenApiSchema {
  type?: string;
  description?: string;
  format?: string;
  pattern?: string;
  enum?: unknown[];
  default?: unknown;
  properties?: Record<string, OpenApiSchema>;
  additionalProperties?: OpenApiSchema;
  items?: OpenApiSchema;
  required?: string[];
  anyOf?: OpenApiSchema[];
  [key: string]: unknown;
}

const safeInteger = Number.MAX_SAFE_INTEGER;

function children(json: OpenApiSchema): OpenApiSchema {
  const out: OpenApiSchema = {};
  if (json.properties !== undefined) {
    out.properties = Object.fromEntries(
      Object.entries(json.properties).map(([name, child]) => [name, structural(child)]),
    );
  }
  if (json.items !== undefined) out.items = structural(json.items);
  return out;
}

const order = ['description', 'type', 'format', 'default', 'enum', 'pattern'];
const rank = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length);

/** The same schema with the most important keywords first. */
function ordered(schema: OpenApiSchema): OpenApiSchema {
  return Object.fromEntries(Object.entries(schema).sort(([a], [b]) => rank(a) - rank(b)));
}

/** Converts zod's JSON schema to a structural schema. */
function structural(json: OpenApiSchema): OpenApiSchema {
  const { anyOf, additionalProperties, ...kept } = json;
  const out: OpenApiSchema = { ...kept, ...children(json) };
  for (const foreign of ['$schema', 'propertyNames']) Reflect.deleteProperty(out, foreign);
  if (out['x-kubernetes-int-or-string'] === true) {
    out.anyOf = [{ type: 'integer' }, { type: 'string' }];
    const text = anyOf?.find(({ type }) => type === 'string');
    if (text?.pattern !== undefined) out.pattern = text.pattern;
    return ordered(out);
  }
  if (anyOf !== undefined) throw new Error(`A union is not structural: ${JSON.stringify(anyOf)}`);
  // zod limits every integer to JavaScript's exact range, which is not a property of the field.
  if (out['minimum'] === -safeInteger) delete out['minimum'];
  if (out['maximum'] === safeInteger) delete out['maximum'];
  // The format suffices; zod's pattern for it is longer than the rest of the schema.
  if (out.format === 'date-time') delete out.pattern;
  if (out['x-kubernetes-preserve-unknown-fields'] !== true && isSchema(additionalProperties)) {
    out.additionalProperties = structural(additionalProperties);
  }
  return ordered(out);
}

function isSchema(value: unknown): value is OpenApiSchema {
  return value !== null && typeof value === 'object' && Object.keys(value).length > 0;
}

/** The structural schema of the input of `schema`: defaulted fields are not required. */
export function openApi(schema: z.ZodType): OpenApiSchema {
  const json = z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io: 'input',
    reused: 'inline',
    unrepresentable: 'throw',
  });
  return structural(json as OpenApiSchema);
}
