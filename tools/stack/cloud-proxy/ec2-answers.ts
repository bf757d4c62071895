import { randomUUID } from 'node:crypto';
import { page, pageSize } from './paging.js';
import { formatQuery, param, without, type Params } from './query.js';
import { element, type XmlElement } from './xml.js';

/** An answer with the request id that every EC2 answer starts with. */
export const answer = (action: string, children: readonly (XmlElement | undefined)[]): XmlElement =>
  element(`${action}Response`, [element('requestId', randomUUID()), ...children]);

/** Parameters that identify a list, without those of its pages. */
export const withoutPaging = (params: Params): Params => without(params, 'MaxResults', 'NextToken');

/** The page of `items` that the request asks for, as an answer. */
export function paged(
  action: string,
  set: string,
  items: readonly XmlElement[],
  params: Params,
  bounds: { minimum: number; maximum: number; standard: number },
): XmlElement {
  const size = pageSize(param(params, 'MaxResults'), bounds);
  const { items: shown, next } = page(items, `${action} ${formatQuery(withoutPaging(params))}`, {
    token: param(params, 'NextToken'),
    size,
  });
  return answer(action, [element(set, shown), next === undefined ? undefined : element('nextToken', next)]);
}
