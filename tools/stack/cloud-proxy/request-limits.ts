import { AwsError } from './aws-error.js';
import { param, struct, structs, type Params } from './query.js';

/** As EC2 documents them. */
const most = { configs: 50, overrides: 300, tags: 50, keyLength: 128, valueLength: 256, userDataBytes: 16_384 };

/** Throws EC2's error for a request that has more of something than EC2 takes. */
export function refuseTooMuch(action: string, params: Params): void {
  if (action === 'CreateFleet') refuseFleet(structs(params, 'LaunchTemplateConfigs'));
  const data = struct(params, 'LaunchTemplateData');
  refuseUserData(param(action === 'CreateLaunchTemplate' ? data : params, 'UserData'));
  const specifications = [...structs(params, 'TagSpecification'), ...structs(data, 'TagSpecification')];
  for (const tags of [structs(params, 'Tag'), ...specifications.map((each) => structs(each, 'Tag'))]) refuseTags(tags);
}

function refuseFleet(configs: readonly Params[]): void {
  if (configs.length > most.configs) {
    throw invalid(`The number of LaunchTemplateConfigs (${configs.length}) exceeds the limit of ${most.configs}.`);
  }
  const overrides = configs.reduce((sum, config) => sum + structs(config, 'Overrides').length, 0);
  if (overrides > most.overrides)
    throw invalid(`The number of Overrides (${overrides}) exceeds the limit of ${most.overrides}.`);
}

function refuseUserData(encoded: string | undefined): void {
  if (encoded === undefined || Buffer.from(encoded, 'base64').length <= most.userDataBytes) return;
  throw new AwsError('InvalidUserData.Malformed', `User data is limited to ${most.userDataBytes} bytes`);
}

function refuseTags(tags: readonly Params[]): void {
  if (tags.length > most.tags) {
    throw new AwsError('TagLimitExceeded', `You may specify at most ${most.tags} tags for a resource.`);
  }
  for (const tag of tags) {
    const [key = '', value = ''] = [param(tag, 'Key'), param(tag, 'Value')];
    if (key.toLowerCase().startsWith('aws:'))
      throw invalid("Tag keys starting with 'aws:' are reserved for internal use");
    if (key.length > most.keyLength || key === '')
      throw invalid(`Tag key exceeds the maximum length of ${most.keyLength} characters`);
    if (value.length > most.valueLength)
      throw invalid(`Tag value exceeds the maximum length of ${most.valueLength} characters`);
  }
}

const invalid = (message: string): AwsError => new AwsError('InvalidParameterValue', message);
