import { describe, expect, test } from '@jest/globals';
import { AwsError, errorReply } from './aws-error.js';
import { passes, tagValues } from './filters.js';
import { ClientTokens } from './cloud.js';
import { page, pageSize } from './paging.js';
import { filtersOf, formatQuery, param, parseQuery, strings, structs } from './query.js';
import { child, element, formatXml, itemsOf, parseXml, textOf } from './xml.js';

describe('EC2 query parameters', () => {
  const body =
    'Action=CreateFleet&LaunchTemplateConfigs.1.Overrides.2.InstanceType=b&LaunchTemplateConfigs.1.Overrides.1.InstanceType=a' +
    '&Filter.1.Name=tag%3Aa%2Fb&Filter.1.Value.1=x&Filter.1.Value.2=y+z&InstanceId.10=ten&InstanceId.9=nine';

  test('are parsed into lists in the order of their numbers', () => {
    const params = parseQuery(body);
    const [config] = structs(params, 'LaunchTemplateConfigs');
    expect(structs(config, 'Overrides').map((each) => param(each, 'InstanceType'))).toEqual(['a', 'b']);
    expect(strings(params, 'InstanceId')).toEqual(['nine', 'ten']);
    expect(filtersOf(params)).toEqual(new Map([['tag:a/b', ['x', 'y z']]]));
  });

  test('are written as they were parsed', () => {
    expect(parseQuery(formatQuery(parseQuery(body)))).toEqual(parseQuery(body));
  });
});

describe('XML answers', () => {
  test('are parsed and written back unchanged', () => {
    const text = '<A xmlns="http://x/"><set><item><k>a &amp; &lt;b&gt;</k><empty/></item></set></A>';
    const answer = parseXml(`<?xml version="1.0"?>\n${text}\n`);
    expect(textOf(itemsOf(answer, 'set')[0], 'k')).toBe('a & <b>');
    expect(formatXml(answer)).toBe(text);
  });

  test('with unmatched tags are refused', () => {
    expect(() => parseXml('<a><b></a>')).toThrow('closes b');
    expect(() => parseXml('<a>')).toThrow('does not end');
  });
});

describe('pages of a list', () => {
  const all = Array.from({ length: 12 }, (_, index) => index);

  test('give every item once by following the tokens', () => {
    const seen: number[] = [];
    let token: string | undefined;
    do {
      const { items, next } = page(all, 'question', { token, size: 5 });
      expect(items.length).toBeLessThanOrEqual(5);
      seen.push(...items);
      token = next;
    } while (token !== undefined);
    expect(seen).toEqual(all);
  });

  test('have no token where the last page is full', () => {
    expect(page(all, 'question', { size: 12 }).next).toBeUndefined();
  });

  test('refuse a token of another request', () => {
    const { next } = page(all, 'question', { size: 5 });
    expect(() => page(all, 'another', { token: next, size: 5 })).toThrow(AwsError);
    expect(() => page(all, 'question', { token: 'made-up', size: 5 })).toThrow(AwsError);
  });

  test('refuse a page size out of bounds', () => {
    const bounds = { minimum: 5, maximum: 100, standard: 50 };
    expect(pageSize(undefined, bounds)).toBe(50);
    expect(pageSize('100', bounds)).toBe(100);
    expect(() => pageSize('4', bounds)).toThrow('between 5 and 100');
  });
});

describe('EC2 filters', () => {
  const tags = new Map([['team', 'blue']]);
  const hold = (filters: [string, string[]][]): boolean =>
    passes(new Map(filters), (name) => (name === 'type' ? ['m5.large'] : tagValues(name, tags)));

  test.each<[[string, string[]][], boolean]>([
    [[['type', ['m5.large']]], true],
    [[['type', ['c5.*', 'm5.*']]], true],
    [[['type', ['m5.?']]], false],
    [[['tag:team', ['blue', 'red']]], true],
    [[['tag:team', ['red']]], false],
    [[['tag-key', ['te*']]], true],
    [[['tag:none', ['*']]], false],
    [
      [
        ['type', ['m5.large']],
        ['tag:team', ['red']],
      ],
      false,
    ],
  ])('%j matches: %s', (filters, expected) => {
    expect(hold(filters)).toBe(expected);
  });

  test('with an unknown name are an error, as in EC2', () => {
    expect(() => hold([['colour', ['x']]])).toThrow("The filter 'colour' is invalid");
  });
});

describe('client tokens of the local cloud', () => {
  test('have one effect with the same parameters, in parallel too', async () => {
    const tokens = new ClientTokens();
    let effects = 0;
    const run = (): Promise<number> => Promise.resolve(++effects);
    const both = [tokens.once('F', 't', { a: 1 }, run), tokens.once('F', 't', { a: 1 }, run)];
    await expect(Promise.all(both)).resolves.toEqual([1, 1]);
    await expect(tokens.once('F', 't', { a: 1 }, run)).resolves.toBe(1);
    await expect(tokens.once('F', 'other', { a: 1 }, run)).resolves.toBe(2);
  });

  test('are a mismatch with other parameters', async () => {
    const tokens = new ClientTokens();
    await tokens.once('F', 't', { a: 1 }, () => Promise.resolve(1));
    await expect(tokens.once('F', 't', { a: 2 }, () => Promise.resolve(2))).rejects.toMatchObject({
      code: 'IdempotentParameterMismatch',
    });
  });

  test('stay free after a failed call', async () => {
    const tokens = new ClientTokens();
    await expect(tokens.once('F', 't', {}, () => Promise.reject(new AwsError('X', 'no')))).rejects.toThrow('no');
    await expect(tokens.once('F', 't', {}, () => Promise.resolve('yes'))).resolves.toBe('yes');
  });

  test('are optional: every call without one has its effect', async () => {
    const tokens = new ClientTokens();
    let effects = 0;
    for (let call = 0; call < 2; call++) await tokens.once('F', undefined, {}, () => Promise.resolve(++effects));
    expect(effects).toBe(2);
  });
});

describe('error answers in the protocol of', () => {
  const error = new AwsError('RequestLimitExceeded', 'Slow <down>', 503);

  test('ec2', () => {
    const reply = errorReply('ec2', error);
    const found = child(parseXml(String(reply.body)), 'Errors', 'Error');
    expect([reply.status, textOf(found, 'Code'), textOf(found, 'Message')]).toEqual([503, error.code, 'Slow <down>']);
  });

  test('json', () => {
    const reply = errorReply('json', error);
    expect(reply.headers['x-amzn-errortype']).toBe(error.code);
    expect(JSON.parse(String(reply.body))).toMatchObject({ __type: error.code, message: 'Slow <down>' });
  });

  test('query', () => {
    expect(formatXml(element('a', 'b'))).toBe('<a>b</a>');
    expect(String(errorReply('query', error).body)).toContain('<Type>Receiver</Type>');
  });
});
