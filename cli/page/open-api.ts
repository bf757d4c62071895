import { z } from 'zod';
import { pageChange, pageSnapshot } from './snapshot.js';

const answer = (description: string, schema: object) => ({
  '200': { description, content: { 'application/json': { schema } } },
  '401': { description: 'no token, or one that the API server does not accept' },
  '403': { description: 'the user of the token may not list NodePools, nodes or pods' },
});
const name = { name: 'name', in: 'path', required: true, schema: { type: 'string' } };

/** The OpenAPI document of `/api/v1`, generated from the schemas. */
export function pageOpenApi(): object {
  const get = (summary: string, schema: object, parameters: readonly object[] = []) => ({
    get: { summary, parameters, responses: answer(summary, schema) },
  });
  return {
    openapi: '3.1.0',
    info: { title: 'Stowage', version: '1' },
    paths: {
      '/api/v1/snapshot': get('The cluster as the page shows it', { $ref: '#/components/schemas/Snapshot' }),
      '/api/v1/stream': get('Changes as server-sent events', { $ref: '#/components/schemas/Change' }),
      '/api/v1/nodes/{name}/pods': get('The pods of a node', { type: 'array' }, [name]),
      '/api/v1/nodes/{name}/why': get('Why a node is in its state: stowage why -o json', { type: 'object' }, [name]),
      '/api/v1/nodes/{name}/history': get('The life of a node: stowage history -o json', { type: 'object' }, [name]),
      '/api/v1/pods/{namespace}/{name}/why': get('Why a pod is where it is: stowage why -o json', { type: 'object' }, [
        { ...name, name: 'namespace' },
        name,
      ]),
    },
    components: {
      schemas: { Snapshot: z.toJSONSchema(pageSnapshot), Change: z.toJSONSchema(pageChange) },
    },
  };
}
