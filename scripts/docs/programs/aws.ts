import { readFileSync } from 'node:fs';
import * as ec2 from '@aws-sdk/client-ec2';
import * as eks from '@aws-sdk/client-eks';
import * as iam from '@aws-sdk/client-iam';
import { parse } from 'yaml';
import type { ScalarTag } from 'yaml';
import { lookUp } from '../../../core/own.js';
import type { Flags, Program } from './described.js';
import { valuesOf } from './described.js';
import { problemOfFile } from './page.js';
import type { Check } from './page.js';
import { aws } from './tables.js';

/** A command of a client of the SDK: its schema names what the request has. */
type SdkCommand = new (input: never) => { readonly schema: readonly [...unknown[], () => unknown[], unknown] };
const clients: Readonly<Record<string, Readonly<Record<string, unknown>>>> = { ec2, eks, iam };

const kebab = (name: string): string => name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase();

/** As the AWS CLI names the parts of a request; what is true or false takes no word. */
function flagsOf(Command: SdkCommand): Flags {
  const input = new Command({} as never).schema.at(-2) as () => [...unknown[], names: string[], types: unknown[]];
  const [names, types] = input().slice(4) as [string[], unknown[]];
  const isSwitch = (at: number): boolean => [types[at]].flat()[0] === 2;
  return Object.fromEntries(names.map((name, at) => [`--${kebab(name)}`, isSwitch(at) ? 'switch' : 'value']));
}

/** The table, with the command that these words name where the SDK has its service. */
export function awsProgram([service = '', operation = '']: readonly string[]): Program {
  // The CLI writes `open-id` where the SDK has `OpenID`.
  const wanted = `${operation.replaceAll('-', '')}command`;
  const client = lookUp(clients, service) ?? {};
  const name = Object.keys(client).find((each) => each.toLowerCase() === wanted);
  const Command = name === undefined ? undefined : (client[name] as SdkCommand);
  if (Command === undefined) return aws;
  return { ...aws, commands: { ...aws.commands, [`${service} ${operation}`]: flagsOf(Command) } };
}

/** Functions of CloudFormation, read as what they are of. */
const functions = ['Sub', 'Ref', 'GetAtt', 'Join', 'If', 'Equals'].map((name): ScalarTag => ({
  tag: `!${name}`,
  resolve: (text) => text,
}));

export const checkAws: Check = (call, page) => {
  const [template] = valuesOf(call, '--template-file');
  if (template === undefined) return [];
  const missing = problemOfFile(template, page);
  if (missing !== undefined) return [missing];
  const { Parameters } = parse(readFileSync(template, 'utf8'), { customTags: functions, logLevel: 'silent' }) as {
    Parameters: Readonly<Record<string, unknown>>;
  };
  const given = [...valuesOf(call, '--parameter-overrides'), ...call.arguments].map((each) =>
    each.replace(/=[^]*/, ''),
  );
  return given
    .filter((name) => lookUp(Parameters, name) === undefined)
    .map((name) => `${template} has no parameter ${name}`);
};
