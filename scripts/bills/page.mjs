const dollars = (amount) => `$${amount.toFixed(4)}`;

function table({ goesBy, ignoring, counting }) {
  const row = (how, { nodes, planned, billed }) => `| ${how} | ${nodes} | ${dollars(planned)} | ${dollars(billed)} |`;
  const saved = ((1 - counting.billed / ignoring.billed) * 100).toFixed(0);
  return [
    '| planned by | nodes | the plan says | the bill says |',
    '| --- | --- | --- | --- |',
    row(goesBy, ignoring),
    row('the whole bill', counting),
    '',
    `The plan that knew of it costs ${saved}% less.`,
  ];
}

/** The whole page, of what bench/bills.ts says. */
export function billsPage({ examples, extras, pricesOf, region }) {
  return [
    '# What a node costs',
    '',
    'Made by `npm run bills`; a test fails when it is not current. The rules are [instance-types/whole-price](behaviour/instance-types.md#whole-price) and',
    `[instance-types/commitments](behaviour/instance-types.md#commitments). 32 pods of 1 CPU and 1.5 GiB are planned twice, at list prices of ${region} of ${pricesOf}: once by`,
    'the prices of machines alone, and once by what AWS bills. What AWS bills for either is in the last column, dollars per hour.',
    '',
    '## Volumes and addresses',
    '',
    examples[0].about,
    `That is ${dollars(extras.volumes)} and ${dollars(extras.publicAddress)} an hour for each node, whatever its size: few large nodes have fewer of it.`,
    '',
    ...table(examples[0]),
    '',
    '## A Savings Plan',
    '',
    examples[1].about,
    'What is committed is billed whether it is used or not, and is in both bills; the plan says what is paid besides.',
    '',
    ...table(examples[1]),
    '',
  ].join('\n');
}
