/** The name of an SSM parameter, which calls may give by its ARN. */
export const parameterName = (nameOrArn: string): string => nameOrArn.replace(/^arn:[^/]*:parameter(?=\/)/, '');
